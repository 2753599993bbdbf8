/* SPDX-License-Identifier: Apache-2.0
 *
 * config/scalar.h - the few types a text can be read as. Pure functions. */
#ifndef LEASED_CONFIG_SCALAR_H
#define LEASED_CONFIG_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a duration: whole numbers with a unit, the units falling (h, m, s, ms, us), the last number
 * with at most nine decimals: 100ms, 60s, 5m, 1h30m, 1.5h. NULL and *us on success, else what is
 * wrong with it, as the end of a sentence; static. */
const char *scalar_duration(const char *text, int64_t *us);

/* Writes the shortest such text, e.g. "1h30m"; 0 is "0s". us >= 0; size >= 48. */
void scalar_duration_format(int64_t us, char *text, size_t size);

/* Reads a whole decimal number; as above. No sign, no leading zero: 010 is eight to some. */
const char *scalar_count(const char *text, int64_t *number);

/* Reads true or false, nothing else; as above. */
const char *scalar_bool(const char *text, int64_t *flag);

#endif
