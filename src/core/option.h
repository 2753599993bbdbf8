/* SPDX-License-Identifier: Apache-2.0
 *
 * core/option.h - a driver's options (backends[].options), described so that the configuration
 * reader can check them, name them in errors and print their defaults without knowing the driver.
 */
#ifndef LEASED_CORE_OPTION_H
#define LEASED_CORE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

enum option_kind {
	OPTION_TEXT,
	OPTION_SECRET,	 /* a text that is masked in every dump and log */
	OPTION_COUNT,	 /* a whole number */
	OPTION_DURATION, /* microseconds, written with a unit */
	OPTION_BOOL,
	OPTION_CHOICE, /* one of `choices`; the value is its index */
};

union option_value {
	const char *text; /* NULL = not set */
	int64_t number;	  /* count, microseconds, 0/1, index */
};

struct option_spec {
	const char *name;
	enum option_kind kind;
	union option_value fallback; /* the default */
	int64_t least, most;	     /* OPTION_COUNT, OPTION_DURATION; inclusive */
	const char *const *choices;  /* OPTION_CHOICE; ends with NULL */
};

#endif
