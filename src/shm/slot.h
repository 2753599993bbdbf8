/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/slot.h - a worker's place in the segment: is it alive, does it answer, and its mailbox. */
#ifndef LEASED_SHM_SLOT_H
#define LEASED_SHM_SLOT_H

#include "shm/actor.h"

#define SHM_SLOT_STALE_US INT64_C(1000000) /* no heartbeat for so long: stopped */

/* The worker that queued with this generation has not ended. */
static inline bool shm_slot_alive(const struct shm_map *map, unsigned slot, uint32_t generation)
{
	return shm_load(&map->slot[slot].generation) == generation;
}

static inline bool shm_slot_responsive(const struct shm_map *map, unsigned slot, int64_t now)
{
	return now - shm_load(&map->slot[slot].heartbeat) <= SHM_SLOT_STALE_US;
}

/* Puts mail for `node` in its slot's box and marks the slot in actor->ring. Idempotent; needs no
 * lock, may be called with one. The caller rings when its lock is gone. */
void shm_slot_post(struct shm_actor *actor, uint32_t node);

/* Takes one node out of the mailbox; 0 = empty. Only the slot's worker. */
uint32_t shm_slot_take(struct shm_map *map, unsigned slot);

/* There may be mail. */
bool shm_slot_mail(const struct shm_map *map, unsigned slot);

#endif
