/* SPDX-License-Identifier: Apache-2.0
 *
 * core/driver.h - what a lease store must offer. src/shm and src/pg implement it; only src/main.c
 * names them.
 *
 * Life: the master calls prepare once per backend, before any fork; each worker (and its successor)
 * calls attach after its fork; detach or death ends a worker's part; the master calls close at the
 * end. A reload that changes a backend's options asks for a restart.
 *
 * Threads: submit, cancel, poll, next, drain run on one thread, the worker's event loop, and must
 * not block there longer than a stripe lock (microseconds). A driver may have threads of its own;
 * they never call done, they call host->kick, and the event loop then calls poll; or host->wake, in
 * which the caller's thread is the event loop for one poll while the other one sleeps. */
#ifndef LEASED_CORE_DRIVER_H
#define LEASED_CORE_DRIVER_H

#include "core/op.h"
#include "core/option.h"

enum { DRIVER_WHY = 512, DRIVER_WORKERS_MAX = 64 };

/* What a driver may ask of the worker it runs in. */
struct driver_host {
	/* Any thread: makes the event loop call poll soon. Cheap, idempotent, never blocks. Must
	 * not be called after detach returned. */
	void (*kick)(void *arg);
	/* As kick, but when the event loop sleeps, poll is called here and now, in the caller's
	 * thread, which must hold no lock that any function of the driver takes. It saves the way
	 * over a second thread, which is most of what a hand-off takes. */
	void (*wake)(void *arg);
	void *arg;
	unsigned slot; /* worker slot, < DRIVER_WORKERS_MAX; one live process per slot */
};

/* Where the driver may keep things, from the settings. */
struct driver_place {
	const char *backend;   /* name of the backend */
	const char *state_dir; /* survives a reboot; exists, writable */
	unsigned workers;
};

struct driver_shared; /* per backend, made by the master, inherited by fork */
struct driver_worker; /* per backend and worker */

struct driver {
	const char *name;		   /* "memory", "postgres" */
	const struct option_spec *options; /* ends with a NULL name */

	/* Master, before fork. `value` has one entry per option, in order; borrowed for ever. On
	 * failure writes one line for the operator to `why` (DRIVER_WHY bytes). May block. */
	enum err (*prepare)(const struct driver_place *place, const union option_value *value,
			    struct driver_shared **shared, char *why);

	/* Worker, after fork. Takes over what a dead predecessor in this slot left behind. */
	enum err (*attach)(struct driver_shared *shared, const struct driver_host *host,
			   struct driver_worker **worker);

	/* Starts `op`. ERR_PENDING: done(op) will come exactly once, later, from poll, cancel or
	 * drain. Anything else: op->answer is complete (answer.result is the same value) and done
	 * will not be called. */
	enum err (*submit)(struct driver_worker *worker, struct op *op);

	/* Gives up a pending op: a queued waiter leaves the queue, a grant nobody has seen is
	 * undone. done(op) comes with ERR_CANCELLED (or another result that won the race, then the
	 * caller must release what it was granted), at the latest when the driver hears from its
	 * store. The memory driver calls it before cancel returns, but for an OP_LIST that is under
	 * way in its own thread: that one comes with the next poll. */
	void (*cancel)(struct driver_worker *worker, struct op *op);

	/* Runs what is due: grants that arrived, waits that ran out, expiries. Calls done. */
	void (*poll)(struct driver_worker *worker);

	/* Boot-clock time at which poll wants to be called without a kick; CLOCK_NEVER = none. */
	int64_t (*next)(struct driver_worker *worker);

	/* Ends every waiting acquire with ERR_DRAINING; later ones are answered so at once.
	 * Renew, release, inspect and list go on. */
	void (*drain)(struct driver_worker *worker);

	/* Worker, after the last done. Its threads have ended when it returns. */
	void (*detach)(struct driver_worker *worker);

	/* Worker: ERR_OK while the store answers, ERR_BACKEND_DOWN when not: for health. No I/O. */
	enum err (*health)(struct driver_worker *worker);

	/* Master, after fork and death of the process in `slot`, before its successor: forget
	 * nothing here that attach does; may be NULL. */
	void (*bury)(struct driver_shared *shared, unsigned slot);

	/* Master, at a clean end, when all workers are gone. */
	void (*close)(struct driver_shared *shared);
};

#endif
