/* SPDX-License-Identifier: Apache-2.0
 *
 * A new table is made beside the old one and takes its name as the last step, so that a death in
 * between leaves either of them whole. The rename goes through the file system of the objects,
 * since POSIX has none for them; leased is for Linux anyway. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "shm/bell.h"
#include "shm/mutex.h"
#include "shm/segment.h"

#define OBJECTS "/dev/shm"

static void new_name(const struct driver_shared *shared, char name[static SHM_SEGMENT_NAME + 8])
{
	snprintf(name, SHM_SEGMENT_NAME + 8, "%s.new", shared->segment);
}

static void init_header(struct shm_map *map, const struct shm_wish *wish, unsigned workers)
{
	struct shm_header *header = map->header;

	header->layout = SHM_LAYOUT;
	header->sizes = shm_segment_sizes();
	header->capacity = wish->capacity;
	header->waiters = wish->waiters;
	CHECK(getrandom(header->seed, sizeof header->seed, 0) == sizeof header->seed);
	shm_segment_boot_id(header->boot_id);
	shm_store(&header->wall_offset, clock_wall_us() - clock_boot_us());
	shm_store(&header->fence_next, 1);
	shm_store(&header->fence_limit, 1);
	shm_store(&header->slots, workers);
	shm_mutex_init(&header->fence_mutex);
}

static void init_parts(struct shm_map *map, unsigned workers)
{
	for (unsigned i = 0; i < SHM_STRIPES; i++) {
		shm_mutex_init(&map->stripe[i].mutex);
		shm_store(&map->soonest[i], CLOCK_NEVER);
	}
	for (unsigned i = 0; i < workers; i++)
		shm_bell_init(&map->slot[i].bell);
}

static enum err open_new(const struct driver_shared *shared, uint64_t size, int *fd)
{
	char name[SHM_SEGMENT_NAME + 8];

	new_name(shared, name);
	shm_unlink(name);
	*fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	return *fd >= 0 && ftruncate(*fd, (off_t)size) == 0 ? ERR_OK : ERR_SYSTEM;
}

enum err shm_segment_create(const struct driver_shared *shared, const struct shm_wish *wish,
			    struct shm_map *map, char *why)
{
	struct shm_shape shape = shm_shape_of(wish->capacity, wish->waiters);
	enum err err;
	int fd;

	err = open_new(shared, shape.size, &fd);
	if (err == ERR_OK)
		err = shm_map_open(map, fd, &shape);
	if (err == ERR_OK)
		err = shm_map_commit_start(map, shared->workers);
	if (err == ERR_OK) {
		init_header(map, wish, shared->workers);
		init_parts(map, shared->workers);
		return ERR_OK;
	}
	snprintf(why, DRIVER_WHY, "memory table \"%s\" for %llu leases: %s", shared->segment,
		 (unsigned long long)wish->capacity,
		 err == ERR_TABLE_FULL ? "not enough shared memory" : strerror(errno));
	return ERR_SYSTEM;
}

enum err shm_segment_publish(const struct driver_shared *shared, struct shm_map *map, char *why)
{
	char from[sizeof OBJECTS + SHM_SEGMENT_NAME + 8], to[sizeof from];
	char name[SHM_SEGMENT_NAME + 8];

	map->header->magic = SHM_MAGIC;
	new_name(shared, name);
	snprintf(from, sizeof from, OBJECTS "%s", name);
	snprintf(to, sizeof to, OBJECTS "%s", shared->segment);
	if (rename(from, to) == 0)
		return ERR_OK;
	snprintf(why, DRIVER_WHY, "memory table \"%s\": %s", shared->segment, strerror(errno));
	return ERR_SYSTEM;
}
