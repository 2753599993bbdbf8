/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <unistr.h>
#include <uniwidth.h>

#include "base/check.h"
#include "leasectl/text.h"

struct text_table {
	const char *const *head;
	int columns, width[TEXT_COLUMNS];
	char **cells;
	size_t count, room;
};

/* Characters that move a cursor or turn the direction of what follows. */
static bool unsafe(ucs4_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

void text_safe(struct bytes bytes, char *text, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;

	for (size_t at = 0; at < bytes.len;) {
		ucs4_t c;
		int len = u8_mbtoucr(&c, bytes.data + at, bytes.len - at);
		bool raw = len > 0 && !unsafe(c);

		if (len <= 0)
			len = 1;
		if (used + (raw ? (size_t)len : 4 * (size_t)len) >= size)
			break;
		for (int i = 0; i < len; i++, at++) {
			if (raw) {
				text[used++] = (char)bytes.data[at];
				continue;
			}
			text[used++] = '\\';
			text[used++] = 'x';
			text[used++] = digits[bytes.data[at] >> 4];
			text[used++] = digits[bytes.data[at] & 15];
		}
	}
	text[used] = 0;
}

static int width_of(const char *cell)
{
	int width = u8_strwidth((const uint8_t *)cell, "UTF-8");

	return width < 0 ? (int)strlen(cell) : width;
}

struct text_table *text_table_make(const char *const *head)
{
	struct text_table *table = calloc(1, sizeof *table);

	CHECK(table);
	table->head = head;
	for (; head[table->columns]; table->columns++)
		table->width[table->columns] = width_of(head[table->columns]);
	CHECK(table->columns <= TEXT_COLUMNS);
	return table;
}

void text_table_add(struct text_table *table, const char *const *cells)
{
	if (table->count == table->room) {
		table->room = table->room ? 2 * table->room : 64;
		table->cells = reallocarray(table->cells, table->room,
					    (size_t)table->columns * sizeof *table->cells);
		CHECK(table->cells);
	}
	for (int i = 0; i < table->columns; i++) {
		char *copy = strdup(cells[i]);
		int width = width_of(cells[i]);

		CHECK(copy);
		table->cells[table->count * (size_t)table->columns + (size_t)i] = copy;
		if (width > table->width[i])
			table->width[i] = width;
	}
	table->count++;
}

static void print_row(const struct text_table *table, const char *const *cells, FILE *to)
{
	for (int i = 0; i < table->columns; i++) {
		fputs(cells[i], to);
		if (i + 1 < table->columns)
			fprintf(to, "%*s", table->width[i] - width_of(cells[i]) + 2, "");
	}
}

void text_table_print(const struct text_table *table, FILE *to, bool color)
{
	fputs(color ? "\033[1m" : "", to);
	print_row(table, table->head, to);
	fputs(color ? "\033[0m\n" : "\n", to);
	for (size_t i = 0; i < table->count; i++) {
		char **row = table->cells + i * (size_t)table->columns;

		print_row(table, (const char *const *)row, to);
		fputc('\n', to);
	}
}

void text_table_free(struct text_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count * (size_t)table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}
