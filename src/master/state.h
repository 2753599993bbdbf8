/* SPDX-License-Identifier: Apache-2.0
 *
 * master/state.h - what the master knows. Private to master/; one thread. */
#ifndef LEASED_MASTER_STATE_H
#define LEASED_MASTER_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/board.h"
#include "master/listen.h"
#include "master/lockfile.h"
#include "master/master.h"
#include "master/notify.h"

/* A slot and the worker in it. pid 0 = nobody. */
struct child {
	pid_t pid;
	int control;	    /* our end of the pair, -1 = closed */
	bool ready;	    /* said CONTROL_READY */
	bool late;	    /* it was logged that it is not ready */
	int64_t born_us;    /* boot clock */
	int64_t start_us;   /* nobody here: start one then; CLOCK_NEVER = do not */
	int64_t kill_us;    /* was told to drain: SIGKILL then; CLOCK_NEVER = not told */
	int64_t backoff_us; /* of the last start, 0 after a worker that lived */
};

/* The process that answers operators. */
struct attendant {
	pid_t pid;	  /* 0 = not there */
	int listen;	  /* -1 = no address is configured */
	int64_t start_us; /* not before; CLOCK_NEVER = none is wanted */
};

struct master {
	const struct master_setup *setup;
	struct settings *settings;
	struct listen_set listen;
	struct driver_shared **shared; /* one per backend, in the order of the settings */
	size_t shared_count;
	struct meter *meter; /* NULL = nothing is counted */
	struct attendant attendant;
	int64_t started_us;  /* wall clock */
	struct board *board; /* NULL = none: connections are not balanced */
	struct child child[DRIVER_WORKERS_MAX];
	struct lockfile pidfile;
	struct notify notify;
	pid_t pid;
	int signals; /* signalfd */
	int ready;   /* setup->ready until it was used */
	bool serving;
	bool stopping;
	bool upgrading;	    /* when the last worker is gone, become the new program */
	int64_t give_up_us; /* workers must be ready by then; CLOCK_NEVER = no matter */
	int status;	    /* exit status */
};

/* child.c. Starts what is due, kills what is overdue, notes who is late. */
void child_tick(struct master *master, int64_t now);

/* When child_tick has something to do next; CLOCK_NEVER = nothing. */
int64_t child_next(const struct master *master);

/* Collects the dead and plans their successors. */
void child_reap(struct master *master);

/* Reads what the worker in `slot` said. */
void child_hear(struct master *master, unsigned slot);

/* Makes the slots fit the settings: those beyond the wanted number drain, free ones start. */
void child_fit(struct master *master);

/* Tells a worker to end; it is killed when it takes too long. */
void child_drain(struct master *master, unsigned slot);

/* In a new process: closes what belongs to the master and its workers. */
void child_close_ends(struct master *master);

/* SIGKILL for all. */
void child_kill_all(struct master *master);

/* Tells all workers of the new settings in `memfd`. */
void child_reload_all(struct master *master, int memfd);

unsigned child_count(const struct master *master);
bool child_all_ready(const struct master *master);

/* reload.c. Reads the file and takes over what it says, or logs why not. */
void reload_now(struct master *master);

#endif
