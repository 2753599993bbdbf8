/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/watch.h - the keys on which this worker has waiters, one watch per key however many wait: its
 * timer fires at the lease's deadline, and now and then in between. Private memory, one thread. */
#ifndef LEASED_SHM_WATCH_H
#define LEASED_SHM_WATCH_H

#include "shm/timer.h"

struct shm_watch {
	struct shm_timer timer; /* first: kind SHM_TIMER_WATCH */
	uint64_t hash;		/* of the key */
	uint32_t record;
	uint32_t waiters; /* of this worker */
	struct shm_watch *next;
	size_t place; /* in `all` */
};

struct shm_watches {
	struct shm_watch **table; /* by record, chained */
	size_t table_size;	  /* 0 or a power of two */
	struct shm_watch **all;	  /* for walks over everything */
	size_t count, room;
	struct shm_watch *spare;
};

/* Makes sure that the next shm_watches_join cannot fail. False: no memory. */
bool shm_watches_reserve(struct shm_watches *watches);

/* One more waiter on `record`; the watch is new when its `waiters` is 1. */
struct shm_watch *shm_watches_join(struct shm_watches *watches, uint32_t record, uint64_t hash);

/* One less; after the last one the watch is gone: clear its timer before. */
void shm_watches_leave(struct shm_watches *watches, struct shm_watch *watch);

void shm_watches_free(struct shm_watches *watches);

#endif
