/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/shm_kill.h - runs a function in a child, one instruction at a time, and kills it there. */
#ifndef LEASED_T_SHM_KILL_H
#define LEASED_T_SHM_KILL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shm/map.h"

/* The parts of a small table that its operations can touch, for saving and comparing. */
struct shm_image {
	const struct shm_map *map;
	struct shm_part {
		uint8_t *at;
		size_t size;
	} part[32];
	size_t parts;
	size_t size;
};

/* `slots` slots, `nodes` waiters of each, all records and `chunks` chunks; all committed. */
void shm_image_init(struct shm_image *image, const struct shm_map *map, unsigned slots,
		    uint32_t nodes, uint32_t chunks);
/* A copy, to be freed. */
uint8_t *shm_image_save(const struct shm_image *image);
void shm_image_restore(const struct shm_image *image, const uint8_t *copy);

/* Brings `copy` up to date; true when anything changed. */
int shm_image_moved(const struct shm_image *image, uint8_t *copy);

/* Makes the locks that `pid` holds those of a dead owner, exactly as the kernel does when it dies.
 * The process may go on when the image is restored: so one run is good for many deaths. */
void shm_image_bury(const struct shm_map *map, pid_t pid);

/* Called after each instruction, the child being stopped. */
typedef void shm_watch_f(void *arg, long step, pid_t pid);

/* Runs f(arg) in a child, killed after `steps` instructions of it; `watch` may be NULL. Returns the
 * instructions run, or -(all of them) when it ended before. */
long shm_kill_at(void (*f)(void *arg), void *arg, long steps, shm_watch_f *watch, void *watch_arg);

#endif
