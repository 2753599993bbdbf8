/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "shm/state.h"

enum { FORMAT = 1 };

static bool take(json_t *root, struct shm_state *state)
{
	json_int_t format = 0, fence = 0, until = 0;
	const char *boot = NULL;
	int clean = 0;

	if (json_unpack(root, "{s:I, s:s, s:I, s:b, s:I}", "format", &format, "boot_id", &boot,
			"fence_limit", &fence, "clean", &clean, "live_until_us", &until) != 0)
		return false;
	if (format != FORMAT || fence < 1 || strlen(boot) >= sizeof state->boot_id)
		return false;
	memcpy(state->boot_id, boot, strlen(boot) + 1);
	state->fence_limit = (uint64_t)fence;
	state->clean = clean != 0;
	state->live_until_wall = until;
	state->found = true;
	return true;
}

enum err shm_state_read(const char *path, struct shm_state *state, char *why, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	json_error_t error;
	json_t *root;
	bool good;

	memset(state, 0, sizeof *state);
	if (fd < 0 && errno == ENOENT)
		return ERR_OK;
	if (fd < 0) {
		snprintf(why, size, "state file %s: %s", path, strerror(errno));
		return ERR_SYSTEM;
	}
	root = json_loadfd(fd, 0, &error);
	close(fd);
	good = root && take(root, state);
	json_decref(root);
	if (good)
		return ERR_OK;
	snprintf(
	    why, size,
	    "state file %s is damaged: it keeps fencing tokens from going back; restore it, or "
	    "remove it if no client relies on them",
	    path);
	return ERR_SYSTEM;
}

static bool sync_directory(const char *path)
{
	char directory[PATH_MAX];
	char *slash;
	bool good;
	int fd;

	if (snprintf(directory, sizeof directory, "%s", path) >= (int)sizeof directory)
		return false;
	slash = strrchr(directory, '/');
	if (slash)
		slash[slash == directory] = 0;
	fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	good = fsync(fd) == 0;
	close(fd);
	return good;
}

static bool write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		left -= (size_t)n;
	}
	return true;
}

static bool replace(const char *path, const char *text)
{
	char other[PATH_MAX];
	bool good;
	int fd;

	if (snprintf(other, sizeof other, "%s.new", path) >= (int)sizeof other) {
		errno = ENAMETOOLONG;
		return false;
	}
	unlink(other);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	good = write_all(fd, text) && fsync(fd) == 0;
	close(fd);
	return good && rename(other, path) == 0 && sync_directory(path);
}

enum err shm_state_write(const char *path, const struct shm_state *state)
{
	json_t *root =
	    json_pack("{s:i, s:s, s:I, s:b, s:I}", "format", FORMAT, "boot_id", state->boot_id,
		      "fence_limit", (json_int_t)state->fence_limit, "clean", state->clean,
		      "live_until_us", (json_int_t)state->live_until_wall);
	char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	bool good = text && replace(path, text);

	free(text);
	json_decref(root);
	return good ? ERR_OK : ERR_SYSTEM;
}
