/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "config/scalar.h"

static const struct {
	const char *name;
	int64_t us;
} units[] = {
    {"h", INT64_C(3600000000)}, {"m", INT64_C(60000000)}, {"s", INT64_C(1000000)},
    {"ms", INT64_C(1000)},	{"us", INT64_C(1)},
};
enum { UNITS = sizeof units / sizeof *units, DECIMALS_MAX = 9 };

static const char needs_unit[] = "a duration needs a unit: 100ms, 60s, 5m, 1h30m";
static const char no_duration[] = "not a duration such as 100ms, 60s, 5m, 1h30m";

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads digits; false when there is none or the number does not fit. */
static bool digits(const char **at, int64_t *number)
{
	const char *start = *at;

	for (*number = 0; digit(**at); ++*at)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, **at - '0', number))
			return false;
	return *at != start;
}

/* Index of the unit at *at, from `first` on, or UNITS. The letters must end there. */
static size_t unit_at(const char **at, size_t first)
{
	size_t len = strspn(*at, "hmsu");

	for (size_t i = first; i < UNITS; i++) {
		if (strlen(units[i].name) == len && strncmp(units[i].name, *at, len) == 0) {
			*at += len;
			return i;
		}
	}
	return UNITS;
}

/* Adds number.decimals of a unit; false when it does not fit or is finer than a microsecond. */
static bool add(int64_t *sum, int64_t number, const char *decimals, size_t count, int64_t unit)
{
	int64_t scale = 1, fraction = 0, part;

	for (size_t i = 0; i < count; i++) {
		scale *= 10;
		fraction = fraction * 10 + (decimals[i] - '0');
	}
	/* At most 3.6e9 * 1e9. */
	part = fraction * unit;
	if (part % scale != 0)
		return false;
	return !__builtin_mul_overflow(number, unit, &number) &&
	       !__builtin_add_overflow(*sum, number, sum) &&
	       !__builtin_add_overflow(*sum, part / scale, sum);
}

static const char *explain(const char *text)
{
	size_t number = strspn(text, "0123456789.");

	if (*text == '-')
		return "must not be negative";
	if (*text && text[number] == 0)
		return needs_unit;
	if (number > 0 && text[number] == ' ')
		return "write it without a space: 30s";
	if (number > 0 && strchr("dDwWyY", text[number]))
		return "the largest unit is h: 24h is a day";
	if (number > 0 && strchr("HSM", text[number]))
		return "units are lower case: h, m, s, ms, us";
	return no_duration;
}

const char *scalar_duration(const char *text, int64_t *us)
{
	const char *at = text;
	size_t unit = UNITS, first = 0;

	*us = 0;
	do {
		const char *decimals = "";
		size_t count = 0;
		int64_t number;

		if (!digits(&at, &number))
			return digit(*text) && digit(*at) && text[strspn(text, "0123456789")] != 0
				   ? "too long"
				   : explain(text);
		if (*at == '.') {
			decimals = at + 1;
			count = strspn(decimals, "0123456789");
			at = decimals + count;
			if (count == 0 || count > DECIMALS_MAX)
				return explain(text);
		}
		unit = unit_at(&at, first);
		if (unit == UNITS || (count > 0 && *at))
			return explain(text);
		if (!add(us, number, decimals, count, units[unit].us))
			return count > 0 ? "too long, or finer than 1us" : "too long";
		first = unit + 1;
	} while (*at);
	return NULL;
}

void scalar_duration_format(int64_t us, char *text, size_t size)
{
	size_t used = 0;

	if (us == 0)
		snprintf(text, size, "0s");
	for (size_t i = 0; i < UNITS && us > 0; i++) {
		if (us >= units[i].us)
			used += (size_t)snprintf(text + used, size - used, "%lld%s",
						 (long long)(us / units[i].us), units[i].name);
		us %= units[i].us;
	}
}

const char *scalar_count(const char *text, int64_t *number)
{
	const char *at = text;

	if (!digits(&at, number))
		return digit(*at) ? "too big" : "not a whole number";
	if (*at)
		return "not a whole number";
	if (text[0] == '0' && text[1])
		return "must not begin with 0";
	return NULL;
}

const char *scalar_bool(const char *text, int64_t *flag)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return "must be true or false";
	*flag = text[0] == 't';
	return NULL;
}
