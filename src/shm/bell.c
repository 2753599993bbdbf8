/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "shm/bell.h"
#include "shm/mutex.h"

enum { RING_WAIT_US = 2000, RENEW_WAIT_US = 1000000 };

static void fresh_cond(pthread_cond_t *cond)
{
	pthread_condattr_t kind;

	pthread_condattr_init(&kind);
	pthread_condattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
	CHECK(pthread_cond_init(cond, &kind) == 0);
	pthread_condattr_destroy(&kind);
}

void shm_bell_init(struct shm_bell *bell)
{
	memset(bell, 0, sizeof *bell);
	shm_mutex_init(&bell->mutex);
}

/* A variable is prepared before it is counted: who dies in between leaves an unused one. */
static void next_cond(struct shm_bell *bell)
{
	uint32_t used = shm_load(&bell->used);

	if (used < SHM_CONDS)
		fresh_cond(&bell->cond[used]);
	if (used <= SHM_CONDS)
		shm_store(&bell->used, used + 1);
}

/* Whoever died with the mutex may have died inside the current variable. */
static bool mend(struct shm_bell *bell, int result)
{
	if (result != EOWNERDEAD)
		return result == 0;
	next_cond(bell);
	CHECK(pthread_mutex_consistent(&bell->mutex) == 0);
	return true;
}

static bool lock(struct shm_bell *bell, int64_t us)
{
	return mend(bell, shm_mutex_lock(&bell->mutex, us));
}

/* "rung, then asleep?" here and "asleep, then rung?" in the waker: one of both sees the other. */
void shm_bell_ring(struct shm_bell *bell)
{
	uint32_t used;

	atomic_store(&bell->rung, 1);
	if (!atomic_load(&bell->asleep) || !lock(bell, RING_WAIT_US))
		return;
	used = shm_load(&bell->used);
	if (used > 0 && used <= SHM_CONDS && atomic_load(&bell->asleep))
		pthread_cond_signal(&bell->cond[used - 1]);
	CHECK(pthread_mutex_unlock(&bell->mutex) == 0);
}

bool shm_bell_ring_all(struct shm_actor *actor)
{
	bool own = false;

	for (uint64_t left = actor->ring; left; left &= left - 1) {
		unsigned slot = (unsigned)__builtin_ctzll(left);

		if (slot == actor->slot)
			own = true;
		else
			shm_bell_ring(&actor->map->slot[slot].bell);
	}
	actor->ring = 0;
	return own;
}

enum err shm_bell_renew(struct shm_bell *bell, uint32_t *cond)
{
	if (!lock(bell, RENEW_WAIT_US))
		return ERR_BACKEND_DOWN;
	next_cond(bell);
	*cond = shm_load(&bell->used) - 1;
	atomic_store(&bell->asleep, 0);
	CHECK(pthread_mutex_unlock(&bell->mutex) == 0);
	return ERR_OK;
}

bool shm_bell_sleep(struct shm_bell *bell, uint32_t cond, int64_t us)
{
	struct timespec until = shm_mutex_after(us);
	bool current;

	if (!lock(bell, us))
		return true;
	current = shm_load(&bell->used) == cond + 1;
	atomic_store(&bell->asleep, 1);
	if (current && !atomic_load(&bell->rung)) {
		int result = pthread_cond_timedwait(&bell->cond[cond], &bell->mutex, &until);

		if (!mend(bell, result == ETIMEDOUT ? 0 : result))
			return false;
	}
	atomic_store(&bell->asleep, 0);
	atomic_store(&bell->rung, 0);
	current = shm_load(&bell->used) == cond + 1;
	CHECK(pthread_mutex_unlock(&bell->mutex) == 0);
	return current;
}
