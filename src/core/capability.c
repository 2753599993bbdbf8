/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/capability.h"

#define BLOCK "lease/"

static const char *const verbs[] = {
    [OP_ACQUIRE] = "acquire", [OP_RENEW] = "renew", [OP_RELEASE] = "release",
    [OP_INSPECT] = "inspect", [OP_LIST] = "list",   [5] = "break",
};

unsigned capability_op(struct bytes name)
{
	if (bytes_equal(name, bytes_of("*")))
		return CAPABILITY_ALL;
	if (bytes_start_with(name, bytes_of("lease.")))
		name = (struct bytes){name.data + 6, name.len - 6};
	for (unsigned i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (bytes_equal(name, bytes_of(verbs[i])))
			return 1u << i;
	return 0;
}

/* Splits a trailing '*' off. */
static bool wild(struct bytes *pattern)
{
	if (pattern->len == 0 || pattern->data[pattern->len - 1] != '*')
		return false;
	pattern->len--;
	return true;
}

bool capability_pattern_possible(struct bytes pattern)
{
	bool open = wild(&pattern);

	if (pattern.len && memchr(pattern.data, '*', pattern.len))
		return false;
	if (pattern.len > strlen(BLOCK) || (open && pattern.len == strlen(BLOCK)))
		return bytes_start_with(pattern, bytes_of(BLOCK));
	return open && bytes_start_with(bytes_of(BLOCK), pattern);
}

static bool matches(struct bytes pattern, struct bytes name_space)
{
	size_t block = strlen(BLOCK);
	bool open = wild(&pattern);
	struct bytes rest;

	if (pattern.len < block)
		return open && bytes_start_with(bytes_of(BLOCK), pattern);
	if (!bytes_start_with(pattern, bytes_of(BLOCK)))
		return false;
	rest = (struct bytes){pattern.data + block, pattern.len - block};
	return open ? bytes_start_with(name_space, rest) : bytes_equal(name_space, rest);
}

struct bytes capability_owner(struct arena *arena, struct bytes tenant, struct bytes agent)
{
	struct bytes none = {NULL, 0};
	size_t len = tenant.len + (agent.len ? agent.len + 1 : 0);
	uint8_t *text;

	/* With a '/' in it one tenant could pass for an agent of another. */
	if (tenant.len == 0 || memchr(tenant.data, '/', tenant.len) ||
	    tenant.len > LEASE_OWNER_MAX || len > LEASE_OWNER_MAX)
		return none;
	text = arena_alloc(arena, len);
	if (!text)
		return none;
	memcpy(text, tenant.data, tenant.len);
	if (agent.len) {
		text[tenant.len] = '/';
		memcpy(text + tenant.len + 1, agent.data, agent.len);
	}
	return (struct bytes){text, len};
}

enum err capability_time(const struct capability *capability, int64_t wall_us)
{
	if (wall_us >= capability->expires_us)
		return ERR_TOKEN_EXPIRED;
	return wall_us < capability->not_before_us ? ERR_TOKEN_INVALID : ERR_OK;
}

static bool covers_namespace(const struct capability_grant *grant, struct bytes name_space)
{
	for (size_t i = 0; i < grant->pattern_count; i++)
		if (matches(grant->pattern[i], name_space))
			return true;
	return false;
}

/* What a call is about: one key, or all that begin with a prefix. */
static bool covers_key(const struct capability_grant *grant, const struct op *op)
{
	struct bytes key = op->kind == OP_LIST ? op->request.key_prefix : op->request.key;

	for (size_t i = 0; i < grant->prefix_count; i++)
		if (bytes_start_with(key, grant->prefix[i]))
			return true;
	return grant->prefix_count == 0;
}

static enum err refuse(struct op *op, enum err err, const char *before, struct bytes name,
		       const char *after)
{
	size_t size = strlen(before) + name.len + strlen(after) + 1;
	char *text = arena_alloc(op->arena, size);

	if (text)
		snprintf(text, size, "%s%.*s%s", before, (int)name.len, (const char *)name.data,
			 after);
	op->answer.text = text;
	return op->answer.result = err;
}

static enum err refuse_ttl(struct op *op, int64_t most_us)
{
	char most[64];

	snprintf(most, sizeof most, "%" PRId64 ".%06" PRId64 "s", most_us / 1000000,
		 most_us % 1000000);
	return refuse(op, ERR_OP_NOT_GRANTED, "ttl exceeds the capability's maximum of ",
		      bytes_of(most), "");
}

/* What the grants of a namespace say together. */
struct finding {
	bool name_space, op, key, ttl;
	int64_t most_ttl_us;
};

static void weigh(const struct capability_grant *grant, struct op *op, unsigned wanted,
		  struct finding *finding)
{
	if (!covers_namespace(grant, op->request.name_space))
		return;
	finding->name_space = true;
	finding->op = finding->op || (grant->ops & wanted);
	if (!covers_key(grant, op))
		return;
	if (grant->ops & CAPABILITY_BREAK)
		op->request.may_break = true;
	if (grant->ops & (1u << OP_INSPECT))
		op->request.may_inspect = true;
	if (!(grant->ops & wanted))
		return;
	finding->key = true;
	if (grant->max_ttl_us == 0 || op->request.ttl_us <= grant->max_ttl_us)
		finding->ttl = true;
	else if (grant->max_ttl_us > finding->most_ttl_us)
		finding->most_ttl_us = grant->max_ttl_us;
}

enum err capability_allow(const struct capability *capability, struct op *op)
{
	static const char tail[] = " not in capability scope";
	/* The clean-up of orphans needs no right beside its own. */
	unsigned wanted = (1u << op->kind) | (op->kind == OP_RELEASE ? CAPABILITY_BREAK : 0);
	struct finding finding = {0};

	op->request.may_break = op->request.may_inspect = false;
	for (size_t i = 0; i < capability->grant_count; i++)
		weigh(&capability->grant[i], op, wanted, &finding);
	if (!finding.name_space)
		return refuse(op, ERR_NAMESPACE_NOT_GRANTED, "namespace lease/",
			      op->request.name_space, tail);
	if (!finding.op)
		return refuse(op, ERR_OP_NOT_GRANTED, "op ", bytes_of(op_name(op->kind)), tail);
	if (!finding.key)
		return refuse(op, ERR_OP_NOT_GRANTED, op->kind == OP_LIST ? "key_prefix" : "key",
			      (struct bytes){(const uint8_t *)"", 0}, tail);
	return finding.ttl ? ERR_OK : refuse_ttl(op, finding.most_ttl_us);
}
