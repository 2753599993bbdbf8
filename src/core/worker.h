/* SPDX-License-Identifier: Apache-2.0
 *
 * core/worker.h - what a worker process is given at its birth. It stands in core so that the master
 * can start workers without knowing gRPC: main hands it a worker_run_f. */
#ifndef LEASED_CORE_WORKER_H
#define LEASED_CORE_WORKER_H

#include "core/board.h"
#include "core/meter.h"
#include "core/settings.h"

struct worker_setup {
	unsigned slot;	     /* < DRIVER_WORKERS_MAX; at most one live process per slot */
	const int *listen;   /* non-blocking listening sockets, shared by all workers */
	size_t listen_count; /* one or more per settings->listen entry */
	int control;	     /* this worker's end of the pair, non-blocking */

	struct board *board; /* connections taken by each worker; NULL = unknown */

	struct meter *meter; /* NULL = nothing is counted */

	const struct settings *settings;
	struct driver_shared **shared; /* one per settings->backend entry, prepared by the master */

	/* Reads the file that came with CONTROL_RELOAD (the master found it valid) into new
	 * settings. The worker applies what may change while running: namespaces of known backends,
	 * limits, log, reflection and health. NULL on failure, then the old settings stay. */
	struct settings *(*reload)(int fd, const struct settings *old);
	void (*settings_free)(struct settings *settings);
};

/* Runs a worker in the calling, freshly forked process; returns its exit status: 0 after a drain,
 * else the master starts a successor. grpc_init happens in here, never in the master. */
typedef int worker_run_f(const struct worker_setup *setup);

#endif
