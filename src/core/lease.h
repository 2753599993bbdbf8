/* SPDX-License-Identifier: Apache-2.0
 *
 * core/lease.h - what a lease is, in the server's own words.
 * All times are microseconds. Wall times are for printing only; decisions use the boot clock
 * (memory driver) or the database's clock (postgres driver). */
#ifndef LEASED_CORE_LEASE_H
#define LEASED_CORE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

enum {
	LEASE_NAMESPACE_MAX = 128,
	LEASE_KEY_MAX = 512,
	LEASE_OWNER_MAX = 512,
	LEASE_REQUEST_ID_MAX = 64,
	LEASE_METADATA_ENTRIES_MAX = 64,
	LEASE_METADATA_BYTES_MAX = 8192, /* keys and values together */
	LEASE_HOLDER_TEXT = 36,		 /* canonical lower-case UUID, without NUL */
};

/* Proves who may renew and release. 122 random bits (RFC 9562, UUID version 4). */
struct holder_id {
	uint8_t byte[16];
};

struct metadata_entry {
	struct bytes key;
	struct bytes value;
};

/* Sorted by key in byte order, keys unique and not empty. */
struct metadata {
	struct metadata_entry *entry;
	size_t count;
};

/* One grant as it is shown to clients. Memory: the arena of the operation that asked. */
struct lease {
	struct bytes name_space;
	struct bytes key;
	struct bytes owner;
	struct bytes request_id;
	struct metadata metadata;
	struct holder_id holder;
	uint64_t fencing_token;
	int64_t acquired_wall_us;
	int64_t expires_wall_us;
	int64_t remaining_us; /* > 0 in every lease that is shown */
	uint32_t waiters;     /* queued on the key when it was read */
};

#endif
