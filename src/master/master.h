/* SPDX-License-Identifier: Apache-2.0
 *
 * master/master.h - the process that owns the sockets and watches the workers. One thread; it
 * answers no request, takes no lock in a table and never calls gRPC.
 *
 * States: starting -> running -> stopping. It goes from running to stopping on TERM or INT, and
 * ends when the last worker is gone; after USR2 it then becomes the program that is installed now
 * (upgrade.h). */
#ifndef LEASED_MASTER_MASTER_H
#define LEASED_MASTER_MASTER_H

#include <stdio.h>

#include "base/bytes.h"
#include "core/admin.h"
#include "core/worker.h"

enum {
	MASTER_EXIT_OK = 0,
	MASTER_EXIT_BACKEND = 69, /* a backend cannot be prepared */
	MASTER_EXIT_BUG = 70,	  /* workers do not come up */
	MASTER_EXIT_SYSTEM = 71,  /* address, file or pid file in use, or the system refuses */
};

/* Reading the file again, as main wires it (config/config.h has the contracts). */
struct master_config {
	enum err (*load)(const char *path, struct bytes *text, char *why, size_t size);
	enum err (*renew)(const struct settings *old, struct bytes text, FILE *errors,
			  struct settings **settings);
	struct settings *(*reload)(int fd, const struct settings *old); /* in the worker */
	void (*apply_log)(const struct settings *settings);
	void (*log_notes)(const struct settings *settings);
	void (*free)(struct settings *settings);
};

struct master_setup {
	worker_run_f *worker_run;
	admin_run_f *admin_run;
	const struct master_config *config;
	const char *pidfile;   /* absolute, or NULL */
	char *const *argv;     /* the command line, for an upgrade */
	const char *directory; /* where it was given */
	int ready;	       /* daemon_start's descriptor, or -1; the master closes it */
};

/* Runs the server with `settings`, which become its own, until it is told to stop; returns the
 * exit status. Failures of the start are written to stderr, one line. Signals CHLD, TERM, INT, HUP,
 * USR2 are blocked when it returns. After USR2 it may not return: the process is another program.
 */
int master_run(const struct master_setup *setup, struct settings *settings);

#endif
