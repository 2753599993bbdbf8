/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking after the keys that this worker waits for: their deadlines, and grants to workers that
 * died or were stopped before they saw them. */
#include "shm/slot.h"
#include "shm/worker.h"

#define LOOK_US	  INT64_C(2000000) /* every key, whatever happens */
#define SOON_US	  INT64_C(50000)   /* it is over and could not be handed on */
#define PATROL_US INT64_C(1000000)

enum { PATROL_STEP = 4096 };

void shm_worker_look(struct driver_worker *worker, struct shm_watch *watch)
{
	int64_t now = worker->map.clock(), when;
	bool suspect;

	when = shm_table_peek(&worker->map, watch->record, now, &suspect);
	if (when <= now || suspect) {
		shm_table_look(&worker->actor, watch->hash, watch->record);
		shm_worker_ring(worker);
		now = worker->map.clock();
		when = shm_table_peek(&worker->map, watch->record, now, &suspect);
	}
	if (when <= now)
		when = now + SOON_US;
	if (when > now + LOOK_US)
		when = now + LOOK_US;
	shm_timers_set(&worker->timers, &watch->timer, when);
}

static bool somebody_stopped(const struct driver_worker *worker, int64_t now)
{
	unsigned slots = shm_load(&worker->map.header->slots);

	for (unsigned i = 0; i < slots; i++)
		if (shm_load(&worker->map.slot[i].attached) &&
		    !shm_slot_responsive(&worker->map, i, now))
			return true;
	return false;
}

void shm_worker_patrol(struct driver_worker *worker, int64_t now)
{
	uint32_t burials = shm_load(&worker->map.header->burials);
	bool start = burials != worker->burials;

	if (worker->watches.count == 0) {
		worker->burials = burials;
		worker->patrol_left = 0;
		return;
	}
	if (!start && now >= worker->patrol_at) {
		worker->patrol_at = now + PATROL_US;
		start = somebody_stopped(worker, now);
	}
	worker->burials = burials;
	if (start)
		worker->patrol_left = worker->watches.count;
	for (unsigned i = 0; i < PATROL_STEP && worker->patrol_left > 0; i++) {
		struct shm_watch *watch;
		bool suspect;

		if (--worker->patrol_left >= worker->watches.count)
			continue;
		watch = worker->watches.all[worker->patrol_left];
		shm_table_peek(&worker->map, watch->record, now, &suspect);
		if (suspect)
			shm_worker_look(worker, watch);
	}
}
