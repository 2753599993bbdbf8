/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/segment.h"

/* What stands under the segment's name. */
enum found {
	FOUND_NOTHING,
	FOUND_WHOLE,	  /* ours, of this boot, this layout */
	FOUND_OTHER_BOOT, /* ours, but its clock and its workers are gone */
	FOUND_DAMAGED,	  /* ours by its owner, but no table (or of another layout) */
	FOUND_FOREIGN,	  /* never to be touched */
};

void shm_segment_boot_id(char id[static SHM_BOOT_ID])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, id, SHM_BOOT_ID - 1);

	if (fd >= 0)
		close(fd);
	id[len > 0 ? len : 0] = 0;
	id[strcspn(id, "\n")] = 0;
}

uint32_t shm_segment_sizes(void)
{
	const size_t size[] = {sizeof(pthread_mutex_t),	  sizeof(pthread_cond_t),
			       sizeof(struct shm_header), sizeof(struct shm_stripe),
			       sizeof(struct shm_record), sizeof(struct shm_chunk),
			       sizeof(struct shm_waiter), sizeof(struct shm_slot)};
	uint32_t folded = 0;

	for (size_t i = 0; i < sizeof size / sizeof *size; i++)
		folded = folded * 31 + (uint32_t)size[i];
	return folded;
}

static bool sane_header(const struct shm_header *header, off_t size, struct shm_wish *had)
{
	*had = (struct shm_wish){.capacity = header->capacity, .waiters = header->waiters};
	return header->magic == SHM_MAGIC && header->layout == SHM_LAYOUT &&
	       header->sizes == shm_segment_sizes() && had->capacity > 0 &&
	       had->capacity <= UINT32_MAX && had->waiters > 0 &&
	       had->waiters <= SHM_WAITERS_MOST &&
	       shm_shape_of(had->capacity, had->waiters).size == (uint64_t)size;
}

/* Reads, and changes nothing. *fd stays open for what is ours. */
static enum found classify(const struct driver_shared *shared, int *fd, struct shm_wish *had,
			   uint64_t *fence_limit, char *why)
{
	static struct shm_header header;
	char boot_id[SHM_BOOT_ID];
	struct stat status;

	*fd = shm_open(shared->segment, O_RDWR, 0);
	if (*fd < 0 && errno == ENOENT)
		return FOUND_NOTHING;
	if (*fd < 0 || fstat(*fd, &status) != 0) {
		snprintf(why, DRIVER_WHY, "memory table \"%s\": %s", shared->segment,
			 errno == ELOOP ? "is a symbolic link" : strerror(errno));
		return FOUND_FOREIGN;
	}
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
		snprintf(why, DRIVER_WHY, "memory table \"%s\" belongs to another user (uid %lu)",
			 shared->segment, (unsigned long)status.st_uid);
		return FOUND_FOREIGN;
	}
	if ((status.st_mode & 077) || pread(*fd, &header, sizeof header, 0) != sizeof header ||
	    !sane_header(&header, status.st_size, had))
		return FOUND_DAMAGED;
	*fence_limit = shm_load(&header.fence_limit);
	shm_segment_boot_id(boot_id);
	header.boot_id[SHM_BOOT_ID - 1] = 0;
	return boot_id[0] && strcmp(boot_id, header.boot_id) == 0 ? FOUND_WHOLE : FOUND_OTHER_BOOT;
}

/* No lease is granted while one of the run before may still be live. */
static int64_t grace_end(const struct driver_shared *shared, int64_t grace)
{
	int64_t now = clock_boot_us(), end = now + grace;
	int64_t live_until = now + (shared->state.live_until_wall - clock_wall_us());

	if (shared->state.clean && live_until < end)
		end = live_until;
	return end > now ? end : 0;
}

