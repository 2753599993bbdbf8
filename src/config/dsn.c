/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "config/dsn.h"

struct output {
	char *text;
	size_t size, used;
	bool masked;
};

static void put(struct output *output, const char *text, size_t len)
{
	size_t room = output->size - 1 - output->used;

	if (len > room)
		len = room;
	memcpy(output->text + output->used, text, len);
	output->used += len;
	output->text[output->used] = 0;
}

static void put_mask(struct output *output, const char *mask)
{
	put(output, mask, strlen(mask));
	output->masked = true;
}

/* The name that ends at `end` (exclusive) is one of a secret. */
static bool secret_name(const char *start, const char *end)
{
	char name[64];
	size_t len;

	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	for (len = 0; end - len > start && len < sizeof name - 1; len++)
		if (!isalnum((unsigned char)end[-1 - (long)len]) && end[-1 - (long)len] != '_')
			break;
	memcpy(name, end - len, len);
	name[len] = 0;
	return strcasestr(name, "password") || strcasestr(name, "secret");
}

/* End of a value: libpq's quoting in keyword form, '&' or '#' in a URI. */
static const char *value_end(const char *at, bool uri)
{
	bool quoted = !uri && *at == '\'';

	if (uri)
		return at + strcspn(at, "&#");
	if (quoted)
		at++;
	for (; *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (quoted ? *at == '\'' : isspace((unsigned char)*at))
			return quoted ? at + 1 : at;
	}
	return at;
}

static void mask_values(struct output *output, const char *at, bool uri, const char *mask)
{
	const char *start = at;

	while (*at) {
		const char *sign = strchr(at, '='), *value, *end;

		if (!sign)
			break;
		value = sign + 1;
		while (!uri && isspace((unsigned char)*value))
			value++;
		end = value_end(value, uri);
		if (secret_name(start, sign)) {
			put(output, at, (size_t)(value - at));
			put_mask(output, mask);
		} else {
			put(output, at, (size_t)(end - at));
		}
		at = end;
	}
	put(output, at, strlen(at));
}

bool dsn_mask(const char *dsn, const char *mask, char *out, size_t size)
{
	struct output output = {out, size, 0, false};
	const char *scheme = strstr(dsn, "://"), *at = dsn;
	bool uri = scheme && strspn(dsn, "abcdefghijklmnopqrstuvwxyz+") == (size_t)(scheme - dsn);

	out[0] = 0;
	if (uri) {
		/* The last '@' of all, whatever the password holds: rather hide too much. */
		const char *user = scheme + 3, *sign = strrchr(user, '@');
		const char *colon = sign ? memchr(user, ':', (size_t)(sign - user)) : NULL;

		if (colon) {
			put(&output, at, (size_t)(colon + 1 - at));
			put_mask(&output, mask);
			at = sign;
		}
	}
	mask_values(&output, at, uri, mask);
	return output.masked;
}
