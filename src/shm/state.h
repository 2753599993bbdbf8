/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/state.h - the small file beside the segment that survives a reboot: JSON, replaced as a whole
 * (written, synced, renamed, directory synced). */
#ifndef LEASED_SHM_STATE_H
#define LEASED_SHM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "shm/layout.h"

struct shm_state {
	bool found;		   /* there was an earlier run */
	char boot_id[SHM_BOOT_ID]; /* of that run */
	uint64_t fence_limit;	   /* no token from here on was given out */
	bool clean;		   /* it ended well, and then: */
	int64_t live_until_wall;   /* the last of its leases ends here */
};

/* Missing: ERR_OK and not found. ERR_SYSTEM with a line in `why`: unreadable, or not ours: never to
 * be taken for a first start. */
enum err shm_state_read(const char *path, struct shm_state *state, char *why, size_t size);

/* Durable when it returns ERR_OK. ERR_SYSTEM with errno. Blocks for the disk. */
enum err shm_state_write(const char *path, const struct shm_state *state);

#endif
