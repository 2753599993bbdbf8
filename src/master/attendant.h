/* SPDX-License-Identifier: Apache-2.0
 *
 * master/attendant.h - the process that answers operators: opened with the other sockets, started
 * with the workers, started again when it dies, killed when they are gone. No call depends on it.
 */
#ifndef LEASED_MASTER_ATTENDANT_H
#define LEASED_MASTER_ATTENDANT_H

#include <stdbool.h>
#include <sys/types.h>

#include "master/state.h"

/* Opens its socket, when an address is configured. `why` (LISTEN_WHY bytes) on failure. */
enum err attendant_open(struct master *master, char *why);

/* Starts it when it is due and not there. */
void attendant_tick(struct master *master, int64_t now);

/* When attendant_tick has something to do next; CLOCK_NEVER = nothing. */
int64_t attendant_next(const struct master *master);

/* child_reap found this pid dead: true when it was the attendant. */
bool attendant_died(struct master *master, pid_t pid, int status);

/* Kills it, waits for its end, closes the socket. */
void attendant_close(struct master *master);

#endif
