/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/timer.h - a heap of things that are due at a time of the boot clock. One thread. */
#ifndef LEASED_PG_TIMER_H
#define LEASED_PG_TIMER_H

#include <stddef.h>
#include <stdint.h>

struct pg_engine;

struct pg_timer {
	int64_t when;
	size_t place; /* from 1; 0 = not set */
	void (*due)(struct pg_engine *engine, struct pg_timer *timer);
};

struct pg_timers {
	struct pg_timer **at; /* at[0] is not used */
	size_t count, room;
};

/* Sets or moves; `due` will be called once. O(log n). Memory that runs out ends the process. */
void pg_timers_set(struct pg_timers *timers, struct pg_timer *timer, int64_t when);
void pg_timers_clear(struct pg_timers *timers, struct pg_timer *timer);
/* The nearest that is due, no longer set; NULL = none. */
struct pg_timer *pg_timers_take(struct pg_timers *timers, int64_t now);
/* When the nearest is due, or CLOCK_NEVER. */
int64_t pg_timers_next(const struct pg_timers *timers);
void pg_timers_free(struct pg_timers *timers);

#endif
