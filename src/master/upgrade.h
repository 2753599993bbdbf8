/* SPDX-License-Identifier: Apache-2.0
 *
 * master/upgrade.h - USR2: the master becomes the program that its command line names now, with the
 * same pid and the same listening sockets. Connections that arrive meanwhile wait in the backlog;
 * leases are in the store and stay.
 *
 * Order: the new program judges the configuration (-t); only then workers are drained; when the
 * last is gone, execve. A program that cannot be run, or that does not like the file, changes
 * nothing. */
#ifndef LEASED_MASTER_UPGRADE_H
#define LEASED_MASTER_UPGRADE_H

#include <stdbool.h>

#include "master/state.h"

/* Runs the new program with -t. Blocks the master until it ends, at most 10 s; logs why not. */
bool upgrade_judge(const struct master *master);

/* Becomes the new program, or, when that fails, this one again. Returns only when neither could be
 * run. The workers must be gone and the drivers closed. */
void upgrade_exec(const struct master *master);

#endif
