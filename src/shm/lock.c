/* SPDX-License-Identifier: Apache-2.0
 *
 * The lock object: an exclusive flock that lives as long as any process of the tree that inherited
 * it, whatever became of the master. Inside: the master's pid, for whoever is refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "shm/segment.h"

enum { WAIT_US = 3000000, LOOK_NS = 20000000 };

static enum err fail(const struct driver_shared *shared, char *why, const char *what)
{
	snprintf(why, DRIVER_WHY, "memory table \"%s\": %s", shared->segment, what);
	return ERR_SYSTEM;
}

static enum err open_lock(struct driver_shared *shared, char *why)
{
	char name[SHM_SEGMENT_NAME + 8];
	struct stat status;

	snprintf(name, sizeof name, "%s.lock", shared->segment);
	shared->lock_fd = shm_open(name, O_RDWR | O_CREAT, 0600);
	if (shared->lock_fd < 0)
		return fail(shared, why, strerror(errno));
	if (fstat(shared->lock_fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != geteuid())
		return fail(shared, why, "its lock object belongs to another user");
	return ERR_OK;
}

static long holder(int fd)
{
	char text[24] = "";

	return pread(fd, text, sizeof text - 1, 0) > 0 ? strtol(text, NULL, 10) : 0;
}

static bool lock_within(int fd, int64_t us)
{
	const struct timespec pause = {0, LOOK_NS};
	int64_t until = clock_boot_us() + us;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (clock_boot_us() >= until)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

enum err shm_segment_lock(struct driver_shared *shared, char *why)
{
	char text[64];
	int len;
	enum err err = open_lock(shared, why);

	if (err != ERR_OK)
		return err;
	if (!lock_within(shared->lock_fd, WAIT_US)) {
		snprintf(why, DRIVER_WHY, "memory table \"%s\" is served by pid %ld",
			 shared->segment, holder(shared->lock_fd));
		return ERR_SYSTEM;
	}
	len = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if (ftruncate(shared->lock_fd, 0) != 0 ||
	    pwrite(shared->lock_fd, text, (size_t)len, 0) != len)
		return fail(shared, why, strerror(errno));
	return ERR_OK;
}
