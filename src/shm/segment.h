/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/segment.h - the birth of the table and what a start finds of the run before. Master only,
 * before any worker exists. Functions that fail write one line to `why` (DRIVER_WHY bytes). */
#ifndef LEASED_SHM_SEGMENT_H
#define LEASED_SHM_SEGMENT_H

#include "shm/shared.h"

/* Takes the lock object "<segment>.lock" for the whole process tree; waits up to 3 seconds for the
 * workers of a killed master to die. ERR_SYSTEM: served by another one, or not ours. */
enum err shm_segment_lock(struct driver_shared *shared, char *why);

/* Finds the segment or makes it; shared->map is ready. Needs shared->state as read. */
enum err shm_segment_open(struct driver_shared *shared, const struct shm_wish *wish, char *why);

/* create.c: an empty table at "<segment>.new". */
enum err shm_segment_create(const struct driver_shared *shared, const struct shm_wish *wish,
			    struct shm_map *map, char *why);
/* Gives it its name, in place of whatever has it. */
enum err shm_segment_publish(const struct driver_shared *shared, struct shm_map *map, char *why);

/* adopt.c: makes a whole segment of this boot ready for new workers, for whom memory is committed.
 * NULL, or what is wrong. */
const char *shm_segment_adopt(struct shm_map *map, unsigned workers);

/* migrate.c: copies all live leases. ERR_TABLE_FULL: they do not fit. */
enum err shm_segment_migrate(struct shm_map *from, struct shm_map *to);

/* This boot's id; "" when the system does not tell. */
void shm_segment_boot_id(char id[static SHM_BOOT_ID]);

/* Sizes of all structures, folded. */
uint32_t shm_segment_sizes(void);

#endif
