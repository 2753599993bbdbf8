/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/guard.h"

#define ORPHAN_LIMIT (5 * CLOCK_SECOND)
#define WATCH_PAUSE  (50 * CLOCK_MILLI)

/* Half the margin later than the supervisor, if it could. */
static int64_t last_moment(struct guard *guard)
{
	int64_t moment = CLOCK_NEVER;

	pthread_mutex_lock(&guard->mutex);
	if (guard->group && guard->end_us && guard->kills)
		moment = guard->end_us - guard->margin_us / 2;
	pthread_mutex_unlock(&guard->mutex);
	return moment;
}

static void kill_group(struct guard *guard)
{
	pthread_mutex_lock(&guard->mutex);
	if (guard->group > 1)
		kill(-guard->group, SIGKILL);
	pthread_mutex_unlock(&guard->mutex);
}

/* False once there is nothing more to hear. */
static bool obey(struct guard *guard)
{
	struct post post;
	bool open = post_receive(guard->fd, &post, false);

	pthread_mutex_lock(&guard->mutex);
	if (!open)
		guard->orphan = true;
	if (open && post.kind == POST_STARTED)
		guard->group = post.group;
	/* The command is gone; its group's number may be somebody else's soon. */
	if (open && post.kind == POST_RELEASE)
		guard->group = 0;
	pthread_mutex_unlock(&guard->mutex);
	if (!open)
		kill_group(guard);
	if (!open || post.kind == POST_RELEASE)
		hold_stop(guard->hold);
	return open;
}

static void *watch(void *argument)
{
	struct guard *guard = argument;
	struct pollfd fd = {.fd = guard->fd, .events = POLLIN};

	for (;;) {
		int64_t left = last_moment(guard) - clock_boot_us();
		int ms = left < 0 ? 0 : left > CLOCK_SECOND ? 1000 : (int)(left / CLOCK_MILLI) + 1;

		if (poll(&fd, 1, ms) > 0 && !obey(guard))
			return NULL;
		if (last_moment(guard) > clock_boot_us())
			continue;
		kill_group(guard);
		usleep((useconds_t)WATCH_PAUSE);
	}
}

void guard_start(struct guard *guard)
{
	pthread_t thread;

	pthread_mutex_init(&guard->mutex, NULL);
	CHECK(pthread_create(&thread, NULL, watch, guard) == 0);
	pthread_detach(thread);
}

void guard_set_end(struct guard *guard, int64_t end_us)
{
	pthread_mutex_lock(&guard->mutex);
	guard->end_us = end_us;
	pthread_mutex_unlock(&guard->mutex);
}

bool guard_group_gone(struct guard *guard)
{
	int64_t limit = clock_boot_us() + ORPHAN_LIMIT;
	pid_t group;
	bool orphan;

	pthread_mutex_lock(&guard->mutex);
	group = guard->group;
	orphan = guard->orphan;
	pthread_mutex_unlock(&guard->mutex);
	if (!orphan || !group)
		return true;
	while (kill(-group, SIGKILL) == 0 || errno != ESRCH) {
		if (clock_boot_us() > limit)
			return false;
		usleep(5000);
	}
	return true;
}
