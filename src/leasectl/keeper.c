/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/guard.h"
#include "leasectl/hold.h"
#include "leasectl/keeper.h"

#define RELEASE_BUDGET (2 * CLOCK_SECOND)
#define RETRY_FIRST    (50 * CLOCK_MILLI)

struct keeper {
	const struct options *options;
	struct keeper_plan plan;
	int fd;
	struct hold hold;
	struct guard guard;
};

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct keeper_plan keeper_plan(const struct options *options)
{
	int64_t ttl = options->ttl_us;
	struct keeper_plan plan = {
	    .margin_us = most(ttl / 20, least(CLOCK_SECOND, ttl / 10)),
	    .grace_us = options->kill_grace_us >= 0 ? options->kill_grace_us
						    : least(5 * CLOCK_SECOND, ttl / 4),
	    .renew_us = ttl / 3,
	    .try_us = most(200 * CLOCK_MILLI, least(3 * CLOCK_SECOND, ttl / 12)),
	};

	return plan;
}

static void tell(struct keeper *keeper, enum post_kind kind, int status)
{
	struct post post = {.kind = kind, .status = status};

	post.end_us = keeper->hold.end_us;
	post.token = keeper->hold.token;
	memcpy(post.holder, keeper->hold.holder, sizeof post.holder);
	memcpy(post.expires, keeper->hold.expires, sizeof post.expires);
	if (kind == POST_LOST)
		snprintf(post.text, sizeof post.text, "%.255s", keeper->hold.failure.text);
	guard_set_end(&keeper->guard, keeper->hold.end_us);
	post_send(keeper->fd, &post);
}

_Noreturn static void end(struct keeper *keeper, enum post_kind kind, int status)
{
	tell(keeper, kind, status);
	/* The guard still uses all this, and nothing here outlives the process. */
	_exit(0);
}

_Noreturn static void give_back(struct keeper *keeper)
{
	struct hold *hold = &keeper->hold;
	char left[DURATION_ROOM], text[FAILURE_SENTENCE];

	if (*hold->holder && guard_group_gone(&keeper->guard) &&
	    hold_release(hold, clock_boot_us() + RELEASE_BUDGET) == HOLD_AGAIN) {
		duration_text(hold->end_us - clock_boot_us(), left);
		failure_sentence(&hold->failure, text);
		options_notice(keeper->options,
			       "%s/%s was not given back (%s); it ends by itself within %s",
			       keeper->options->name_space, keeper->options->key, text, left);
	}
	end(keeper, POST_RELEASED, STATUS_OK);
}

static int64_t jitter(int64_t us)
{
	return us - (int64_t)(drand48() * (double)us / 10);
}

_Noreturn static void fail(struct keeper *keeper)
{
	struct failure *failure = &keeper->hold.failure;
	int status = failure_status(failure);
	char subject[1024];

	snprintf(subject, sizeof subject, "%s/%s", keeper->options->name_space,
		 keeper->options->key);
	failure_print(failure, subject);
	end(keeper, POST_FAILED,
	    status == STATUS_NOT_OBTAINED || status == STATUS_NO ? keeper->options->conflict_status
								 : status);
}

/* A lease that was waited for began nobody knows when: renewed, it begins again at a known time. */
static enum hold_result confirm(struct keeper *keeper)
{
	struct hold *hold = &keeper->hold;
	int64_t limit = clock_boot_us() + hold->options->ttl_us;
	enum hold_result result = HOLD_OK;

	while (hold->end_us - clock_boot_us() < hold->options->ttl_us / 10 * 9) {
		result = hold_renew(hold, least(limit, clock_boot_us() + keeper->plan.try_us));
		if (result == HOLD_OK)
			continue;
		if (result != HOLD_AGAIN || clock_boot_us() >= limit)
			break;
		hold_sleep(hold, clock_boot_us() + RETRY_FIRST);
		if (hold_stopping(hold))
			return HOLD_STOPPED;
	}
	return result;
}

