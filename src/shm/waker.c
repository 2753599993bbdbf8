/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/bell.h"
#include "shm/slot.h"
#include "shm/waker.h"

#define TICK_LATE_US	INT64_C(400000) /* not seen for so long: stuck */
#define POLL_US		INT64_C(5000)	/* without a bell */
#define OFFSET_SLACK_US INT64_C(1000)	/* less is noise: handles shall not jitter */
#define STOP_US		INT64_C(1000000)

struct shm_waker {
	struct shm_map *map;
	struct driver_host host;
	struct shm_slot *slot;
	_Atomic int64_t seen;	 /* last turn of the loop */
	_Atomic uint32_t serial; /* of the thread that counts; others end */
	_Atomic uint32_t threads;
	_Atomic bool stop;
	uint32_t burials; /* waker thread */
};

struct birth {
	struct shm_waker *waker;
	uint32_t serial;
};

static void keep_time(struct shm_waker *waker)
{
	int64_t now = waker->map->clock();
	int64_t offset = clock_wall_us() - clock_boot_us();
	int64_t known = shm_load(&waker->map->header->wall_offset);

	shm_store(&waker->slot->heartbeat, now);
	atomic_store(&waker->seen, clock_boot_us());
	if (offset - known > OFFSET_SLACK_US || known - offset > OFFSET_SLACK_US)
		shm_store(&waker->map->header->wall_offset, offset);
}

static bool counts(const struct shm_waker *waker, uint32_t serial)
{
	return !atomic_load(&waker->stop) && atomic_load(&waker->serial) == serial;
}

static void nap(void)
{
	const struct timespec pause = {0, POLL_US * 1000};

	nanosleep(&pause, NULL);
}

/* One sleep; gets another variable when this one is not the bell's any more. */
static void sleep_once(struct shm_waker *waker, uint32_t *cond)
{
	if (*cond < SHM_BELL_USED_UP &&
	    (shm_bell_sleep(&waker->slot->bell, *cond, SHM_WAKER_TICK_US) ||
	     shm_bell_renew(&waker->slot->bell, cond) == ERR_OK))
		return;
	nap();
}

static void *run(void *arg)
{
	struct birth birth = *(struct birth *)arg;
	struct shm_waker *waker = birth.waker;
	uint32_t cond = SHM_BELL_USED_UP;

	free(arg);
	if (shm_bell_renew(&waker->slot->bell, &cond) != ERR_OK)
		cond = SHM_BELL_USED_UP;
	while (counts(waker, birth.serial)) {
		uint32_t burials = shm_load(&waker->map->header->burials);

		keep_time(waker);
		if ((shm_slot_mail(waker->map, waker->host.slot) || burials != waker->burials) &&
		    counts(waker, birth.serial))
			waker->host.wake(waker->host.arg);
		waker->burials = burials;
		sleep_once(waker, &cond);
	}
	atomic_fetch_sub(&waker->threads, 1);
	return NULL;
}

static bool start_thread(struct shm_waker *waker)
{
	struct birth *birth = malloc(sizeof *birth);
	sigset_t all, old;
	pthread_t thread;
	bool good;

	if (!birth)
		return false;
	*birth = (struct birth){waker, atomic_fetch_add(&waker->serial, 1) + 1};
	atomic_fetch_add(&waker->threads, 1);
	atomic_store(&waker->seen, clock_boot_us());
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	good = pthread_create(&thread, NULL, run, birth) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (good) {
		pthread_detach(thread);
		return true;
	}
	atomic_fetch_sub(&waker->threads, 1);
	free(birth);
	return false;
}

struct shm_waker *shm_waker_start(struct shm_map *map, const struct driver_host *host)
{
	struct shm_waker *waker = calloc(1, sizeof *waker);

	if (!waker)
		return NULL;
	waker->map = map;
	waker->host = *host;
	waker->slot = &map->slot[host->slot];
	waker->burials = shm_load(&map->header->burials);
	if (start_thread(waker))
		return waker;
	free(waker);
	return NULL;
}

void shm_waker_check(struct shm_waker *waker)
{
	if (clock_boot_us() - atomic_load(&waker->seen) <= TICK_LATE_US)
		return;
	log_warn("waker thread does not answer and is replaced", LOG_INT("slot", waker->host.slot));
	start_thread(waker);
}

void shm_waker_stop(struct shm_waker *waker)
{
	const struct timespec pause = {0, 1000000};
	int64_t until = clock_boot_us() + STOP_US;

	atomic_store(&waker->stop, true);
	while (atomic_load(&waker->threads) > 0 && clock_boot_us() < until) {
		shm_bell_ring(&waker->slot->bell);
		nanosleep(&pause, NULL);
	}
	if (atomic_load(&waker->threads) == 0)
		free(waker);
}
