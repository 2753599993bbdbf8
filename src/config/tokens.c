/* SPDX-License-Identifier: Apache-2.0
 *
 * The token file: hashes of opaque tokens and what their bearers may do. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "base/clock.h"
#include "config/reader.h"

enum { TOKENS_MAX = 10000, LIST_MAX = 256, ID_MAX_BYTES = 128, HASH_DIGITS = 64 };

static const struct option_spec ttl_spec = {"max_ttl",	      OPTION_DURATION,	   {.number = 0},
					    LIMITS_TTL_LEAST, LIMITS_MAX_TTL_MOST, NULL};

typedef bool judge_f(struct reader *reader, const struct node *node, const char *path);

/* A list of texts that `judge` (may be NULL) approves of; NULL after an error. */
static const struct bytes *read_texts(struct reader *reader, const struct node *list,
				      const char *path, judge_f *judge, size_t *count)
{
	struct bytes *texts;
	bool good = true;

	*count = 0;
	if (list->kind != NODE_LIST || list->count == 0 || list->count > LIST_MAX) {
		reader_error(reader, list, NULL, "%s must be a list of 1 to %d entries", path,
			     LIST_MAX);
		return NULL;
	}
	texts = reader_memory(reader, list->count, sizeof *texts);
	for (const struct node *node = list->first; texts && node; node = node->next) {
		if (!reader_text(reader, node, path) || (judge && !judge(reader, node, path)))
			good = false;
		else
			texts[(*count)++] = (struct bytes){(const uint8_t *)node->text, node->len};
	}
	return good ? texts : NULL;
}

static bool judge_pattern(struct reader *reader, const struct node *node, const char *path)
{
	if (capability_pattern_possible(bytes_of(node->text)))
		return true;
	reader_error(reader, node, NULL,
		     "%s: \"%s\" matches no namespace: write lease/NAME, lease/START* or *", path,
		     node->text);
	return false;
}

static bool judge_op(struct reader *reader, const struct node *node, const char *path)
{
	static const char *const known[] = {"lease.acquire", "lease.renew", "lease.release",
					    "lease.inspect", "lease.list",  "lease.break"};
	const size_t block = strlen("lease.");
	struct guess guess;

	if (capability_op(bytes_of(node->text)))
		return true;
	guess_init(&guess, node->text);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		guess_offer(&guess, known[i] + (strchr(node->text, '.') ? 0 : block));
	reader_error(reader, node, guess.best, "%s: unknown op \"%s\"", path, node->text);
	return false;
}

static void read_ops(struct reader *reader, const struct node *list, const char *path,
		     struct capability_grant *grant)
{
	size_t count;
	const struct bytes *ops = read_texts(reader, list, path, judge_op, &count);

	for (size_t i = 0; ops && i < count; i++)
		grant->ops |= capability_op(ops[i]);
}

static void read_grant(struct reader *reader, const struct node *map, const char *path,
		       struct capability_grant *grant)
{
	static const char *const names[] = {"ops", "namespaces", "key_prefixes", "max_ttl", NULL};
	union option_value ttl = {.number = 0};
	const struct node *found[4];
	char below[4][PATH_SIZE];

	if (!reader_fields(reader, map, path, names, found))
		return;
	for (size_t i = 0; i < 4; i++)
		reader_path(below[i], path, names[i]);
	if (!found[0] || !found[1]) {
		reader_error(reader, map, NULL, "%s needs ops and namespaces", path);
		return;
	}
	read_ops(reader, found[0], below[0], grant);
	grant->pattern =
	    read_texts(reader, found[1], below[1], judge_pattern, &grant->pattern_count);
	if (found[2])
		grant->prefix = read_texts(reader, found[2], below[2], NULL, &grant->prefix_count);
	if (found[3] && reader_value(reader, found[3], below[3], &ttl_spec, &ttl))
		grant->max_ttl_us = ttl.number;
}

static void read_grants(struct reader *reader, const struct node *list, const char *path,
			struct capability *capability)
{
	struct capability_grant *grant;
	size_t count = 0;

	if (list->kind != NODE_LIST || list->count == 0 || list->count > LIST_MAX) {
		reader_error(reader, list, NULL, "%s.grants must be a list of 1 to %d", path,
			     LIST_MAX);
		return;
	}
	grant = reader_memory(reader, list->count, sizeof *grant);
	for (const struct node *map = list->first; grant && map; map = map->next) {
		char below[PATH_SIZE], name[32];

		snprintf(name, sizeof name, "grants[%zu]", count);
		reader_path(below, path, name);
		read_grant(reader, map, below, &grant[count++]);
	}
	capability->grant = grant;
	capability->grant_count = grant ? count : 0;
}

