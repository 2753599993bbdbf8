/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "leasectl/family.h"
#include "leasectl/supervisor.h"

#define LOOK_EVERY     (20 * CLOCK_MILLI)
#define KEEPER_LIMIT   (3 * CLOCK_SECOND) /* its own budget for the release is 2 s */
#define KEEPER_RESPAWN (CLOCK_SECOND / 2)

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Before this the command must be dead. */
static int64_t last_moment(const struct supervisor *supervisor)
{
	return supervisor->lease.end_us - supervisor->plan.margin_us;
}

static int64_t term_moment(const struct supervisor *supervisor)
{
	return last_moment(supervisor) - supervisor->plan.grace_us;
}

bool supervisor_start_keeper(struct supervisor *supervisor, const struct post *held)
{
	int ends[2];
	pid_t pid;

	if (!post_pair(ends))
		return false;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		keeper_main(supervisor->options, ends[1], held);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return false;
	}
	supervisor->keeper = pid;
	supervisor->post = ends[0];
	supervisor->again_us = CLOCK_NEVER;
	return true;
}

static void start_command(struct supervisor *supervisor)
{
	struct post started = {.kind = POST_STARTED};

	if (!command_start(&supervisor->command, supervisor->options, &supervisor->lease)) {
		options_notice(supervisor->options, "cannot fork: %s", strerror(errno));
		supervisor->status = STATUS_BUG;
		supervisor->state = SUPERVISOR_KILLING;
		return;
	}
	supervisor->lease.group = started.group = supervisor->command.group;
	post_send(supervisor->post, &started);
	supervisor->state = SUPERVISOR_RUNNING;
	if (supervisor->options->hold_max_us)
		supervisor->hold_us = clock_boot_us() + supervisor->options->hold_max_us;
}

void supervisor_release(struct supervisor *supervisor)
{
	struct post post = {.kind = POST_RELEASE};

	command_take_terminal(&supervisor->command);
	supervisor->state = SUPERVISOR_RELEASING;
	supervisor->kill_us = clock_boot_us() + KEEPER_LIMIT;
	if (supervisor->post < 0)
		supervisor->state = SUPERVISOR_OVER;
	else
		post_send(supervisor->post, &post);
}

/* TERM for all, and KILL after the grace, but never later than the last moment. */
void supervisor_end(struct supervisor *supervisor)
{
	int64_t now = clock_boot_us();
	pid_t group = supervisor->command.group;

	supervisor->state = SUPERVISOR_ENDING;
	supervisor->kill_us = least(now + supervisor->plan.grace_us, last_moment(supervisor));
	if (group)
		command_signal(&supervisor->command, SIGTERM);
	family_signal(supervisor->keeper, group, SIGTERM);
	/* What is stopped does not hear TERM. */
	family_signal(supervisor->keeper, 0, SIGCONT);
}

static void lose(struct supervisor *supervisor, const char *why)
{
	const struct options *options = supervisor->options;

	if (!supervisor->loss_told)
		options_notice(options, "%s/%s is lost: %s", options->name_space, options->key,
			       why);
	if (!supervisor->loss_told && options->on_lost == ON_LOST_SIGNAL)
		command_signal(&supervisor->command, options->lost_signal);
	supervisor->loss_told = true;
	if (options->on_lost != ON_LOST_KILL || supervisor->state > SUPERVISOR_ENDING)
		return;
	supervisor->lost = true;
	if (supervisor->state == SUPERVISOR_RUNNING)
		supervisor_end(supervisor);
}

void supervisor_look(struct supervisor *supervisor)
{
	int left = family_signal(supervisor->keeper, 0,
				 supervisor->state == SUPERVISOR_KILLING ? SIGKILL : 0);

	/* Without /proc the group is all that is known. */
	if (left < 0)
		left = supervisor->command.group && kill(-supervisor->command.group, 0) == 0;
	if (supervisor->command.pid == 0 && left == 0)
		supervisor_release(supervisor);
}

