/* SPDX-License-Identifier: Apache-2.0
 *
 * master/listen_unix.h - one unix socket and its file. Private to listen.c. */
#ifndef LEASED_MASTER_LISTEN_UNIX_H
#define LEASED_MASTER_LISTEN_UNIX_H

#include "master/inherit.h"
#include "master/listen.h"

/* Opens `path`: a socket file that nobody serves is replaced, a served one refused (ERR_PENDING,
 * *holder its pid or 0), one that was left to us is used again. A lock file beside it decides
 * between servers that start at once. ERR_SYSTEM with errno. The caller calls listen_unix_close in
 * any case. */
enum err listen_unix_open(struct listen_file *file, const char *path, struct inherit *inherited,
			  int *fd, pid_t *holder);

/* Removes the socket file when it is still ours, then the lock file. */
void listen_unix_close(struct listen_file *file);

#endif
