/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/chain.h - runs of bytes too long for a record, in chained chunks. A chain belongs to one
 * stripe; it is freed by putting its head into stripe->freeing with a change. */
#ifndef LEASED_SHM_CHAIN_H
#define LEASED_SHM_CHAIN_H

#include "shm/stripe.h"

enum { SHM_PENDING_PAYLOAD, SHM_PENDING_NAME };

/* Builds the chain of `size` bytes at stripe->pending[which], which must be empty. Under the stripe
 * lock. False when chunks ran out (grow and try again): a part may be pending, see
 * shm_stripe_abandon. */
bool shm_chain_build(struct shm_actor *actor, struct shm_stripe *stripe, unsigned which,
		     const uint64_t *words, uint32_t size);

/* Copies the first `size` bytes, rounded up to words. Needs no lock: a chain that changes
 * underneath gives wrong bytes or false, never a bad access; the caller looks at the record's seq
 * again. */
bool shm_chain_copy(const struct shm_map *map, uint32_t head, uint32_t size, uint64_t *words);

/* The same bytes. No lock needed, as above. */
bool shm_chain_equal(const struct shm_map *map, uint32_t head, uint32_t size,
		     const uint64_t *words);

#endif
