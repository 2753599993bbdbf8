/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/queue.h - who waits for a key, first come, first served. All with the key's stripe locked. */
#ifndef LEASED_SHM_QUEUE_H
#define LEASED_SHM_QUEUE_H

#include "shm/record.h"

static inline enum shm_waiter_state shm_word_state(uint32_t word)
{
	return (enum shm_waiter_state)(word & SHM_STATE_MASK);
}

static inline uint32_t shm_word_with(uint32_t word, enum shm_waiter_state state)
{
	return (word & ~(uint32_t)SHM_STATE_MASK) | (uint32_t)state;
}

/* Puts `node`, idle and filled in by its worker but for the links, at the end of the queue. Its
 * payload is the one pending in the stripe. */
void shm_queue_add(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
		   uint32_t node);

/* Takes a QUEUED node out of its queue, frees its payload and leaves it in `state`. */
void shm_queue_drop(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t node,
		    enum shm_waiter_state state);

/* Gives a lease that is over, or is to end now, to the first who can take it: the dead are dropped,
 * those whose wait ran out are told so, the stopped are passed over when somebody else can. When
 * nobody is left the record is erased: true. False: the record stays. */
bool shm_queue_hand_over(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
			 int64_t now);

/* Whether the grant was handed to a waiter that did not see it and cannot be expected to: its
 * worker died or is stopped. Then the waiter is marked revoked, and the lease may be handed over.
 */
bool shm_queue_revoke(struct shm_actor *actor, const struct shm_grant *grant, int64_t now);

/* Tells the first in line to look at the deadline again, which moved nearer. */
void shm_queue_nudge(struct shm_actor *actor, uint32_t index);

#endif
