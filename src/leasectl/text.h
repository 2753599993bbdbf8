/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/text.h - names from elsewhere, made safe for a terminal, and columns. */
#ifndef LEASED_LEASECTL_TEXT_H
#define LEASED_LEASECTL_TEXT_H

#include <stdio.h>

#include "base/bytes.h"

enum { TEXT_COLUMNS = 8 };

/* Copies `bytes` with control characters and broken UTF-8 as \xNN; cut at `size` on a whole
 * character, always ended by a NUL. */
void text_safe(struct bytes bytes, char *text, size_t size);

struct text_table;

/* A table that is kept until printed, so that columns fit; `head` are static, NULL at the end. */
struct text_table *text_table_make(const char *const *head);
/* Adds a row of as many cells as there are heads; copied. */
void text_table_add(struct text_table *table, const char *const *cells);
/* Writes it, the head in bold with `color`. */
void text_table_print(const struct text_table *table, FILE *to, bool color);
/* NULL is allowed. */
void text_table_free(struct text_table *table);

#endif
