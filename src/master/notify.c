/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/notify.h"

static void tell(const struct notify *notify, const char *text)
{
	if (notify->fd >= 0 &&
	    send(notify->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		log_debug("service manager does not hear", LOG_TEXT("error", strerror(errno)));
}

/* A path, or with '@' a name of the abstract kind. -1 with errno. */
static int reach(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd;

	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof to.sun_path) {
		errno = EINVAL;
		return -1;
	}
	memcpy(to.sun_path, name, len);
	if (name[0] == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* 0 = not asked for, or of another process. */
static int64_t read_interval(int64_t pid)
{
	const char *usec = getenv("WATCHDOG_USEC"), *whose = getenv("WATCHDOG_PID");
	int64_t interval = usec ? strtoll(usec, NULL, 10) : 0;

	if (interval <= 0 || (whose && strtoll(whose, NULL, 10) != pid))
		return 0;
	return interval / 3 < CLOCK_MILLI ? CLOCK_MILLI : interval / 3;
}

void notify_open(struct notify *notify, int64_t pid)
{
	const char *name = getenv("NOTIFY_SOCKET");

	*notify = (struct notify){.fd = -1, .next_us = CLOCK_NEVER};
	if (name && name[0]) {
		notify->fd = reach(name);
		notify->every_us = read_interval(pid);
		if (notify->fd < 0)
			log_warn("service manager cannot be reached", LOG_TEXT("socket", name),
				 LOG_TEXT("error", strerror(errno)));
	}
}

void notify_ready(struct notify *notify, unsigned workers)
{
	char text[128];

	snprintf(text, sizeof text, "READY=1\nSTATUS=%u worker%s serve%s", workers,
		 workers == 1 ? "" : "s", workers == 1 ? "s" : "");
	tell(notify, text);
	if (notify->fd >= 0 && notify->every_us > 0 && notify->next_us == CLOCK_NEVER)
		notify->next_us = 0;
}

void notify_reloading(struct notify *notify)
{
	char text[128];
	struct timespec now;

	/* The manager compares this with its own reading of the same clock. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(text, sizeof text,
		 "RELOADING=1\nMONOTONIC_USEC=%" PRId64 "\nSTATUS=reading the configuration again",
		 now.tv_sec * CLOCK_SECOND + now.tv_nsec / 1000);
	tell(notify, text);
}

void notify_stopping(struct notify *notify)
{
	tell(notify, "STOPPING=1\nSTATUS=calls under way end");
}

void notify_tick(struct notify *notify, int64_t now)
{
	if (notify->next_us > now)
		return;
	notify->next_us = now + notify->every_us;
	tell(notify, "WATCHDOG=1");
}

void notify_close(struct notify *notify)
{
	if (notify->fd >= 0)
		close(notify->fd);
	notify->fd = -1;
	notify->next_us = CLOCK_NEVER;
}
