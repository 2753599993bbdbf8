/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "pg/metadata.h"

enum { ESCAPED_MOST = 6 }; /* \u001f */

static uint8_t *put_text(uint8_t *to, struct bytes text)
{
	static const char digit[] = "0123456789abcdef";

	*to++ = '"';
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c == '"' || c == '\\') {
			*to++ = '\\';
			*to++ = c;
		} else if (c < 0x20) {
			to[0] = '\\';
			to[1] = 'u';
			to[2] = to[3] = '0';
			to[4] = (uint8_t)digit[c >> 4];
			to[5] = (uint8_t)digit[c & 15];
			to += ESCAPED_MOST;
		} else {
			*to++ = c;
		}
	}
	*to++ = '"';
	return to;
}

struct bytes pg_metadata_write(struct arena *arena, const struct metadata *metadata)
{
	size_t most = 2;
	uint8_t *out, *to;

	for (size_t i = 0; i < metadata->count; i++)
		most +=
		    6 + ESCAPED_MOST * (metadata->entry[i].key.len + metadata->entry[i].value.len);
	to = out = arena_alloc(arena, most);
	if (!out)
		return (struct bytes){NULL, 0};
	*to++ = '{';
	for (size_t i = 0; i < metadata->count; i++) {
		if (i)
			*to++ = ',';
		to = put_text(to, metadata->entry[i].key);
		*to++ = ':';
		to = put_text(to, metadata->entry[i].value);
	}
	*to++ = '}';
	return (struct bytes){out, (size_t)(to - out)};
}

static int by_key(const void *left, const void *right)
{
	const struct metadata_entry *a = left, *b = right;

	return bytes_compare(a->key, b->key);
}

static bool read_entries(struct arena *arena, json_t *object, struct metadata *metadata)
{
	const char *key;
	json_t *value;

	metadata->entry = arena_alloc(arena, json_object_size(object) * sizeof *metadata->entry);
	if (!metadata->entry)
		return false;
	json_object_foreach(object, key, value)
	{
		struct metadata_entry *entry = &metadata->entry[metadata->count];

		if (!json_is_string(value))
			continue;
		entry->key = arena_copy(arena, bytes_of(key));
		entry->value =
		    arena_copy(arena, (struct bytes){(const uint8_t *)json_string_value(value),
						     json_string_length(value)});
		if (!entry->key.data || (entry->value.len && !entry->value.data))
			return false;
		metadata->count++;
	}
	qsort(metadata->entry, metadata->count, sizeof *metadata->entry, by_key);
	return true;
}

bool pg_metadata_read(struct arena *arena, struct bytes text, struct metadata *metadata)
{
	json_t *object;
	bool whole = true;

	*metadata = (struct metadata){NULL, 0};
	if (text.len <= 2)
		return true;
	object = json_loadb((const char *)text.data, text.len, 0, NULL);
	if (json_is_object(object) && json_object_size(object))
		whole = read_entries(arena, object, metadata);
	json_decref(object);
	return whole;
}
