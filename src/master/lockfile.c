/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/lockfile.h"

enum { TRIES = 16 };

static pid_t read_pid(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	long pid;

	if (n <= 0)
		return 0;
	text[n] = 0;
	pid = strtol(text, NULL, 10);
	return pid > 0 && pid <= 1 << 22 ? (pid_t)pid : 0;
}

/* The name still leads to the file that is open. */
static bool same_file(int fd, const char *path)
{
	struct stat held, named;

	return fstat(fd, &held) == 0 && lstat(path, &named) == 0 && held.st_dev == named.st_dev &&
	       held.st_ino == named.st_ino;
}

static enum err refuse(int fd, int error)
{
	close(fd);
	errno = error;
	return ERR_SYSTEM;
}

enum err lockfile_take(struct lockfile *lock, const char *path, mode_t mode, pid_t *holder)
{
	*holder = 0;
	lock->fd = -1;
	if ((size_t)snprintf(lock->path, sizeof lock->path, "%s", path) >= sizeof lock->path) {
		errno = ENAMETOOLONG;
		return ERR_SYSTEM;
	}
	/* Its last holder may remove the file between our open and our lock: then again. */
	for (unsigned i = 0; i < TRIES; i++) {
		struct stat status;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode);

		if (fd < 0)
			return ERR_SYSTEM;
		if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
			return refuse(fd, EINVAL);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			int error = errno;

			*holder = read_pid(fd);
			refuse(fd, error);
			return error == EWOULDBLOCK ? ERR_PENDING : ERR_SYSTEM;
		}
		if (same_file(fd, path)) {
			/* A dead holder's pid must not be named as ours by whoever comes next. */
			if (ftruncate(fd, 0) < 0)
				return refuse(fd, errno);
			lock->fd = fd;
			return ERR_OK;
		}
		close(fd);
	}
	errno = EAGAIN;
	return ERR_SYSTEM;
}

enum err lockfile_write(struct lockfile *lock)
{
	char text[32];
	int len = snprintf(text, sizeof text, "%ld\n", (long)getpid());

	errno = EIO; /* for a short write */
	return pwrite(lock->fd, text, (size_t)len, 0) == len ? ERR_OK : ERR_SYSTEM;
}

void lockfile_drop(struct lockfile *lock)
{
	if (lock->fd < 0)
		return;
	if (same_file(lock->fd, lock->path))
		unlink(lock->path);
	close(lock->fd);
	lock->fd = -1;
}
