/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "master/state_dir.h"

enum { MODE = 0750, PATH_SIZE = 4096 };

static bool make(const char *path)
{
	struct stat status;

	if (mkdir(path, MODE) == 0)
		return true;
	if (errno != EEXIST)
		return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
	if (stat(path, &status) < 0)
		return false;
	errno = ENOTDIR;
	return S_ISDIR(status.st_mode);
}

enum err state_dir_make(const char *path, char *why, size_t size)
{
	char part[PATH_SIZE];
	bool good = strlen(path) < sizeof part;

	errno = ENAMETOOLONG;
	for (size_t i = 1; good && path[i - 1]; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		good = make(part);
	}
	if (good && access(path, R_OK | W_OK | X_OK) == 0)
		return ERR_OK;
	snprintf(why, size, "state directory %s: %s", path, strerror(errno));
	return ERR_SYSTEM;
}
