/* SPDX-License-Identifier: Apache-2.0
 *
 * base/bytes.h - a borrowed run of bytes with its length.
 * Names and metadata may hold any UTF-8, so nothing here ends at a NUL.
 * Ownership: never owns; whoever made the bytes says how long they live. */
#ifndef LEASED_BASE_BYTES_H
#define LEASED_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *data; /* may be NULL when len is 0 */
	size_t len;
};

/* The bytes of a C string without its NUL; NULL gives the empty run. Borrowed, does not block. */
struct bytes bytes_of(const char *text);

/* Same length and same bytes. Not constant in time: never for secrets. */
bool bytes_equal(struct bytes a, struct bytes b);

/* Order of unsigned bytes, the shorter first on a tie: for valid UTF-8 this is code point order,
 * whatever the locale. Returns <0, 0 or >0. */
int bytes_compare(struct bytes a, struct bytes b);

/* True when `text` begins with `prefix` (the empty prefix always matches). */
bool bytes_start_with(struct bytes text, struct bytes prefix);

#endif
