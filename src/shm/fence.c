/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>

#include "base/check.h"
#include "shm/fence.h"

/* Written, synced, then believed: a death in between wastes a block, nothing else. */
static enum err reserve_locked(struct driver_shared *shared)
{
	struct shm_header *header = shared->map.header;
	struct shm_state state = shared->state;
	uint64_t next = atomic_load(&header->fence_next);

	if (!shm_fence_low(&shared->map))
		return ERR_OK;
	state.fence_limit = next + SHM_FENCE_BLOCK;
	if (state.fence_limit < shm_load(&header->fence_limit))
		state.fence_limit = shm_load(&header->fence_limit);
	if (shm_state_write(shared->state_path, &state) != ERR_OK)
		return ERR_SYSTEM;
	shm_store(&header->fence_limit, state.fence_limit);
	return ERR_OK;
}

enum err shm_fence_reserve(struct driver_shared *shared)
{
	pthread_mutex_t *mutex = &shared->map.header->fence_mutex;
	int result = pthread_mutex_trylock(mutex);
	enum err err;

	if (result == EBUSY)
		return ERR_OK;
	if (result == EOWNERDEAD)
		CHECK(pthread_mutex_consistent(mutex) == 0);
	else if (result != 0)
		return ERR_SYSTEM;
	err = reserve_locked(shared);
	CHECK(pthread_mutex_unlock(mutex) == 0);
	return err;
}
