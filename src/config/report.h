/* SPDX-License-Identifier: Apache-2.0
 *
 * config/report.h - collects the errors of one file and prints them in its order, each with the
 * line it stands in and a caret under the spot. */
#ifndef LEASED_CONFIG_REPORT_H
#define LEASED_CONFIG_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/bytes.h"

enum { REPORT_MAX = 100 }; /* errors that are kept; more are only counted */

/* A place in the file: line and column count from 1, columns and width in characters. */
struct mark {
	unsigned line;
	unsigned column;
	unsigned width; /* to underline, at least 1 */
};

struct problem {
	struct mark mark;
	unsigned order; /* of arrival, to keep errors of one place in order */
	const char *message;
	const char *hint; /* "did you mean …", or NULL */
};

struct report {
	const char *source;
	struct bytes text; /* the whole file, without a byte order mark */
	struct arena *arena;
	struct problem problem[REPORT_MAX];
	unsigned kept;
	unsigned count;
};

/* An empty report on `text`; all is borrowed. */
void report_init(struct report *report, struct arena *arena, const char *source, struct bytes text);

/* Adds one error. `hint` (may be NULL) is the word that was probably meant. Formatted messages are
 * cut at 400 bytes. */
__attribute__((format(printf, 4, 5))) void report_add(struct report *report, struct mark mark,
						      const char *hint, const char *format, ...);

/* The mark of the byte at `offset`, for errors that come without a line. */
struct mark report_mark(const struct report *report, size_t offset);

/* A tab stands at `mark`. */
bool report_tab(const struct report *report, struct mark mark);

/* Prints all errors in the order of the file. `brief`: one line each, for logs. */
void report_print(struct report *report, FILE *out, bool brief);

/* Looks for the nearest word. Offer candidates, then read `best` (NULL = none is near). */
struct guess {
	const char *word;
	const char *best;
	unsigned distance;
};
void guess_init(struct guess *guess, const char *word);
void guess_offer(struct guess *guess, const char *candidate);

#endif
