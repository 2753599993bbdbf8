/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/check.h"
#include "shm/timer.h"

bool shm_timers_reserve(struct shm_timers *timers, size_t more)
{
	size_t room = timers->room ? timers->room : 64;
	struct shm_timer **heap;

	if (timers->count + more < timers->room)
		return true;
	while (room <= timers->count + more)
		room *= 2;
	heap = realloc(timers->heap, room * sizeof *heap);
	if (!heap)
		return false;
	timers->heap = heap;
	timers->room = room;
	return true;
}

static void put(struct shm_timers *timers, size_t place, struct shm_timer *timer)
{
	timers->heap[place] = timer;
	timer->place = place;
}

static void rise(struct shm_timers *timers, struct shm_timer *timer)
{
	size_t place = timer->place;

	while (place > 1 && timers->heap[place / 2]->when > timer->when) {
		put(timers, place, timers->heap[place / 2]);
		place /= 2;
	}
	put(timers, place, timer);
}

static void sink(struct shm_timers *timers, struct shm_timer *timer)
{
	size_t place = timer->place, child;

	while ((child = place * 2) <= timers->count) {
		if (child < timers->count &&
		    timers->heap[child + 1]->when < timers->heap[child]->when)
			child++;
		if (timers->heap[child]->when >= timer->when)
			break;
		put(timers, place, timers->heap[child]);
		place = child;
	}
	put(timers, place, timer);
}

void shm_timers_set(struct shm_timers *timers, struct shm_timer *timer, int64_t when)
{
	timer->when = when;
	if (!timer->place) {
		CHECK(timers->count + 1 < timers->room);
		put(timers, ++timers->count, timer);
	}
	rise(timers, timer);
	sink(timers, timer);
}

void shm_timers_clear(struct shm_timers *timers, struct shm_timer *timer)
{
	size_t place = timer->place;
	struct shm_timer *last;

	if (!place)
		return;
	timer->place = 0;
	last = timers->heap[timers->count--];
	if (last == timer)
		return;
	put(timers, place, last);
	rise(timers, last);
	sink(timers, last);
}

struct shm_timer *shm_timers_first(const struct shm_timers *timers)
{
	return timers->count ? timers->heap[1] : NULL;
}

void shm_timers_free(struct shm_timers *timers)
{
	free(timers->heap);
	*timers = (struct shm_timers){NULL, 0, 0};
}
