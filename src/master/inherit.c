/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "master/inherit.h"

#define VARIABLE "LEASED_SOCKETS"

/* What follows "PID:", NULL when it is not for us. */
static const char *list(void)
{
	const char *text = getenv(VARIABLE);
	char *end;

	if (!text || strtol(text, &end, 10) != (long)getpid() || *end != ':')
		return NULL;
	return end + 1;
}

bool inherit_any(void)
{
	return list() != NULL;
}

static bool listens(int fd)
{
	int value = 0;
	socklen_t size = sizeof value;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value;
}

void inherit_take(struct inherit *set)
{
	const char *at = list();

	*set = (struct inherit){.count = 0};
	while (at && *at && set->count < INHERIT_MAX) {
		char *end;
		long fd = strtol(at, &end, 10);

		if (end == at || fd <= STDERR_FILENO || fd > 1 << 20)
			break;
		if (listens((int)fd) && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0)
			set->fd[set->count++] = (int)fd;
		at = *end == ',' ? end + 1 : end;
	}
	unsetenv(VARIABLE);
}

static bool same_unix(const struct sockaddr_un *a, const struct sockaddr_un *b)
{
	return strncmp(a->sun_path, b->sun_path, sizeof a->sun_path) == 0;
}

static bool same(const struct sockaddr_storage *bound, const struct sockaddr *wanted)
{
	const struct sockaddr_in *a4 = (const void *)bound, *b4 = (const void *)wanted;
	const struct sockaddr_in6 *a6 = (const void *)bound, *b6 = (const void *)wanted;

	if (bound->ss_family != wanted->sa_family)
		return false;
	switch (wanted->sa_family) {
	case AF_UNIX:
		return same_unix((const void *)bound, (const void *)wanted);
	case AF_INET:
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	case AF_INET6:
		return a6->sin6_port == b6->sin6_port && a6->sin6_scope_id == b6->sin6_scope_id &&
		       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof a6->sin6_addr) == 0;
	default:
		return false;
	}
}

int inherit_find(struct inherit *set, const struct sockaddr *address)
{
	for (size_t i = 0; i < set->count; i++) {
		struct sockaddr_storage bound = {.ss_family = AF_UNSPEC};
		socklen_t size = sizeof bound;
		int fd = set->fd[i];

		if (getsockname(fd, (struct sockaddr *)&bound, &size) < 0 || !same(&bound, address))
			continue;
		set->fd[i] = set->fd[--set->count];
		return fd;
	}
	return -1;
}

void inherit_close(struct inherit *set)
{
	while (set->count > 0)
		close(set->fd[--set->count]);
}

bool inherit_leave(const int *fd, size_t count)
{
	char text[16 + INHERIT_MAX * 8];
	int used = snprintf(text, sizeof text, "%ld:", (long)getpid());

	if (count > INHERIT_MAX) {
		errno = E2BIG;
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		used += snprintf(text + used, sizeof text - (size_t)used, i ? ",%d" : "%d", fd[i]);
		if (fcntl(fd[i], F_SETFD, 0) < 0)
			return false;
	}
	return setenv(VARIABLE, text, 1) == 0;
}
