/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/shared.h - what the master prepares for one backend and every worker inherits by fork. */
#ifndef LEASED_SHM_SHARED_H
#define LEASED_SHM_SHARED_H

#include <limits.h>

#include "core/driver.h"
#include "shm/map.h"
#include "shm/state.h"

enum { SHM_SEGMENT_NAME = 200 };

struct driver_shared {
	char segment[SHM_SEGMENT_NAME]; /* "/name" */
	char state_path[PATH_MAX];
	int lock_fd; /* exclusive while any process of this tree lives */
	int fd;
	unsigned workers;
	struct shm_map map;
	struct shm_state state; /* as in the file, but for fence_limit */
};

/* What the options say. */
struct shm_wish {
	uint64_t capacity, waiters;
	int64_t restart_grace_us;
};

#endif
