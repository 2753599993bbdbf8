/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/payload.h - owner, request_id and metadata of a grant as one run of bytes, as it lies in a
 * chunk chain. All empty is size 0. */
#ifndef LEASED_SHM_PAYLOAD_H
#define LEASED_SHM_PAYLOAD_H

#include "core/lease.h"

enum {
	SHM_PAYLOAD_HEAD = 8, /* lengths of owner and request_id, count of entries: 16 bits each */
	SHM_PAYLOAD_MAX = SHM_PAYLOAD_HEAD + LEASE_OWNER_MAX + LEASE_REQUEST_ID_MAX +
			  LEASE_METADATA_ENTRIES_MAX * 4 + LEASE_METADATA_BYTES_MAX,
	SHM_PAYLOAD_WORDS = (SHM_PAYLOAD_MAX + 7) / 8,
	/* Enough to judge who asked. */
	SHM_PAYLOAD_IDENTITY = SHM_PAYLOAD_HEAD + LEASE_OWNER_MAX + LEASE_REQUEST_ID_MAX,
};

/* Writes at most SHM_PAYLOAD_MAX bytes; returns the size. The parts must be within the limits. */
uint32_t shm_payload_encode(uint64_t words[static SHM_PAYLOAD_WORDS], struct bytes owner,
			    struct bytes request_id, const struct metadata *metadata);

/* Owner and request_id, borrowed from `words` (which may end after the identity). */
void shm_payload_identity(const uint64_t *words, uint32_t size, struct bytes *owner,
			  struct bytes *request_id);

/* Copies all parts into `lease`, in `arena`. ERR_SYSTEM: no memory; ERR_BUG: lengths do not fit. */
enum err shm_payload_decode(const uint64_t *words, uint32_t size, struct arena *arena,
			    struct lease *lease);

#endif
