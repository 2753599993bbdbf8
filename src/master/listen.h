/* SPDX-License-Identifier: Apache-2.0
 *
 * master/listen.h - the listening sockets, made once and inherited by every worker. Never
 * SO_REUSEPORT: a second server on an address must fail, not take a part of its connections. */
#ifndef LEASED_MASTER_LISTEN_H
#define LEASED_MASTER_LISTEN_H

#include <stddef.h>
#include <sys/types.h>

#include "core/settings.h"
#include "master/lockfile.h"

enum { LISTEN_SOCKETS_MAX = 128, LISTEN_WHY = 512 };

/* A socket file of ours, with what tells it from one that others put in its place. */
struct listen_file {
	const char *path; /* borrowed from the settings the set was opened with; copied */
	struct lockfile lock;
	dev_t device;
	ino_t inode;
};

struct listen_set {
	int fd[LISTEN_SOCKETS_MAX];
	size_t count;
	struct listen_file *file;
	size_t files;
};

/* Opens all addresses of `settings`: non-blocking, close-on-exec. Sockets that an upgrade left to
 * this process (inherit.h) are used again, and closed where no address wants them. A busy one is
 * tried again for a moment, since the workers of a killed master need one to die. On failure
 * nothing stays open and `why` (LISTEN_WHY bytes) says which address and which pid is in the way.
 */
enum err listen_open(struct listen_set *set, const struct settings *settings, char *why);

/* One TCP address that no worker serves, into *fd. The rest as above. */
enum err listen_one(const struct listen_settings *listen, int *fd, char *why);

/* Closes all; removes the socket files that are still ours. */
void listen_close(struct listen_set *set);

#endif
