/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/fence.h - fencing tokens: one counter that never goes back, not even after a reboot. What may
 * be given out is written to the state file before, in blocks. */
#ifndef LEASED_SHM_FENCE_H
#define LEASED_SHM_FENCE_H

#include "shm/shared.h"

#define SHM_FENCE_BLOCK UINT64_C(1000000)

/* The next token, > 0. 0 = the reserve is used up; none is given until the file says more. */
static inline uint64_t shm_fence_take(const struct shm_map *map)
{
	uint64_t limit = shm_load(&map->header->fence_limit);
	uint64_t token = atomic_load(&map->header->fence_next);

	while (token < limit)
		if (atomic_compare_exchange_weak(&map->header->fence_next, &token, token + 1))
			return token;
	return 0;
}

/* Half a block or less is left: reserve more. */
static inline bool shm_fence_low(const struct shm_map *map)
{
	return atomic_load(&map->header->fence_next) + SHM_FENCE_BLOCK / 2 >=
	       shm_load(&map->header->fence_limit);
}

/* Reserves more when the reserve is low: state file first, then the segment. Any process, one at a
 * time (the others return at once). ERR_SYSTEM with errno: not written, the old limit stands. */
enum err shm_fence_reserve(struct driver_shared *shared);

#endif
