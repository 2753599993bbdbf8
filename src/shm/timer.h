/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/timer.h - all deadlines of one worker in a binary heap. Private memory, one thread. */
#ifndef LEASED_SHM_TIMER_H
#define LEASED_SHM_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shm_timer_kind { SHM_TIMER_WAIT, SHM_TIMER_WATCH };

/* Lies inside what it is for. */
struct shm_timer {
	int64_t when; /* boot clock */
	size_t place; /* in the heap, from 1; 0 = not set */
	enum shm_timer_kind kind;
};

struct shm_timers {
	struct shm_timer **heap; /* from [1] */
	size_t count, room;
};

/* Makes sure that `more` timers can be set. False: no memory. */
bool shm_timers_reserve(struct shm_timers *timers, size_t more);

/* Sets or moves `timer`. There must be room. O(log n), as is the next. */
void shm_timers_set(struct shm_timers *timers, struct shm_timer *timer, int64_t when);
void shm_timers_clear(struct shm_timers *timers, struct shm_timer *timer);

/* The earliest, or NULL. */
struct shm_timer *shm_timers_first(const struct shm_timers *timers);
void shm_timers_free(struct shm_timers *timers);

#endif
