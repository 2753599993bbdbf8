/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/driver.h"
#include "shm/fence.h"
#include "shm/record.h"
#include "shm/segment.h"
#include "shm/worker.h"

enum { OPTION_SEGMENT, OPTION_CAPACITY, OPTION_WAITERS, OPTION_GRACE };

static const struct option_spec options[] = {
    [OPTION_SEGMENT] = {.name = "segment", .kind = OPTION_TEXT},
    [OPTION_CAPACITY] = {.name = "capacity",
			 .kind = OPTION_COUNT,
			 .fallback.number = 1000000,
			 .least = 1,
			 .most = 50000000},
    [OPTION_WAITERS] = {.name = "waiters",
			.kind = OPTION_COUNT,
			.fallback.number = 131072,
			.least = 1,
			.most = SHM_WAITERS_MOST},
    [OPTION_GRACE] = {.name = "restart_grace",
		      .kind = OPTION_DURATION,
		      .fallback.number = 30 * CLOCK_SECOND,
		      .least = 0,
		      .most = 600 * CLOCK_SECOND},
    {.name = NULL},
};

/* One object in the flat space of POSIX shared memory: "/name". */
static enum err set_segment(struct driver_shared *shared, const char *backend, const char *wish,
			    char *why)
{
	const char *slash = wish && wish[0] == '/' ? "" : "/";
	int len = wish ? snprintf(shared->segment, sizeof shared->segment, "%s%s", slash, wish)
		       : snprintf(shared->segment, sizeof shared->segment, "/leased-%lu-%s",
				  (unsigned long)geteuid(), backend);

	if (len > 1 && len < (int)sizeof shared->segment && !strchr(shared->segment + 1, '/') &&
	    shared->segment[1] != '.')
		return ERR_OK;
	snprintf(why, DRIVER_WHY,
		 "\"%.200s\" is no name for a memory table (\"/name\", at most %d bytes)",
		 wish ? wish : backend, SHM_SEGMENT_NAME - 1);
	return ERR_SYSTEM;
}

static enum err read_state(struct driver_shared *shared, const char *state_dir, char *why)
{
	int len = snprintf(shared->state_path, sizeof shared->state_path, "%s/%s.json", state_dir,
			   shared->segment + 1);

	if (len >= (int)sizeof shared->state_path) {
		snprintf(why, DRIVER_WHY, "the name of the state directory is too long");
		return ERR_SYSTEM;
	}
	return shm_state_read(shared->state_path, &shared->state, why, DRIVER_WHY);
}

/* From now on the file says: a run is under way. It is durable before any token is given out. */
static enum err begin(struct driver_shared *shared, char *why)
{
	struct shm_header *header = shared->map.header;
	uint64_t limit = atomic_load(&header->fence_next) + SHM_FENCE_BLOCK;

	if (limit < shared->state.fence_limit)
		limit = shared->state.fence_limit;
	shm_segment_boot_id(shared->state.boot_id);
	shared->state.found = true;
	shared->state.clean = false;
	shared->state.live_until_wall = 0;
	shared->state.fence_limit = limit;
	if (shm_state_write(shared->state_path, &shared->state) != ERR_OK) {
		snprintf(why, DRIVER_WHY, "state file %.400s: %s", shared->state_path,
			 strerror(errno));
		return ERR_SYSTEM;
	}
	shm_store(&header->fence_limit, limit);
	shm_store(&header->wall_offset, clock_wall_us() - clock_boot_us());
	return ERR_OK;
}

static void discard(struct driver_shared *shared)
{
	shm_map_close(&shared->map);
	if (shared->map.fd > 0)
		close(shared->map.fd);
	if (shared->lock_fd >= 0)
		close(shared->lock_fd);
	free(shared);
}

static enum err prepare(const struct driver_place *place, const union option_value *value,
			struct driver_shared **out, char *why)
{
	struct driver_shared *shared = calloc(1, sizeof *shared);
	struct shm_wish wish = {.capacity = (uint64_t)value[OPTION_CAPACITY].number,
				.waiters = (uint64_t)value[OPTION_WAITERS].number,
				.restart_grace_us = value[OPTION_GRACE].number};
	enum err err;

	if (!shared) {
		snprintf(why, DRIVER_WHY, "out of memory");
		return ERR_SYSTEM;
	}
	shared->lock_fd = -1;
	shared->workers = place->workers;
	if ((err = set_segment(shared, place->backend, value[OPTION_SEGMENT].text, why)) ==
		ERR_OK &&
	    (err = shm_segment_lock(shared, why)) == ERR_OK &&
	    (err = read_state(shared, place->state_dir, why)) == ERR_OK &&
	    (err = shm_segment_open(shared, &wish, why)) == ERR_OK &&
	    (err = begin(shared, why)) == ERR_OK) {
		*out = shared;
		return ERR_OK;
	}
	discard(shared);
	return err;
}

/* Without a lock: from now on its waiters count as dead, and the others look after their keys. What
 * else it left is for its successor. */
static void bury(struct driver_shared *shared, unsigned slot)
{
	struct shm_map *map = &shared->map;

	if (slot >= shm_load(&map->header->slots) || !shm_load(&map->slot[slot].attached))
		return;
	shm_store(&map->slot[slot].attached, 0);
	shm_store(&map->slot[slot].generation, shm_load(&map->slot[slot].generation) + 1);
	atomic_fetch_add(&map->header->burials, 1);
}

static int64_t last_deadline(const struct shm_map *map)
{
	uint32_t count = shm_load(&map->pool[SHM_RECORDS].head->committed);
	int64_t last = 0;

	for (uint32_t index = 1; index <= count; index++) {
		struct shm_record *record = shm_record_at(map, index);
		uint32_t seq = shm_load(&record->seq);
		int64_t deadline = shm_load(&shm_body_of(record, seq)->deadline);

		if ((seq & SHM_SEQ_LIVE) && deadline > last)
			last = deadline;
	}
	return last;
}

/* The table stays: its leases are found again by the next start. */
static void close_shared(struct driver_shared *shared)
{
	struct shm_map *map = &shared->map;

	shared->state.clean = true;
	shared->state.live_until_wall = last_deadline(map) + (clock_wall_us() - clock_boot_us());
	shared->state.fence_limit = shm_load(&map->header->fence_limit);
	if (shm_state_write(shared->state_path, &shared->state) != ERR_OK)
		log_warn("cannot write the state file", LOG_TEXT("file", shared->state_path),
			 LOG_TEXT("why", strerror(errno)));
	discard(shared);
}

const struct driver shm_driver = {
    .name = "memory",
    .options = options,
    .prepare = prepare,
    .attach = shm_worker_attach,
    .submit = shm_worker_submit,
    .cancel = shm_worker_cancel,
    .poll = shm_worker_poll,
    .next = shm_worker_next,
    .drain = shm_worker_drain,
    .detach = shm_worker_detach,
    .health = shm_worker_health,
    .bury = bury,
    .close = close_shared,
};
