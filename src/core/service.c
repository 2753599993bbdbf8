/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistr.h>

#include "core/holder.h"
#include "core/service.h"

/* google/protobuf/duration.proto: 10,000 years of 365.25 days. */
#define DURATION_SECONDS_MOST INT64_C(315576000000)

static const char page_token_mark = '1';

static enum err refuse(struct op *op, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum err refuse(struct op *op, const char *field, const char *format, ...)
{
	enum { TEXT = 160 };
	char *text = arena_alloc(op->arena, TEXT);
	va_list list;

	if (text) {
		va_start(list, format);
		vsnprintf(text, TEXT, format, list);
		va_end(list);
	}
	op->answer.field = field;
	op->answer.text = text;
	return op->answer.result = ERR_INVALID_ARGUMENT;
}

/* Any UTF-8 without NUL. Names are compared byte for byte, so no normalisation. */
static enum err check_text(struct op *op, const char *field, struct bytes text, size_t most)
{
	if (text.len > most)
		return refuse(op, field, "%s is longer than %zu bytes", field, most);
	if (text.len == 0)
		return ERR_OK;
	if (memchr(text.data, 0, text.len))
		return refuse(op, field, "%s must not contain NUL", field);
	if (u8_check(text.data, text.len))
		return refuse(op, field, "%s is not valid UTF-8", field);
	return ERR_OK;
}

static enum err check_names(struct op *op)
{
	enum err err;

	if (op->request.name_space.len == 0)
		return refuse(op, "namespace", "namespace required");
	err = check_text(op, "namespace", op->request.name_space, LEASE_NAMESPACE_MAX);
	if (err != ERR_OK)
		return err;
	return check_text(op, "key", op->request.key, LEASE_KEY_MAX);
}

static bool well_formed(const struct wire_duration *duration)
{
	int64_t s = duration->seconds;
	int32_t n = duration->nanos;

	return s <= DURATION_SECONDS_MOST && s >= -DURATION_SECONDS_MOST && n <= 999999999 &&
	       n >= -999999999 && !(s > 0 && n < 0) && !(s < 0 && n > 0);
}

/* Microseconds, rounded up so that no positive duration becomes zero. The range was checked. */
static int64_t to_us(const struct wire_duration *duration)
{
	return duration->seconds * INT64_C(1000000) + (duration->nanos + 999) / 1000;
}

static enum err check_most(struct op *op, const char *field, int64_t us, int64_t most)
{
	if (us <= most)
		return ERR_OK;
	return refuse(op, field, "%s exceeds the maximum of %" PRId64 ".%03ds", field,
		      most / 1000000, (int)(most / 1000 % 1000));
}

static enum err check_ttl(struct op *op, const struct wire_duration *ttl,
			  const struct limits *limits)
{
	if (!ttl->present || !well_formed(ttl) || ttl->seconds < 0 || ttl->nanos < 0 ||
	    (ttl->seconds == 0 && ttl->nanos == 0))
		return refuse(op, "ttl", "ttl required and must be > 0");
	op->request.ttl_us = to_us(ttl);
	if (op->request.ttl_us < LIMITS_TTL_LEAST)
		op->request.ttl_us = LIMITS_TTL_LEAST;
	return check_most(op, "ttl", op->request.ttl_us, limits->max_ttl_us);
}

static enum err check_wait(struct op *op, const struct wire_duration *wait,
			   const struct limits *limits)
{
	if (!wait->present)
		return ERR_OK;
	if (!well_formed(wait) || wait->seconds < 0 || wait->nanos < 0)
		return refuse(op, "wait_for", "wait_for must be a valid duration >= 0");
	op->request.wait_us = to_us(wait);
	return check_most(op, "wait_for", op->request.wait_us, limits->max_wait_us);
}

struct indexed {
	struct metadata_entry entry;
	size_t place; /* as sent: a later one wins, as in any protobuf map */
};

static int by_key_then_place(const void *left, const void *right)
{
	const struct indexed *a = left, *b = right;
	int order = bytes_compare(a->entry.key, b->entry.key);

	return order ? order : (a->place > b->place) - (a->place < b->place);
}

static void sort_metadata(struct metadata *metadata)
{
	struct indexed sorted[LEASE_METADATA_ENTRIES_MAX];
	size_t kept = 0;

	for (size_t i = 0; i < metadata->count; i++)
		sorted[i] = (struct indexed){metadata->entry[i], i};
	qsort(sorted, metadata->count, sizeof *sorted, by_key_then_place);
	for (size_t i = 0; i < metadata->count; i++) {
		bool last = i + 1 == metadata->count ||
			    !bytes_equal(sorted[i].entry.key, sorted[i + 1].entry.key);

		if (last)
			metadata->entry[kept++] = sorted[i].entry;
	}
	metadata->count = kept;
}

static enum err check_metadata(struct op *op)
{
	struct metadata *metadata = &op->request.metadata;
	size_t size = 0;

	if (metadata->count > LEASE_METADATA_ENTRIES_MAX)
		return refuse(op, "metadata", "metadata has more than %d entries",
			      LEASE_METADATA_ENTRIES_MAX);
	for (size_t i = 0; i < metadata->count; i++) {
		struct metadata_entry *entry = &metadata->entry[i];
		enum err err;

		if (entry->key.len == 0)
			return refuse(op, "metadata", "metadata key must not be empty");
		size += entry->key.len + entry->value.len;
		if (entry->key.len > LEASE_METADATA_BYTES_MAX || size > LEASE_METADATA_BYTES_MAX)
			return refuse(op, "metadata", "metadata is larger than %d bytes",
				      LEASE_METADATA_BYTES_MAX);
		err = check_text(op, "metadata", entry->key, LEASE_METADATA_BYTES_MAX);
		if (err == ERR_OK)
			err = check_text(op, "metadata", entry->value, LEASE_METADATA_BYTES_MAX);
		if (err != ERR_OK)
			return err;
	}
	if (metadata->count > 1)
		sort_metadata(metadata);
	return ERR_OK;
}

static enum err check_acquire(struct op *op, const struct service_input *input,
			      const struct limits *limits)
{
	enum err err;

	if (op->request.key.len == 0)
		return refuse(op, "key", "key required");
	if ((err = check_names(op)) != ERR_OK ||
	    (err = check_ttl(op, &input->ttl, limits)) != ERR_OK ||
	    (err = check_wait(op, &input->wait_for, limits)) != ERR_OK ||
	    (err = check_text(op, "request_id", op->request.request_id, LEASE_REQUEST_ID_MAX)) !=
		ERR_OK)
		return err;
	return check_metadata(op);
}

static enum err check_holder(struct op *op, const struct service_input *input,
			     const struct limits *limits)
{
	enum err err;

	if (op->request.key.len == 0 || input->holder_text.len == 0)
		return refuse(op, op->request.key.len == 0 ? "key" : "holder_id",
			      "key and holder_id required");
	if ((err = check_names(op)) != ERR_OK)
		return err;
	op->request.holder_known = holder_parse(input->holder_text, &op->request.holder);
	return op->kind == OP_RENEW ? check_ttl(op, &input->ttl, limits) : ERR_OK;
}

static enum err check_inspect(struct op *op)
{
	if (op->request.key.len == 0)
		return refuse(op, "key", "key required");
	return check_names(op);
}

static enum err check_list(struct op *op, const struct service_input *input)
{
	struct bytes token = input->page_token;
	enum err err;

	if ((err = check_names(op)) != ERR_OK ||
	    (err = check_text(op, "key_prefix", op->request.key_prefix, LEASE_KEY_MAX)) != ERR_OK)
		return err;
	if (token.len == 0)
		return ERR_OK;
	if (token.data[0] != page_token_mark)
		return refuse(op, "page_token", "page_token is not one of this server's");
	op->request.after = (struct bytes){token.data + 1, token.len - 1};
	op->request.after_set = true;
	return check_text(op, "page_token", op->request.after, LEASE_KEY_MAX);
}

enum err service_check(struct op *op, const struct service_input *input,
		       const struct limits *limits)
{
	switch (op->kind) {
	case OP_ACQUIRE:
		return check_acquire(op, input, limits);
	case OP_RENEW:
	case OP_RELEASE:
		return check_holder(op, input, limits);
	case OP_INSPECT:
		return check_inspect(op);
	case OP_LIST:
		return check_list(op, input);
	}
	return op->answer.result = ERR_BUG;
}

enum err service_route(struct op *op, const struct settings *settings, size_t *backend)
{
	const struct namespace_settings *found =
	    settings_namespace(settings, op->request.name_space);
	enum { TEXT = LEASE_NAMESPACE_MAX + 40 };
	char *text;

	if (found) {
		*backend = found->backend;
		return ERR_OK;
	}
	text = arena_alloc(op->arena, TEXT);
	if (text)
		snprintf(text, TEXT, "namespace \"%.*s\" not configured",
			 (int)op->request.name_space.len,
			 (const char *)op->request.name_space.data);
	op->answer.text = text;
	return op->answer.result = ERR_NAMESPACE_UNKNOWN;
}

struct bytes service_page_token(struct arena *arena, struct bytes key)
{
	uint8_t *token = arena_alloc(arena, key.len + 1);

	if (!token)
		return (struct bytes){NULL, 0};
	token[0] = (uint8_t)page_token_mark;
	if (key.len)
		memcpy(token + 1, key.data, key.len);
	return (struct bytes){token, key.len + 1};
}
