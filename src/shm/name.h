/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/name.h - namespace and key as the table compares them: both lengths, then all bytes. */
#ifndef LEASED_SHM_NAME_H
#define LEASED_SHM_NAME_H

#include "core/lease.h"

enum {
	SHM_NAME_MAX = LEASE_NAMESPACE_MAX + LEASE_KEY_MAX,
	SHM_NAME_MAX_WORDS = SHM_NAME_MAX / 8,
	SHM_NAME_INLINE = 104, /* longer ones lie in a chain */
};

struct shm_name {
	uint64_t hash;
	uint32_t lens; /* as in the record: (a, b/c) and (a/b, c) differ here */
	uint32_t size; /* bytes */
	uint64_t word[SHM_NAME_MAX_WORDS + 1]; /* the last of the name is padded with zero bytes */
};

/* The lengths must be within the contract's limits. Hashed by SipHash-2-4 (libsodium) with the
 * segment's seed, so that nobody outside can aim keys at one bucket. */
void shm_name_make(struct shm_name *name, struct bytes name_space, struct bytes key,
		   const uint64_t seed[2]);

#endif
