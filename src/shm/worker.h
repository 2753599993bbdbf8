/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/worker.h - the private side of the driver in one worker process.
 * Threads: the event loop (everything that is not marked), the waker (waker.c) and the chore thread
 * (chore.c), which call nothing here but host->kick. */
#ifndef LEASED_SHM_WORKER_H
#define LEASED_SHM_WORKER_H

#include "shm/shared.h"
#include "shm/table.h"
#include "shm/watch.h"

struct shm_waker;
struct shm_chore;

/* A parked acquire; one for each waiter node of the slot, at the same place. */
struct shm_parked {
	struct shm_timer timer; /* first: kind SHM_TIMER_WAIT; end of the wait, or another try */
	struct op *op;		/* NULL: ended for its caller, its node still to be withdrawn */
	uint64_t hash;
	int64_t wait_deadline;
	struct shm_watch *watch; /* NULL: not parked */
	struct shm_parked *next, *prev;
};

struct driver_worker {
	struct driver_shared *shared;
	struct driver_host host;
	struct shm_map map;
	struct shm_actor actor;
	struct shm_slot *slot;

	struct shm_parked *parked; /* by number of the node in the slot */
	struct shm_parked *active; /* all that wait */
	uint32_t *idle;		   /* nodes given back */
	uint32_t idle_count;
	uint32_t high, committed; /* nodes ever used; that have memory */
	struct shm_timers timers;
	struct shm_watches watches;

	bool draining;
	bool mail_for_me;   /* posted to ourselves since the last poll */
	uint32_t burials;   /* seen */
	size_t patrol_left; /* watches still to be looked at */
	int64_t patrol_at;  /* not again before */
	int64_t polled;

	struct shm_waker *waker;
	struct shm_chore *chore;
};

/* --- waiter.c ------------------------------------------------------------------------------ */

/* OP_ACQUIRE: as driver.submit. */
enum err shm_worker_acquire(struct driver_worker *worker, struct op *op);
/* Ends a parked op with `result` (unless its grant was there already and `take` is set). */
void shm_worker_end(struct driver_worker *worker, struct op *op, enum err result);
/* Mail for one of our nodes. */
void shm_worker_mail(struct driver_worker *worker, uint32_t node);
/* The timer of a wait fired. */
void shm_worker_wait_over(struct driver_worker *worker, struct shm_parked *parked);

/* --- patrol.c ------------------------------------------------------------------------------ */

/* Looks at one key: hands on what is over, sets the watch's timer. */
void shm_worker_look(struct driver_worker *worker, struct shm_watch *watch);
/* When a worker died or stopped: looks at all keys, a part per call. */
void shm_worker_patrol(struct driver_worker *worker, int64_t now);

/* --- worker.c ------------------------------------------------------------------------------ */

/* Rings those who got mail. */
void shm_worker_ring(struct driver_worker *worker);
/* The name of the op's key. */
void shm_worker_name(const struct driver_worker *worker, const struct op *op,
		     struct shm_name *name);

enum err shm_worker_attach(struct driver_shared *shared, const struct driver_host *host,
			   struct driver_worker **worker);
enum err shm_worker_submit(struct driver_worker *worker, struct op *op);
void shm_worker_cancel(struct driver_worker *worker, struct op *op);
void shm_worker_poll(struct driver_worker *worker);
int64_t shm_worker_next(struct driver_worker *worker);
void shm_worker_drain(struct driver_worker *worker);
void shm_worker_detach(struct driver_worker *worker);
enum err shm_worker_health(struct driver_worker *worker);

#endif
