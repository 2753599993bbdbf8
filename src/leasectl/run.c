/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/credentials.h"
#include "leasectl/relay.h"
#include "leasectl/run.h"
#include "leasectl/supervisor.h"

#define LEAST_TTL CLOCK_SECOND

/* What is taken from a file descriptor instead of interrupting. */
static const int taken[] = {SIGINT,  SIGTERM,  SIGHUP,	SIGQUIT, SIGUSR1, SIGUSR2,
			    SIGCONT, SIGWINCH, SIGTSTP, SIGCHLD, SIGALRM};

static void check_times(const struct options *options, const struct keeper_plan *plan)
{
	char why[CLIENT_WHY], token[CLIENT_TOKEN];

	if (options->ttl_us < LEAST_TTL)
		options_refuse("--ttl: run needs at least 1s, to end its command in time");
	if (plan->grace_us > options->ttl_us / 3)
		options_refuse("--kill-grace: at most a third of --ttl");
	if (!credentials_token(options->client.token_file, token, why))
		options_refuse("%s", why);
	explicit_bzero(token, sizeof token);
}

/* Signals are blocked from here on, in the keeper too; SIGTTOU so that a terminal that is not ours
 * at the moment can be spoken to. */
static int take_signals(struct command *command)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t watched, blocked;

	sigemptyset(&watched);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&watched, taken[i]);
	blocked = watched;
	sigaddset(&blocked, SIGTTOU);
	sigaddset(&blocked, SIGTTIN);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_BLOCK, &blocked, &command->mask);
	/* An ignored SIGCHLD would take the command's exit status away. */
	sigaction(SIGCHLD, &standard, &command->child_action);
	return signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void read_signals(struct supervisor *supervisor, int fd)
{
	struct signalfd_siginfo info;
	bool child = false;

	while (read(fd, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo == SIGCHLD)
			child = true;
		else
			relay_signal(supervisor, &info);
	if (child)
		relay_reap(supervisor);
}

static void set_timer(int timer, int64_t moment)
{
	struct itimerspec when = {.it_value = {0}};

	/* Zero would disarm it; what is past fires at once. */
	if (moment != CLOCK_NEVER) {
		moment = moment < 1 ? 1 : moment;
		when.it_value.tv_sec = moment / CLOCK_SECOND;
		when.it_value.tv_nsec = moment % CLOCK_SECOND * 1000;
	}
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static void loop(struct supervisor *supervisor, int signals, int timer)
{
	uint64_t fired;

	while (supervisor->state != SUPERVISOR_OVER) {
		struct pollfd fds[] = {{.fd = signals, .events = POLLIN},
				       {.fd = timer, .events = POLLIN},
				       {.fd = supervisor->post, .events = POLLIN}};

		set_timer(timer, supervisor_next(supervisor));
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			break;
		(void)!read(timer, &fired, sizeof fired);
		/* What the keeper said first: after a time of being stopped the deadline that is
		 * known here may be an old one. */
		supervisor_post(supervisor);
		supervisor_time(supervisor);
		if (fds[0].revents)
			read_signals(supervisor, signals);
	}
}

int run_main(const struct options *options)
{
	struct supervisor supervisor = {.options = options,
					.plan = keeper_plan(options),
					.again_us = CLOCK_NEVER,
					.hold_us = CLOCK_NEVER};
	int signals, timer;

	check_times(options, &supervisor.plan);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	command_prepare(&supervisor.command);
	signals = take_signals(&supervisor.command);
	timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (signals < 0 || timer < 0 || !supervisor_start_keeper(&supervisor, NULL)) {
		options_notice(options, "cannot start: %s", strerror(errno));
		return STATUS_BUG;
	}
	loop(&supervisor, signals, timer);
	command_take_terminal(&supervisor.command);
	return supervisor.lost ? STATUS_LOST : supervisor.status;
}
