/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/stripe.h - lock one stripe, change it all or not at all, repair it after a death.
 * Locks: one stripe at a time, and no other lock while it is held. Between lock and unlock: no I/O,
 * no malloc, no system call.
 *
 * A change:  shm_stripe_set ... (logged stores to words that others can see)
 *            shm_stripe_todo    (what follows the commit)
 *            shm_stripe_commit  (one store; then the todos run)
 * A death before the commit takes everything back, a death after it runs the todos again. */
#ifndef LEASED_SHM_STRIPE_H
#define LEASED_SHM_STRIPE_H

#include "base/err.h"
#include "shm/actor.h"

/* Locks stripe `number`, repairing it first when its last owner died. Waits at most a second.
 * ERR_OK, or ERR_BACKEND_DOWN when it is not to be had or beyond repair: nothing is locked then. */
enum err shm_stripe_lock(struct shm_actor *actor, unsigned number, struct shm_stripe **stripe);
void shm_stripe_unlock(struct shm_stripe *stripe);

static inline unsigned shm_stripe_number(const struct shm_map *map, const struct shm_stripe *stripe)
{
	return (unsigned)(stripe - map->stripe);
}

/* Its mark in the owner words of pool elements. */
static inline uint32_t shm_stripe_mark(const struct shm_map *map, const struct shm_stripe *stripe)
{
	return shm_stripe_number(map, stripe) + 1;
}

/* Logs the old value of `word`, then stores `value`. At most SHM_UNDO times before a commit. */
void shm_stripe_set(const struct shm_map *map, struct shm_stripe *stripe, _Atomic uint32_t *word,
		    uint32_t value);

/* Turns `record` to `seq` at the commit; `erase` also takes it out of its bucket and frees it. */
void shm_stripe_todo_seq(const struct shm_map *map, struct shm_stripe *stripe, uint32_t record,
			 uint32_t seq, bool erase);
/* After shm_stripe_todo_seq: also marks `node` (state word `word`, QUEUED) granted and posts it. */
void shm_stripe_todo_grant(const struct shm_map *map, struct shm_stripe *stripe, uint32_t node,
			   uint32_t word);

/* Commits and does what follows. The chains in `freeing` are freed. */
void shm_stripe_commit(struct shm_actor *actor, struct shm_stripe *stripe);

/* Gives back what was allocated for a change that will not be made. Nothing may be logged. */
void shm_stripe_abandon(struct shm_actor *actor, struct shm_stripe *stripe);

/* repair.c: brings a stripe whose owner died to the state before or after its change. False when
 * its words make no sense. May be interrupted by another death anywhere and run again. */
bool shm_stripe_repair(struct shm_actor *actor, struct shm_stripe *stripe);

/* For repair.c: the todos; the freeing of one chain; of the claimed record. All may run again. */
void shm_stripe_finish(struct shm_actor *actor, struct shm_stripe *stripe);
void shm_stripe_drain(struct shm_actor *actor, struct shm_stripe *stripe, _Atomic uint32_t *list);

#endif
