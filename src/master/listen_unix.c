/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "master/listen_unix.h"

enum { SOCKET_MODE = 0660, LOCK_MODE = 0600 };

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	return address;
}

/* A socket is there: is somebody behind it? ERR_OK = nobody, ERR_PENDING = *holder. */
static enum err ask(const char *path, pid_t *holder)
{
	struct sockaddr_un address = address_of(path);
	struct ucred peer;
	socklen_t size = sizeof peer;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	enum err err = ERR_PENDING;

	if (fd < 0)
		return ERR_SYSTEM;
	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
		/* unix(7): the credentials of whoever called listen. */
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0)
			*holder = peer.pid;
	} else if (errno == ECONNREFUSED || errno == ENOENT) {
		err = ERR_OK;
	} else if (errno != EAGAIN) {
		err = ERR_SYSTEM; /* EAGAIN: alive, its backlog is full */
	}
	close(fd);
	return err;
}

/* Makes room for our socket, with the lock held: nobody else of us comes between. */
static enum err clear(const char *path, pid_t *holder)
{
	struct stat status;
	enum err err;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? ERR_OK : ERR_SYSTEM;
	if (!S_ISSOCK(status.st_mode)) {
		errno = EEXIST;
		return ERR_SYSTEM;
	}
	err = ask(path, holder);
	if (err)
		return err;
	return unlink(path) == 0 || errno == ENOENT ? ERR_OK : ERR_SYSTEM;
}

static enum err bind_file(struct listen_file *file, int fd)
{
	struct sockaddr_un address = address_of(file->path);
	struct stat status;
	/* The file appears with its final mode; the master has one thread. */
	mode_t mask = umask(0777 & ~SOCKET_MODE);
	int failed = bind(fd, (struct sockaddr *)&address, sizeof address);

	umask(mask);
	if (failed || lstat(file->path, &status) < 0)
		return ERR_SYSTEM;
	file->device = status.st_dev;
	file->inode = status.st_ino;
	return listen(fd, SOMAXCONN) == 0 ? ERR_OK : ERR_SYSTEM;
}

/* The socket of the program before us, if its file is still there; else -1. */
static int inherited_socket(struct listen_file *file, struct inherit *inherited)
{
	struct sockaddr_un address = address_of(file->path);
	int fd = inherit_find(inherited, (struct sockaddr *)&address);
	struct stat status;

	if (fd < 0)
		return -1;
	if (lstat(file->path, &status) < 0 || !S_ISSOCK(status.st_mode)) {
		close(fd);
		return -1;
	}
	file->device = status.st_dev;
	file->inode = status.st_ino;
	return fd;
}

enum err listen_unix_open(struct listen_file *file, const char *path, struct inherit *inherited,
			  int *fd, pid_t *holder)
{
	char lock[sizeof((struct sockaddr_un *)0)->sun_path + 8];
	enum err err;

	*fd = -1;
	file->lock.fd = -1;
	file->path = strdup(path);
	if (!file->path)
		return ERR_SYSTEM;
	snprintf(lock, sizeof lock, "%s.lock", path);
	err = lockfile_take(&file->lock, lock, LOCK_MODE, holder);
	if (!err)
		err = lockfile_write(&file->lock);
	if (!err && (*fd = inherited_socket(file, inherited)) >= 0)
		return ERR_OK;
	if (!err)
		err = clear(path, holder);
	if (err)
		return err;
	*fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return *fd < 0 ? ERR_SYSTEM : bind_file(file, *fd);
}

void listen_unix_close(struct listen_file *file)
{
	struct stat status;
	int error = errno;

	if (file->inode != 0 && lstat(file->path, &status) == 0 && status.st_dev == file->device &&
	    status.st_ino == file->inode)
		unlink(file->path);
	lockfile_drop(&file->lock);
	free((void *)(uintptr_t)file->path);
	*file = (struct listen_file){.lock.fd = -1};
	errno = error;
}