int64_t supervisor_next(const struct supervisor *supervisor)
{
	int64_t next = supervisor->again_us;

	switch (supervisor->state) {
	case SUPERVISOR_WAITING:
	case SUPERVISOR_OVER:
		break;
	case SUPERVISOR_RUNNING:
		next = least(next, supervisor->hold_us);
		if (!supervisor->loss_told)
			next = least(next, term_moment(supervisor));
		break;
	case SUPERVISOR_ENDING:
		next = least(supervisor->kill_us, clock_boot_us() + LOOK_EVERY);
		break;
	case SUPERVISOR_KILLING:
		next = clock_boot_us() + LOOK_EVERY;
		break;
	case SUPERVISOR_RELEASING:
		next = supervisor->kill_us;
		break;
	}
	return next;
}

static void time_running(struct supervisor *supervisor, int64_t now)
{
	if (now >= supervisor->hold_us) {
		supervisor->hold_us = CLOCK_NEVER;
		supervisor->lost = true;
		options_notice(supervisor->options, "--hold-max is over");
		supervisor_end(supervisor);
	} else if (now >= term_moment(supervisor) && !supervisor->loss_told) {
		lose(supervisor, "it could not be renewed in time");
	}
}

void supervisor_time(struct supervisor *supervisor)
{
	int64_t now = clock_boot_us();

	if (now >= supervisor->again_us && supervisor->state <= SUPERVISOR_KILLING)
		supervisor_start_keeper(supervisor, &supervisor->lease);
	if (supervisor->state == SUPERVISOR_RUNNING)
		time_running(supervisor, now);
	if (supervisor->state == SUPERVISOR_ENDING && now >= supervisor->kill_us) {
		supervisor->state = SUPERVISOR_KILLING;
		if (supervisor->command.group)
			command_signal(&supervisor->command, SIGKILL);
	}
	if (supervisor->state == SUPERVISOR_ENDING || supervisor->state == SUPERVISOR_KILLING)
		supervisor_look(supervisor);
	if (supervisor->state == SUPERVISOR_RELEASING && now >= supervisor->kill_us) {
		options_notice(supervisor->options, "the lease was not given back in time");
		kill(supervisor->keeper, SIGKILL);
		supervisor->state = SUPERVISOR_OVER;
	}
}

static void keeper_gone(struct supervisor *supervisor)
{
	close(supervisor->post);
	supervisor->post = -1;
	if (supervisor->state == SUPERVISOR_RELEASING) {
		supervisor->state = SUPERVISOR_OVER;
	} else if (supervisor->state == SUPERVISOR_WAITING) {
		options_notice(supervisor->options, "the process that keeps the lease died");
		supervisor->status = STATUS_BUG;
		supervisor->state = SUPERVISOR_OVER;
	} else if (supervisor->state < SUPERVISOR_OVER) {
		supervisor->again_us = clock_boot_us() + KEEPER_RESPAWN;
	}
}

static void take_post(struct supervisor *supervisor, const struct post *post)
{
	switch (post->kind) {
	case POST_GRANTED:
		supervisor->lease = *post;
		if (supervisor->state == SUPERVISOR_WAITING)
			start_command(supervisor);
		break;
	case POST_RENEWED:
		/* Told to end is told to end: what was promised then stands. */
		supervisor->lease.end_us = post->end_us;
		break;
	case POST_LOST:
		lose(supervisor, post->text);
		break;
	case POST_FAILED:
		supervisor->status = post->status;
		supervisor->state = SUPERVISOR_OVER;
		break;
	case POST_RELEASED:
		if (supervisor->state == SUPERVISOR_RELEASING)
			supervisor->state = SUPERVISOR_OVER;
		break;
	case POST_NONE:
	case POST_STARTED:
	case POST_RELEASE:
		break;
	}
}

void supervisor_post(struct supervisor *supervisor)
{
	struct post post;

	while (supervisor->post >= 0) {
		if (!post_receive(supervisor->post, &post, true))
			keeper_gone(supervisor);
		else if (post.kind == POST_NONE)
			break;
		else
			take_post(supervisor, &post);
	}
}
