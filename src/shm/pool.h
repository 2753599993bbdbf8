/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/pool.h - records and chunks: taken and given back without a lock of their own.
 * The owner word of an element is the truth: 0 = free, else the stripe that has it. The busy bitmap
 * only makes the search short: a bit may be clear for a busy element, never set for a free one. */
#ifndef LEASED_SHM_POOL_H
#define LEASED_SHM_POOL_H

#include "base/err.h"
#include "shm/actor.h"

/* Takes an element for the stripe with `mark`. Its index stands in `claim` from before it is ours,
 * so that a repairer can give it back; the caller clears it when the element has another home.
 * 0 = nothing is free in the committed part. Under the stripe lock; never blocks. */
uint32_t shm_pool_claim(struct shm_actor *actor, enum shm_pool_kind kind, uint32_t mark,
			_Atomic uint32_t *claim);

/* Frees `index` when it is `mark`'s, and makes sure that it will be found. May run again. */
void shm_pool_give(struct shm_actor *actor, enum shm_pool_kind kind, uint32_t mark, uint32_t index);

/* Commits one more extent. ERR_OK, or ERR_TABLE_FULL: all there or no memory. Makes system calls;
 * no stripe lock may be held. */
enum err shm_pool_grow(struct shm_actor *actor, enum shm_pool_kind kind);

#endif