static enum err make_new(struct driver_shared *shared, const struct shm_wish *wish,
			 uint64_t fence_limit, bool earlier_run, char *why)
{
	struct shm_map *map = &shared->map;
	enum err err = shm_segment_create(shared, wish, map, why);

	if (err != ERR_OK)
		return err;
	if (fence_limit < shared->state.fence_limit)
		fence_limit = shared->state.fence_limit;
	if (fence_limit == 0)
		fence_limit = 1;
	shm_store(&map->header->fence_next, fence_limit);
	shm_store(&map->header->fence_limit, fence_limit);
	if (shared->state.found || earlier_run)
		shm_store(&map->header->grace_until, grace_end(shared, wish->restart_grace_us));
	if (shm_load(&map->header->grace_until))
		log_warn(
		    "leases of an earlier run may still be live: no grants for a while",
		    LOG_TEXT("segment", shared->segment),
		    LOG_INT("ms", (shm_load(&map->header->grace_until) - clock_boot_us()) / 1000));
	return shm_segment_publish(shared, map, why);
}

static enum err make_larger(struct driver_shared *shared, struct shm_map *old,
			    const struct shm_wish *wish, char *why)
{
	enum err err = shm_segment_create(shared, wish, &shared->map, why);

	if (err != ERR_OK)
		return err;
	err = shm_segment_migrate(old, &shared->map);
	if (err == ERR_OK)
		return shm_segment_publish(shared, &shared->map, why);
	snprintf(why, DRIVER_WHY,
		 "memory table \"%s\" holds more live leases than fit a capacity of %" PRIu64,
		 shared->segment, wish->capacity);
	return ERR_SYSTEM;
}

/* Its clock must not have gone back either: another time namespace is another boot. */
static const char *adopt(struct shm_map *map, unsigned workers, enum found *found)
{
	int64_t now = clock_boot_us();

	for (unsigned i = 0; i < shm_load(&map->header->slots) && i < SHM_SLOTS; i++)
		if (shm_load(&map->slot[i].heartbeat) > now) {
			*found = FOUND_OTHER_BOOT;
			return "its clock is ahead";
		}
	*found = FOUND_DAMAGED;
	return shm_segment_adopt(map, workers);
}

static enum err go_on(struct driver_shared *shared, int fd, const struct shm_wish *wish,
		      const struct shm_wish *had, char *why)
{
	struct shm_shape shape = shm_shape_of(had->capacity, had->waiters);
	enum found found = FOUND_WHOLE;
	struct shm_map old;
	const char *wrong;
	uint64_t limit;
	enum err err;

	if (shm_map_open(&old, fd, &shape) != ERR_OK) {
		snprintf(why, DRIVER_WHY, "memory table \"%s\": %s", shared->segment,
			 strerror(errno));
		return ERR_SYSTEM;
	}
	if (shm_map_commit_start(&old, shared->workers) != ERR_OK) {
		snprintf(why, DRIVER_WHY, "memory table \"%s\": not enough shared memory",
			 shared->segment);
		return ERR_SYSTEM;
	}
	wrong = adopt(&old, shared->workers, &found);
	limit = shm_load(&old.header->fence_limit);
	if (!wrong && had->capacity == wish->capacity && had->waiters == wish->waiters) {
		shared->map = old;
		log_info("memory table found again", LOG_TEXT("segment", shared->segment));
		return ERR_OK;
	}
	if (wrong) {
		log_warn("memory table cannot be used and is made anew",
			 LOG_TEXT("segment", shared->segment), LOG_TEXT("why", wrong));
		err = make_new(shared, wish, limit, true, why);
	} else {
		err = make_larger(shared, &old, wish, why);
	}
	shm_map_close(&old);
	close(fd);
	return err;
}

enum err shm_segment_open(struct driver_shared *shared, const struct shm_wish *wish, char *why)
{
	struct shm_wish had = {0};
	uint64_t limit = 0;
	int fd;
	enum found found = classify(shared, &fd, &had, &limit, why);

	switch (found) {
	case FOUND_FOREIGN:
		return ERR_SYSTEM;
	case FOUND_WHOLE:
		return go_on(shared, fd, wish, &had, why);
	case FOUND_NOTHING:
		return make_new(shared, wish, 0, false, why);
	case FOUND_OTHER_BOOT:
		close(fd);
		return make_new(shared, wish, limit, true, why);
	case FOUND_DAMAGED:
		close(fd);
		log_warn("shared memory object is no lease table and is replaced",
			 LOG_TEXT("segment", shared->segment));
		return make_new(shared, wish, 0, false, why);
	}
	return ERR_BUG;
}
