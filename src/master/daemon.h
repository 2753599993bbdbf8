/* SPDX-License-Identifier: Apache-2.0
 *
 * master/daemon.h - into the background, with a parent that waits for how the start went. */
#ifndef LEASED_MASTER_DAEMON_H
#define LEASED_MASTER_DAEMON_H

/* Forks into a new session without a terminal, working directory "/". Returns in the background
 * process with the descriptor for daemon_tell; the calling process never comes back: it exits with
 * what daemon_tell says, or 70 when the other dies before. -1 with errno when the fork failed. Call
 * before threads and sockets exist. */
int daemon_start(void);

/* Tells the parent how the start went and closes `*ready`; -1 is ignored. With status 0 stdin and
 * stdout are detached from the terminal, and stderr too unless it is the log. */
void daemon_tell(int *ready, int status, int keep_stderr);

#endif