static void obtain(struct keeper *keeper)
{
	struct hold *hold = &keeper->hold;
	int64_t until = clock_boot_us() + keeper->options->wait_us;
	bool told = false;
	enum hold_result result;

	for (;;) {
		int64_t wait = most(0, until - clock_boot_us());

		result = hold_acquire(hold, wait);
		if (result == HOLD_OK)
			result = confirm(keeper);
		if (result == HOLD_OK)
			break;
		if (result == HOLD_STOPPED || hold_stopping(hold))
			give_back(keeper);
		if (result == HOLD_LOST && !*hold->holder)
			fail(keeper);
		if (clock_boot_us() >= until || failure_status(&hold->failure) == STATUS_BUG)
			fail(keeper);
		if (!told)
			options_notice(keeper->options, "%s; trying again", hold->failure.text);
		told = true;
		/* One that was granted and lost again is another request. */
		if (*hold->holder)
			lease_random_id(hold->request_id);
		*hold->holder = 0;
		hold_sleep(hold, clock_boot_us() + jitter(CLOCK_SECOND / 2));
	}
	tell(keeper, POST_GRANTED, STATUS_OK);
}

static void tell_outage(struct keeper *keeper, bool *told)
{
	char text[FAILURE_SENTENCE], left[DURATION_ROOM];

	if (*told)
		return;
	*told = true;
	failure_sentence(&keeper->hold.failure, text);
	duration_text(keeper->hold.end_us - clock_boot_us(), left);
	options_notice(keeper->options, "%s/%s cannot be renewed: %s; %s left, trying on",
		       keeper->options->name_space, keeper->options->key, text, left);
}

/* After `failures` in a row: at once when the last attempt took long, with more time for the
 * answer. */
static int64_t after_failure(struct keeper *keeper, int failures, int64_t sent_us)
{
	int64_t pause = RETRY_FIRST << (failures < 5 ? failures : 5);

	return sent_us + jitter(least(pause, keeper->plan.renew_us / 4));
}

static int64_t try_time(const struct keeper *keeper, int failures)
{
	return keeper->plan.try_us << (failures < 3 ? failures : 3);
}

static void keep(struct keeper *keeper)
{
	struct hold *hold = &keeper->hold;
	int64_t next = hold->renewed_us + jitter(keeper->plan.renew_us), sent;
	bool told = false;
	int failures = 0;

	while (!hold_stopping(hold)) {
		hold_sleep(hold, next);
		if (hold_stopping(hold))
			break;
		sent = clock_boot_us();
		switch (hold_renew(hold, sent + try_time(keeper, failures))) {
		case HOLD_OK:
			tell(keeper, POST_RENEWED, STATUS_OK);
			next = hold->renewed_us + jitter(keeper->plan.renew_us);
			failures = 0;
			told = false;
			break;
		case HOLD_LOST:
			next = CLOCK_NEVER;
			tell(keeper, POST_LOST, STATUS_LOST);
			*hold->holder = 0;
			break;
		case HOLD_AGAIN:
			tell_outage(keeper, &told);
			next = after_failure(keeper, failures++, sent);
			break;
		case HOLD_STOPPED:
			break;
		}
	}
}

/* Nothing of the caller is kept open but stderr and the post. */
static int leave_descriptors(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	if (fd != 3) {
		CHECK(dup3(fd, 3, O_CLOEXEC) == 3);
		fd = 3;
	}
	close_range(4, ~0U, 0);
	return fd;
}

static void take_over(struct keeper *keeper, const struct post *held)
{
	memcpy(keeper->hold.holder, held->holder, sizeof held->holder);
	memcpy(keeper->hold.expires, held->expires, sizeof held->expires);
	keeper->hold.token = held->token;
	keeper->hold.end_us = keeper->guard.end_us = held->end_us;
	keeper->guard.group = held->group;
}

_Noreturn void keeper_main(const struct options *options, int fd, const struct post *held)
{
	static struct keeper keeper;

	prctl(PR_SET_NAME, "leasectl-keeper");
	keeper.options = options;
	keeper.plan = keeper_plan(options);
	keeper.fd = leave_descriptors(fd);
	srand48(clock_boot_us() ^ getpid());
	CHECK(hold_init(&keeper.hold, options));
	keeper.guard = (struct guard){.hold = &keeper.hold,
				      .fd = keeper.fd,
				      .margin_us = keeper.plan.margin_us,
				      .kills = options->on_lost == ON_LOST_KILL};
	if (held)
		take_over(&keeper, held);
	guard_start(&keeper.guard);
	if (!held)
		obtain(&keeper);
	keep(&keeper);
	give_back(&keeper);
}
