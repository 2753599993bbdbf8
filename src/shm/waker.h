/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/waker.h - the one thread of a worker that sleeps on the slot's bell, and turns its ringing
 * into host->wake. It also keeps the slot's heartbeat and the offset of the wall clock. */
#ifndef LEASED_SHM_WAKER_H
#define LEASED_SHM_WAKER_H

#include "core/driver.h"
#include "shm/map.h"

#define SHM_WAKER_TICK_US INT64_C(100000)

struct shm_waker;

/* Starts it. NULL: no memory, no thread or no bell. */
struct shm_waker *shm_waker_start(struct shm_map *map, const struct driver_host *host);

/* Event loop: replaces a thread that has not been seen for some ticks, since the bell's variable
 * may have died under it. */
void shm_waker_check(struct shm_waker *waker);

/* The threads have ended when it returns; one that is stuck for good is left behind (it calls
 * nothing any more), and its memory with it. */
void shm_waker_stop(struct shm_waker *waker);

#endif
