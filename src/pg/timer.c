/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "pg/timer.h"

static void put(struct pg_timers *timers, size_t place, struct pg_timer *timer)
{
	timers->at[place] = timer;
	timer->place = place;
}

static void rise(struct pg_timers *timers, size_t place)
{
	struct pg_timer *timer = timers->at[place];

	for (; place > 1 && timers->at[place / 2]->when > timer->when; place /= 2)
		put(timers, place, timers->at[place / 2]);
	put(timers, place, timer);
}

static void sink(struct pg_timers *timers, size_t place)
{
	struct pg_timer *timer = timers->at[place];

	for (size_t child; (child = 2 * place) <= timers->count; place = child) {
		if (child < timers->count && timers->at[child + 1]->when < timers->at[child]->when)
			child++;
		if (timers->at[child]->when >= timer->when)
			break;
		put(timers, place, timers->at[child]);
	}
	put(timers, place, timer);
}

void pg_timers_set(struct pg_timers *timers, struct pg_timer *timer, int64_t when)
{
	if (timer->place == 0) {
		if (timers->count + 1 >= timers->room) {
			timers->room = timers->room ? 2 * timers->room : 64;
			timers->at = realloc(timers->at, timers->room * sizeof(struct pg_timer *));
			CHECK(timers->at);
		}
		put(timers, ++timers->count, timer);
	}
	timer->when = when;
	rise(timers, timer->place);
	sink(timers, timer->place);
}

void pg_timers_clear(struct pg_timers *timers, struct pg_timer *timer)
{
	size_t place = timer->place;
	struct pg_timer *last;

	if (place == 0)
		return;
	timer->place = 0;
	last = timers->at[timers->count--];
	if (last == timer)
		return;
	put(timers, place, last);
	rise(timers, place);
	sink(timers, last->place);
}

struct pg_timer *pg_timers_take(struct pg_timers *timers, int64_t now)
{
	struct pg_timer *first = timers->count ? timers->at[1] : NULL;

	if (!first || first->when > now)
		return NULL;
	pg_timers_clear(timers, first);
	return first;
}

int64_t pg_timers_next(const struct pg_timers *timers)
{
	return timers->count ? timers->at[1]->when : CLOCK_NEVER;
}

void pg_timers_free(struct pg_timers *timers)
{
	free(timers->at);
	*timers = (struct pg_timers){NULL, 0, 0};
}
