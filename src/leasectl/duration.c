/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "leasectl/duration.h"

/* Ten years: more than any server grants, and far from any overflow. */
#define MOST_US (INT64_C(3650) * 86400 * CLOCK_SECOND)

static const struct unit {
	const char *name;
	int64_t us;
} units[] = {
    {"d", 86400 * CLOCK_SECOND}, {"h", 3600 * CLOCK_SECOND}, {"m", 60 * CLOCK_SECOND},
    {"s", CLOCK_SECOND},	 {"ms", CLOCK_MILLI},	     {"us", 1},
};

static const struct unit *unit_of(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == len && !memcmp(units[i].name, text, len))
			return &units[i];
	return NULL;
}

/* Reads digits and decimals at *text as a share of `unit`; -1 when too big or no number. */
static int64_t read_number(const char *text, const char *end, int64_t unit)
{
	int64_t whole = 0, part = 0, scale = 1;

	for (; text < end && isdigit((unsigned char)*text); text++) {
		whole = whole * 10 + (*text - '0');
		if (whole > MOST_US)
			return -1;
	}
	if (text < end && *text == '.')
		for (text++; text < end && scale < 1000000; text++, scale *= 10)
			part = part * 10 + (*text - '0');
	if (whole > MOST_US / unit)
		return -1;
	return whole * unit + (int64_t)((double)part / (double)scale * (double)unit);
}

const char *duration_parse(const char *text, int64_t *us)
{
	int64_t sum = 0, last = INT64_MAX;

	if (!isdigit((unsigned char)*text))
		return "is no duration: write 500ms, 60s, 5m or 1h30m";
	for (size_t digits, letters; *text; text += digits + letters) {
		const struct unit *unit;
		int64_t part;

		digits = strspn(text, "0123456789");
		if (text[digits] == '.' && isdigit((unsigned char)text[digits + 1]))
			digits += 1 + strspn(text + digits + 1, "0123456789");
		letters = strspn(text + digits, "dhmsu");
		unit = letters ? unit_of(text + digits, letters) : unit_of("s", 1);
		if (digits == 0 || !unit || (!letters && (text[digits] || last != INT64_MAX)))
			return "is no duration: write 500ms, 60s, 5m or 1h30m";
		if (unit->us >= last)
			return "is no duration: units fall, as in 1h30m";
		part = read_number(text, text + digits, unit->us);
		if (part < 0 || part > MOST_US - sum)
			return "is too long: ten years are the most";
		sum += part;
		last = unit->us;
	}
	*us = sum;
	return NULL;
}

void duration_text(int64_t us, char text[DURATION_ROOM])
{
	int64_t seconds = us / CLOCK_SECOND;

	if (us <= 0)
		snprintf(text, DURATION_ROOM, "0s");
	else if (us < 10 * CLOCK_SECOND)
		snprintf(text, DURATION_ROOM, "%" PRId64 ".%ds", seconds,
			 (int)(us % CLOCK_SECOND / (100 * CLOCK_MILLI)));
	else if (seconds < 60)
		snprintf(text, DURATION_ROOM, "%" PRId64 "s", seconds);
	else if (seconds < 3600)
		snprintf(text, DURATION_ROOM, "%" PRId64 "m%ds", seconds / 60, (int)(seconds % 60));
	else if (seconds < 86400)
		snprintf(text, DURATION_ROOM, "%" PRId64 "h%dm", seconds / 3600,
			 (int)(seconds % 3600 / 60));
	else
		snprintf(text, DURATION_ROOM, "%" PRId64 "d%dh", seconds / 86400,
			 (int)(seconds % 86400 / 3600));
}

/* The decimals of `nanos` as protobuf's JSON has them: none, 3, 6 or 9. */
static void decimals(int32_t nanos, char text[16])
{
	if (nanos == 0)
		*text = 0;
	else if (nanos % 1000000 == 0)
		snprintf(text, 16, ".%03d", nanos / 1000000);
	else if (nanos % 1000 == 0)
		snprintf(text, 16, ".%06d", nanos / 1000);
	else
		snprintf(text, 16, ".%09d", nanos);
}

void duration_json(int64_t seconds, int32_t nanos, char text[DURATION_ROOM])
{
	char fraction[16];

	decimals(nanos < 0 ? -nanos : nanos, fraction);
	snprintf(text, DURATION_ROOM, "%s%" PRId64 "%ss", nanos < 0 && seconds == 0 ? "-" : "",
		 seconds, fraction);
}

void duration_moment(int64_t seconds, int32_t nanos, char text[DURATION_ROOM])
{
	time_t when = (time_t)seconds;
	char fraction[16];
	struct tm parts;
	size_t used;

	*text = 0;
	if (!gmtime_r(&when, &parts))
		return;
	decimals(nanos, fraction);
	used = strftime(text, DURATION_ROOM, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + used, DURATION_ROOM - used, "%sZ", fraction);
}

int64_t duration_moment_parse(const char *text)
{
	struct tm parts = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
	int64_t scale = CLOCK_SECOND, part = 0;

	if (!rest)
		return INT64_MIN;
	if (*rest == '.')
		for (rest++; isdigit((unsigned char)*rest) && scale > 1; rest++) {
			scale /= 10;
			part += (*rest - '0') * scale;
		}
	return (int64_t)timegm(&parts) * CLOCK_SECOND + part;
}
