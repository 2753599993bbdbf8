/* SPDX-License-Identifier: Apache-2.0
 *
 * master/lockfile.h - a file that one process tree at a time holds, with the pid of its master in
 * it. The lock is flock(2): it belongs to the open file, so the workers hold it too, and it is gone
 * when the last of them is. A file left by a dead tree is simply taken over. */
#ifndef LEASED_MASTER_LOCKFILE_H
#define LEASED_MASTER_LOCKFILE_H

#include <sys/types.h>

#include "base/err.h"

struct lockfile {
	int fd; /* -1 = not held */
	char path[4096];
};

/* Takes the lock, makes the file when it is missing, and empties it. ERR_PENDING when a live tree
 * holds it, *holder is its pid or 0; ERR_SYSTEM with errno. Does not block. */
enum err lockfile_take(struct lockfile *lock, const char *path, mode_t mode, pid_t *holder);

/* Writes the calling process's pid and a newline. ERR_SYSTEM with errno. */
enum err lockfile_write(struct lockfile *lock);

/* Removes the file, if it is still the one that is held, and lets go. Nothing when not held. */
void lockfile_drop(struct lockfile *lock);

#endif
