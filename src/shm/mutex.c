/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "shm/mutex.h"

#define SLICE_US INT64_C(20000)

void shm_mutex_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t kind;

	memset(mutex, 0, sizeof *mutex);
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	CHECK(pthread_mutex_init(mutex, &kind) == 0);
	pthread_mutexattr_destroy(&kind);
}

struct timespec shm_mutex_after(int64_t us)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += us / CLOCK_SECOND;
	at.tv_nsec += us % CLOCK_SECOND * 1000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	return at;
}

static int lock_until(pthread_mutex_t *mutex, const struct timespec *until)
{
#ifdef __SANITIZE_THREAD__
	/* The thread sanitizer of gcc 12 does not know pthread_mutex_clocklock and would call every
	 * lock taken by it a mistake. */
	const struct timespec pause = {0, 20000};
	int result = EBUSY;

	(void)until;
	for (int i = 0; i < 1000 && (result = pthread_mutex_trylock(mutex)) == EBUSY; i++)
		nanosleep(&pause, NULL);
	return result == EBUSY ? ETIMEDOUT : result;
#else
	return pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, until);
#endif
}

int shm_mutex_lock(pthread_mutex_t *mutex, int64_t us)
{
	int result = pthread_mutex_trylock(mutex);

	if (result != EBUSY)
		return result;
	for (result = ETIMEDOUT; result == ETIMEDOUT && us > 0; us -= SLICE_US) {
		struct timespec until = shm_mutex_after(us < SLICE_US ? us : SLICE_US);

		result = lock_until(mutex, &until);
	}
	return result;
}
