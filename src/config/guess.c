/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "config/report.h"

enum { WORD_MAX = 48 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Edit distance where swapped neighbours count one (optimal string alignment). */
static unsigned distance_of(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++)
		row[i][0] = (unsigned)i;
	for (size_t j = 0; j <= b_len; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t j = 1; j <= b_len; j++) {
			bool same =
			    tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
			unsigned best = least(row[i - 1][j], row[i][j - 1]) + 1;

			best = least(best, row[i - 1][j - 1] + (same ? 0 : 1));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = least(best, row[i - 2][j - 2] + 1);
			row[i][j] = best;
		}
	}
	return row[a_len][b_len];
}

void guess_init(struct guess *guess, const char *word)
{
	size_t len = strlen(word);

	guess->word = word;
	guess->best = NULL;
	/* A third of the letters may be wrong, at least one, and one must be right. */
	guess->distance = len > WORD_MAX ? 0 : (unsigned)(len + 2) / 3 + 1;
	if (guess->distance > len)
		guess->distance = (unsigned)len;
}

void guess_offer(struct guess *guess, const char *candidate)
{
	size_t word_len = strlen(guess->word), len = strlen(candidate);
	unsigned distance;

	if (word_len > WORD_MAX || len > WORD_MAX)
		return;
	distance = distance_of(guess->word, word_len, candidate, len);
	if (distance < guess->distance) {
		guess->distance = distance;
		guess->best = candidate;
	}
}
