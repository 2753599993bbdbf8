/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leasectl/command.h"

static bool is_pipe(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

static bool in_foreground(const struct command *command)
{
	return command->terminal >= 0 && tcgetpgrp(command->terminal) == getpgrp();
}

/* Whether the terminal is ours alone to give: a job of one process. */
static bool may_hand_over(const struct command *command)
{
	return in_foreground(command) && getpgrp() == getpid() && !is_pipe(STDIN_FILENO) &&
	       !is_pipe(STDOUT_FILENO);
}

void command_prepare(struct command *command)
{
	command->terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static void set_environment(const struct options *options, const struct post *lease)
{
	char token[24];

	snprintf(token, sizeof token, "%" PRIu64, lease->token);
	setenv("LEASE_NAMESPACE", options->name_space, 1);
	setenv("LEASE_KEY", options->key, 1);
	setenv("LEASE_FENCING_TOKEN", token, 1);
	setenv("LEASE_HOLDER_ID", lease->holder, 1);
	setenv("LEASE_EXPIRES_AT", lease->expires, 1);
}

_Noreturn static void become(const struct command *command, const struct options *options,
			     pid_t parent)
{
	int error;

	/* Not SIGTERM: nobody would be left to follow it up. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_LOST);
	if (command->group) {
		setpgid(0, 0);
		if (command->took_over)
			tcsetpgrp(command->terminal, getpid());
	}
	sigaction(SIGCHLD, &command->child_action, NULL);
	sigprocmask(SIG_SETMASK, &command->mask, NULL);
	execvp(options->rest[0], options->rest);
	error = errno;
	fprintf(stderr, "leasectl: cannot run %s: %s\n", options->rest[0], strerror(error));
	_exit(error == ENOENT || error == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

bool command_start(struct command *command, const struct options *options, const struct post *lease)
{
	pid_t parent = getpid(), pid;
	bool own = !in_foreground(command);

	command->took_over = may_hand_over(command);
	command->group = own || command->took_over; /* in the child: that there is one */
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return false;
	if (pid == 0) {
		set_environment(options, lease);
		become(command, options, parent);
	}
	command->pid = pid;
	if (command->group) {
		/* Both sides do it: whoever comes first, it is done for the other. */
		setpgid(pid, pid);
		command->group = pid;
		if (command->took_over)
			tcsetpgrp(command->terminal, pid);
	}
	return true;
}

void command_signal(const struct command *command, int number)
{
	if (command->group)
		kill(-command->group, number);
	else if (command->pid)
		kill(command->pid, number);
}

void command_take_terminal(struct command *command)
{
	if (command->took_over && tcgetpgrp(command->terminal) == command->group)
		tcsetpgrp(command->terminal, getpgrp());
}

void command_give_terminal(struct command *command)
{
	if (command->group && may_hand_over(command)) {
		command->took_over = true;
		tcsetpgrp(command->terminal, command->group);
	}
}
