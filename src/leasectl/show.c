/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/duration.h"
#include "leasectl/show.h"
#include "leasectl/text.h"

enum { CELL = 2200 };

static const char *const head[] = {"KEY", "HOLDER", "OWNER", "AGE", "EXPIRES", "TOKEN", NULL};
static const char *const head_wide[] = {"NAMESPACE", "KEY",   "HOLDER",	  "OWNER", "AGE",
					"EXPIRES",   "TOKEN", "METADATA", NULL};

struct show_list {
	const struct options *options;
	struct text_table *table;
	json_t *leases;
};

json_t *show_json_text(struct bytes bytes)
{
	json_t *text = NULL;
	char *safe;

	if (!u8_check(bytes.data, bytes.len))
		text = json_stringn(bytes.len ? (const char *)bytes.data : "", bytes.len);
	if (text)
		return text;
	safe = malloc(4 * bytes.len + 5);
	CHECK(safe);
	text_safe(bytes, safe, 4 * bytes.len + 5);
	text = json_string(safe);
	free(safe);
	return text;
}

static json_t *moment_json(const Google__Protobuf__Timestamp *moment)
{
	char text[DURATION_ROOM];

	duration_moment(moment->seconds, moment->nanos, text);
	return json_string(text);
}

static json_t *metadata_json(const Leased__Wire__LeaseHandle *handle)
{
	json_t *map = json_object();

	for (size_t i = 0; i < handle->n_metadata; i++) {
		json_t *key = show_json_text(lease_bytes(handle->metadata[i]->key));

		json_object_set_new(map, json_string_value(key),
				    show_json_text(lease_bytes(handle->metadata[i]->value)));
		json_decref(key);
	}
	return map;
}

static void set_text(json_t *object, const char *name, ProtobufCBinaryData data)
{
	if (data.len)
		json_object_set_new(object, name, show_json_text(lease_bytes(data)));
}

json_t *show_json(const Leased__Wire__LeaseHandle *handle)
{
	json_t *object = json_object();
	char text[DURATION_ROOM];

	set_text(object, "holderId", handle->holder_id);
	set_text(object, "namespace", handle->namespace_);
	set_text(object, "key", handle->key);
	if (handle->acquired_at)
		json_object_set_new(object, "acquiredAt", moment_json(handle->acquired_at));
	if (handle->expires_at)
		json_object_set_new(object, "expiresAt", moment_json(handle->expires_at));
	if (handle->n_metadata)
		json_object_set_new(object, "metadata", metadata_json(handle));
	if (handle->fencing_token) {
		snprintf(text, sizeof text, "%" PRIu64, handle->fencing_token);
		json_object_set_new(object, "fencingToken", json_string(text));
	}
	if (handle->remaining) {
		duration_json(handle->remaining->seconds, handle->remaining->nanos, text);
		json_object_set_new(object, "remaining", json_string(text));
	}
	set_text(object, "owner", handle->owner);
	return object;
}

void show_json_print(json_t *value, enum output output)
{
	size_t flags = output == OUTPUT_JSON ? JSON_INDENT(2) : JSON_COMPACT;

	json_dumpf(value, stdout, flags | JSON_ENCODE_ANY);
	putchar('\n');
	json_decref(value);
}

static const char *or_dash(const char *text)
{
	return *text ? text : "-";
}

static void metadata_text(const Leased__Wire__LeaseHandle *handle, char text[CELL])
{
	size_t used = 0;

	*text = 0;
	for (size_t i = 0; i < handle->n_metadata && used < CELL - 64; i++) {
		used += (size_t)snprintf(text + used, CELL - used, "%s", i ? "," : "");
		text_safe(lease_bytes(handle->metadata[i]->key), text + used, CELL - used - 2);
		used += strlen(text + used);
		text[used++] = '=';
		text_safe(lease_bytes(handle->metadata[i]->value), text + used, CELL - used);
		used += strlen(text + used);
	}
}

static void add_row(struct text_table *table, const Leased__Wire__LeaseHandle *handle, bool wide)
{
	char name_space[CELL], key[CELL], holder[CELL], owner[CELL], metadata[CELL];
	char age[DURATION_ROOM] = "", left[DURATION_ROOM], token[24];
	const char *cells[TEXT_COLUMNS];
	int i = 0;

	text_safe(lease_bytes(handle->namespace_), name_space, CELL);
	text_safe(lease_bytes(handle->key), key, CELL);
	text_safe(lease_bytes(handle->holder_id), holder, CELL);
	text_safe(lease_bytes(handle->owner), owner, CELL);
	metadata_text(handle, metadata);
	if (handle->acquired_at)
		duration_text(clock_wall_us() - handle->acquired_at->seconds * CLOCK_SECOND -
				  handle->acquired_at->nanos / 1000,
			      age);
	duration_text(lease_remaining_us(handle), left);
	snprintf(token, sizeof token, "%" PRIu64, handle->fencing_token);
	if (wide)
		cells[i++] = or_dash(name_space);
	cells[i++] = key;
	cells[i++] = holder;
	cells[i++] = or_dash(owner);
	cells[i++] = or_dash(age);
	cells[i++] = left;
	cells[i++] = token;
	if (wide)
		cells[i++] = or_dash(metadata);
	text_table_add(table, cells);
}

static void print_name(const Leased__Wire__LeaseHandle *handle)
{
	char name_space[CELL], key[CELL];

	text_safe(lease_bytes(handle->namespace_), name_space, CELL);
	text_safe(lease_bytes(handle->key), key, CELL);
	printf("%s/%s\n", name_space, key);
}

static struct text_table *table_of(const struct options *options)
{
	return text_table_make(options->output == OUTPUT_WIDE ? head_wide : head);
}

void show_lease(const struct options *options, const Leased__Wire__LeaseHandle *handle)
{
	struct text_table *table;

	if (options->output == OUTPUT_JSON || options->output == OUTPUT_JSONL) {
		show_json_print(json_pack("{s:o}", "handle", show_json(handle)), options->output);
		return;
	}
	if (options->output == OUTPUT_NAME) {
		print_name(handle);
		return;
	}
	table = table_of(options);
	add_row(table, handle, options->output == OUTPUT_WIDE);
	text_table_print(table, stdout, options->color);
	text_table_free(table);
}

struct show_list *show_list_begin(const struct options *options)
{
	struct show_list *list = calloc(1, sizeof *list);

	CHECK(list);
	list->options = options;
	if (options->output == OUTPUT_JSON)
		list->leases = json_array();
	else if (options->output == OUTPUT_TABLE || options->output == OUTPUT_WIDE)
		list->table = table_of(options);
	return list;
}

void show_list_add(struct show_list *list, const Leased__Wire__LeaseHandle *handle)
{
	if (list->leases)
		json_array_append_new(list->leases, show_json(handle));
	else if (list->table)
		add_row(list->table, handle, list->options->output == OUTPUT_WIDE);
	else if (list->options->output == OUTPUT_JSONL)
		show_json_print(show_json(handle), OUTPUT_JSONL);
	else
		print_name(handle);
}

void show_list_end(struct show_list *list, bool good)
{
	json_t *whole;

	if (list->table && good)
		text_table_print(list->table, stdout, list->options->color);
	text_table_free(list->table);
	if (list->leases && good) {
		whole = json_object();
		if (json_array_size(list->leases))
			json_object_set(whole, "leases", list->leases);
		show_json_print(whole, OUTPUT_JSON);
	}
	json_decref(list->leases);
	free(list);
}