/* 2027-06-01T00:00:00Z */
static bool read_time(struct reader *reader, const struct node *node, const char *path,
		      int64_t *wall_us)
{
	struct tm parts = {0};
	const char *end;

	if (!reader_text(reader, node, path))
		return false;
	end = strptime(node->text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	if (!end || *end || node->len != strlen("2027-06-01T00:00:00Z")) {
		reader_error(reader, node, NULL,
			     "%s: a time is written in UTC, as 2027-06-01T00:00:00Z", path);
		return false;
	}
	*wall_us = (int64_t)timegm(&parts) * CLOCK_SECOND;
	return true;
}

static void read_hash(struct reader *reader, const struct node *node, const char *path,
		      struct auth_token *token)
{
	static const uint8_t nothing;
	uint8_t empty[AUTH_HASH];
	size_t len;

	if (!reader_text(reader, node, path))
		return;
	crypto_hash_sha256(empty, &nothing, 0);
	if (node->len != HASH_DIGITS ||
	    sodium_hex2bin(token->sha256, AUTH_HASH, node->text, node->len, NULL, &len, NULL) !=
		0 ||
	    len != AUTH_HASH)
		reader_error(reader, node, NULL, "%s: a hash is 64 hexadecimal digits", path);
	else if (memcmp(empty, token->sha256, AUTH_HASH) == 0)
		reader_error(reader, node, NULL, "%s: this is the hash of an empty token", path);
}

static struct bytes text_of(const struct node *node)
{
	return node ? (struct bytes){(const uint8_t *)node->text, node->len}
		    : (struct bytes){NULL, 0};
}

static void read_who(struct reader *reader, const struct node *const found[3], const char *path,
		     struct capability *capability)
{
	for (size_t i = 0; i < 3; i++)
		if (found[i] && !reader_text(reader, found[i], path))
			return;
	capability->id = text_of(found[0]);
	capability->owner =
	    capability_owner(&reader->config->arena, text_of(found[1]), text_of(found[2]));
	if (!capability->owner.data)
		reader_error(reader, found[1], NULL,
			     "%s: a tenant has no '/', and is at most %d bytes with its agent",
			     path, LEASE_OWNER_MAX);
	if (capability->id.len > ID_MAX_BYTES)
		reader_error(reader, found[0], NULL, "%s: an id is at most %d bytes", path,
			     ID_MAX_BYTES);
}

static void read_token(struct reader *reader, const struct node *map, const char *path,
		       struct auth_token *token)
{
	enum { ID, TENANT, AGENT, SHA256, GRANTS, EXPIRES, NOT_BEFORE, FIELDS };
	static const char *const names[] = {"id",     "tenant",	 "agent",      "sha256",
					    "grants", "expires", "not_before", NULL};
	const struct node *found[FIELDS];
	char below[FIELDS][PATH_SIZE];

	token->capability.expires_us = CLOCK_NEVER;
	token->capability.not_before_us = INT64_MIN;
	if (!reader_fields(reader, map, path, names, found))
		return;
	for (size_t i = 0; i < FIELDS; i++)
		reader_path(below[i], path, names[i]);
	if (!found[ID] || !found[TENANT] || !found[SHA256] || !found[GRANTS]) {
		reader_error(reader, map, NULL, "%s needs id, tenant, sha256 and grants", path);
		return;
	}
	read_who(reader, found, path, &token->capability);
	read_hash(reader, found[SHA256], below[SHA256], token);
	read_grants(reader, found[GRANTS], path, &token->capability);
	if (found[EXPIRES])
		read_time(reader, found[EXPIRES], below[EXPIRES], &token->capability.expires_us);
	if (found[NOT_BEFORE])
		read_time(reader, found[NOT_BEFORE], below[NOT_BEFORE],
			  &token->capability.not_before_us);
}

static int by_hash(const void *left, const void *right)
{
	const struct auth_token *a = left, *b = right;

	return memcmp(a->sha256, b->sha256, AUTH_HASH);
}

static void store(struct reader *reader, struct auth_token *token, size_t count)
{
	struct auth_settings *auth = &reader->config->settings.auth;

	qsort(token, count, sizeof *token, by_hash);
	for (size_t i = 1; i < count && reader->report.count == 0; i++)
		if (by_hash(&token[i - 1], &token[i]) == 0)
			reader_error(reader, NULL, NULL, "the tokens \"%.*s\" and \"%.*s\" are one",
				     (int)token[i - 1].capability.id.len,
				     (const char *)token[i - 1].capability.id.data,
				     (int)token[i].capability.id.len,
				     (const char *)token[i].capability.id.data);
	auth->token = token;
	auth->token_count = count;
}

static void read_file(struct reader *reader)
{
	static const char *const names[] = {"tokens", NULL};
	const struct node *list;
	struct node *root = NULL;
	struct auth_token *token;
	size_t count = 0;

	if (!document_read(&reader->report, &reader->config->arena, &root))
		return;
	if (!root) {
		reader_error(reader, NULL, NULL, "the file says nothing; write \"tokens: []\"");
		return;
	}
	if (!reader_fields(reader, root, "", names, &list) || reader->report.count)
		return;
	if (list && node_empty(list)) /* to be appended to: nothing opens */
		return;
	if (!list || list->kind != NODE_LIST || list->count > TOKENS_MAX) {
		reader_error(reader, list, NULL, "tokens must be a list of at most %d", TOKENS_MAX);
		return;
	}
	token = reader_memory(reader, list->count, sizeof *token);
	for (const struct node *map = list->first; token && map; map = map->next) {
		char path[PATH_SIZE];

		snprintf(path, sizeof path, "tokens[%zu]", count);
		read_token(reader, map, path, &token[count++]);
	}
	if (token)
		store(reader, token, count);
}

unsigned tokens_read(struct reader *outer, const char *source, struct bytes text)
{
	struct reader *reader = calloc(1, sizeof *reader);
	unsigned count;

	if (!reader)
		return 1;
	reader->config = outer->config;
	report_init(&reader->report, &reader->config->arena, source, text);
	read_file(reader);
	report_print(&reader->report, outer->errors, outer->brief);
	count = reader->report.count;
	free(reader);
	return count;
}
