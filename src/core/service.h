/* SPDX-License-Identifier: Apache-2.0
 *
 * core/service.h - from a decoded request to a driver: the checks of the contract, in its order.
 *
 * Order: token (the worker, before decoding), arguments, capability scope, namespace. The service
 * sees raw durations as they stood on the wire, so that it alone judges them. */
#ifndef LEASED_CORE_SERVICE_H
#define LEASED_CORE_SERVICE_H

#include "core/op.h"
#include "core/settings.h"

/* A protobuf Duration as it came; absent = {false, 0, 0}. */
struct wire_duration {
	bool present;
	int64_t seconds;
	int32_t nanos;
};

/* What the codec hands over beside op->request (names, metadata, request_id, page_size, key_prefix
 * are already there, unchecked). Borrowed until service_check returns. */
struct service_input {
	struct wire_duration ttl;
	struct wire_duration wait_for;
	struct bytes holder_text; /* Renew, Release: as it came */
	struct bytes page_token;  /* List: as it came */
};

/* Judges the arguments of `op` and completes op->request (ttl_us, wait_us, holder, after; metadata
 * is sorted in place, the last of equal keys stays). ERR_OK, or ERR_INVALID_ARGUMENT with
 * answer.field and answer.text (in the op's arena). Pure but for the arena; does not block. */
enum err service_check(struct op *op, const struct service_input *input,
		       const struct limits *limits);

/* Finds the namespace. ERR_OK with *backend, or ERR_NAMESPACE_UNKNOWN with answer.text. */
enum err service_route(struct op *op, const struct settings *settings, size_t *backend);

/* The page token that continues after `key`: opaque, printable, in `arena`. */
struct bytes service_page_token(struct arena *arena, struct bytes key);

#endif
