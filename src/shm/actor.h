/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/actor.h - who works on the table: one per thread that does. Private memory. */
#ifndef LEASED_SHM_ACTOR_H
#define LEASED_SHM_ACTOR_H

#include "shm/map.h"
#include "shm/payload.h"

enum { SHM_RECENT = 64 };

/* Where this actor freed lately and searched last: hints only, the owner word decides. */
struct shm_finder {
	uint32_t recent[SHM_RECENT];
	uint32_t recent_count;
	uint32_t cursor; /* word of the busy bitmap */
};

struct shm_actor {
	struct shm_map *map;
	unsigned slot;	     /* SHM_SLOTS: none (the master, a test) */
	uint32_t generation; /* of the slot while this worker lives */
	uint64_t ring; /* slots that got mail: ring when no lock is held (shm_bell_ring_all) */
	struct shm_finder finder[2];
	uint64_t scratch[SHM_PAYLOAD_WORDS]; /* payload copied out under a lock */
};

static inline void shm_actor_init(struct shm_actor *actor, struct shm_map *map, unsigned slot,
				  uint32_t generation)
{
	*actor = (struct shm_actor){.map = map, .slot = slot, .generation = generation};
}

#endif
