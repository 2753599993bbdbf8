/* SPDX-License-Identifier: Apache-2.0
 *
 * core/capability.h - what the bearer of a token may do, and whether a request is within it.
 * Plain data: it comes from the token file (config/) or from a signed token (auth/). All functions
 * are pure but for the arena, and do not block. */
#ifndef LEASED_CORE_CAPABILITY_H
#define LEASED_CORE_CAPABILITY_H

#include "core/op.h"

/* Bits of capability_grant.ops: 1u << enum op_kind, and one that is no call of its own. */
enum { CAPABILITY_BREAK = 1u << 5, CAPABILITY_ALL = (1u << 6) - 1 };

/* One line of rights: these ops on these namespaces, for all keys or some. */
struct capability_grant {
	unsigned ops;
	const struct bytes *pattern; /* over "lease/<namespace>": exact, or with one trailing '*' */
	size_t pattern_count;
	const struct bytes *prefix; /* of keys; none = all keys */
	size_t prefix_count;
	int64_t max_ttl_us; /* 0 = what the limits say */
};

struct capability {
	struct bytes id;       /* names the token in logs; never a secret; may be empty */
	struct bytes owner;    /* "tenant/agent", or "tenant" */
	int64_t not_before_us; /* wall clock; INT64_MIN = always */
	int64_t expires_us;    /* wall clock, valid before it; CLOCK_NEVER = always */
	const struct capability_grant *grant;
	size_t grant_count;
};

/* The bits of "lease.acquire", "acquire", "*" and so on; 0 when it is no op of this service. */
unsigned capability_op(struct bytes name);

/* A namespace pattern that can match: starts with "lease/" or is cut by '*' before that ends. */
bool capability_pattern_possible(struct bytes pattern);

/* "tenant/agent" (or "tenant") in `arena`; data is NULL when tenant is empty or holds a '/', when
 * it is too long, or when memory is exhausted. */
struct bytes capability_owner(struct arena *arena, struct bytes tenant, struct bytes agent);

/* ERR_OK, ERR_TOKEN_EXPIRED, or ERR_TOKEN_INVALID when it is too early. */
enum err capability_time(const struct capability *capability, int64_t wall_us);

/* Judges a request whose arguments are valid. ERR_OK fills request.may_break and may_inspect; else
 * ERR_NAMESPACE_NOT_GRANTED or ERR_OP_NOT_GRANTED with answer.text. */
enum err capability_allow(const struct capability *capability, struct op *op);

#endif
