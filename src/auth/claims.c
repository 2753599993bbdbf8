/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "auth/claims.h"
#include "base/clock.h"

enum { LIST_MAX = 256 };

#define YEAR_9999 INT64_C(253402300800)

static bool two_digits(const char **at, int most, int *number)
{
	const char *text = *at;

	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return false;
	*number = (text[0] - '0') * 10 + text[1] - '0';
	*at += 2;
	return *number <= most;
}

static bool sign(const char **at, char wanted)
{
	return *(*at)++ == wanted;
}

/* "Z" or "+hh:mm"; seconds east of Greenwich. */
static bool zone(const char **at, int64_t *offset)
{
	int hours, minutes;
	char first = *(*at)++;

	*offset = 0;
	if (first == 'Z' || first == 'z')
		return true;
	if ((first != '+' && first != '-') || !two_digits(at, 23, &hours) || !sign(at, ':') ||
	    !two_digits(at, 59, &minutes))
		return false;
	*offset = hours * INT64_C(3600) + minutes * INT64_C(60);
	if (first == '-')
		*offset = -*offset;
	return true;
}

static void skip_fraction(const char **at)
{
	if (**at != '.')
		return;
	++*at;
	*at += strspn(*at, "0123456789");
}

bool claims_time_parse(const char *text, int64_t *wall_us)
{
	int century, year, month, day, hour, minute, second;
	struct tm parts = {0};
	int64_t offset;

	if (!two_digits(&text, 99, &century) || !two_digits(&text, 99, &year) ||
	    !sign(&text, '-') || !two_digits(&text, 12, &month) || !sign(&text, '-') ||
	    !two_digits(&text, 31, &day) || (*text != 'T' && *text != 't') || !text++ ||
	    !two_digits(&text, 23, &hour) || !sign(&text, ':') || !two_digits(&text, 59, &minute) ||
	    !sign(&text, ':') || !two_digits(&text, 60, &second))
		return false;
	skip_fraction(&text);
	if (month < 1 || day < 1 || !zone(&text, &offset) || *text)
		return false;
	parts.tm_year = century * 100 + year - 1900;
	parts.tm_mon = month - 1;
	parts.tm_mday = day;
	parts.tm_hour = hour;
	parts.tm_min = minute;
	parts.tm_sec = second;
	*wall_us = ((int64_t)timegm(&parts) - offset) * CLOCK_SECOND;
	return true;
}

static bool number_time(const json_t *value, int64_t *wall_us)
{
	double real = json_number_value(value);

	if (!json_is_number(value) || !(real >= 0 && real < (double)YEAR_9999))
		return false;
	*wall_us = (int64_t)real * CLOCK_SECOND;
	return true;
}

static bool read_time(const json_t *value, enum claims_time times, int64_t *wall_us)
{
	if (times == CLAIMS_NUMBER)
		return number_time(value, wall_us);
	return json_is_string(value) && claims_time_parse(json_string_value(value), wall_us);
}

static struct bytes text_of(const json_t *value)
{
	return json_is_string(value) ? (struct bytes){(const uint8_t *)json_string_value(value),
						      json_string_length(value)}
				     : (struct bytes){NULL, 0};
}

static const char *read_who(struct arena *arena, const json_t *root, struct capability *capability)
{
	const json_t *agent = json_object_get(root, "agent"), *id = json_object_get(root, "jti");

	if (!bytes_equal(text_of(json_object_get(root, "iss")), bytes_of("mindd")))
		return "its issuer is not mindd";
	if (agent && !json_is_string(agent))
		return "its agent is no text";
	if (id && !json_is_string(id))
		return "its jti is no text";
	capability->owner =
	    capability_owner(arena, text_of(json_object_get(root, "tenant")), text_of(agent));
	if (!capability->owner.data)
		return "it has no tenant, or one that holds a '/' or is too long";
	capability->id = id ? arena_copy(arena, text_of(id)) : (struct bytes){NULL, 0};
	return NULL;
}

static const char *read_times(const json_t *root, enum claims_time times,
			      struct capability *capability)
{
	const json_t *after = json_object_get(root, "nbf");

	capability->not_before_us = INT64_MIN;
	if (!read_time(json_object_get(root, "exp"), times, &capability->expires_us))
		return "it has no valid exp";
	if (after && !read_time(after, times, &capability->not_before_us))
		return "its nbf is not valid";
	return NULL;
}

static const char *read_ops(const json_t *root, struct capability_grant *grant)
{
	const json_t *list = json_object_get(root, "ops");

	if (!json_is_array(list) || json_array_size(list) > LIST_MAX)
		return "it has no list of ops";
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *op = json_array_get(list, i);

		if (!json_is_string(op))
			return "an op is no text";
		grant->ops |= capability_op(text_of(op)); /* those of other blocks are 0 */
	}
	return NULL;
}

static const char *read_patterns(struct arena *arena, const json_t *root,
				 struct capability_grant *grant)
{
	const json_t *list = json_object_get(root, "namespaces");
	struct bytes *pattern;

	if (!json_is_array(list) || json_array_size(list) > LIST_MAX)
		return "it has no list of namespaces";
	pattern = arena_alloc(arena, (json_array_size(list) + 1) * sizeof *pattern);
	for (size_t i = 0; pattern && i < json_array_size(list); i++) {
		const json_t *text = json_array_get(list, i);

		if (!json_is_string(text))
			return "a namespace is no text";
		if (!capability_pattern_possible(text_of(text)))
			continue; /* of another block */
		pattern[grant->pattern_count] = arena_copy(arena, text_of(text));
		if (!pattern[grant->pattern_count++].data)
			pattern = NULL;
	}
	grant->pattern = pattern;
	return pattern ? NULL : "out of memory";
}

static const char *read_all(struct arena *arena, const json_t *root, enum claims_time times,
			    struct capability *capability)
{
	struct capability_grant *grant = arena_alloc(arena, sizeof *grant);
	const char *wrong;

	if (!grant)
		return "out of memory";
	memset(grant, 0, sizeof *grant);
	memset(capability, 0, sizeof *capability);
	if ((wrong = read_who(arena, root, capability)) ||
	    (wrong = read_times(root, times, capability)) || (wrong = read_ops(root, grant)) ||
	    (wrong = read_patterns(arena, root, grant)))
		return wrong;
	capability->grant = grant;
	capability->grant_count = 1;
	return NULL;
}

enum err claims_read(struct arena *arena, struct bytes json, enum claims_time times,
		     struct capability *capability, const char **why)
{
	json_t *root = json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, NULL);

	*why = json_is_object(root) ? read_all(arena, root, times, capability)
				    : "its claims are no JSON object";
	json_decref(root);
	return *why ? ERR_TOKEN_INVALID : ERR_OK;
}
