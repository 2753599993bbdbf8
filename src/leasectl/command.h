/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/command.h - the command of `run`: its birth, its process group and its terminal. */
#ifndef LEASED_LEASECTL_COMMAND_H
#define LEASED_LEASECTL_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "leasectl/options.h"
#include "leasectl/post.h"

struct command {
	pid_t pid;	/* 0: not started, or reaped */
	pid_t group;	/* its own process group; 0: it stays in ours */
	int terminal;	/* the controlling terminal, -1 when there is none */
	bool took_over; /* its group is the foreground group of the terminal */
	sigset_t mask;	/* what it starts with */
	struct sigaction child_action;
};

/* Decides on group and terminal. A shell's job of one process hands the terminal over, so that
 * Ctrl-C and Ctrl-Z reach the command alone. In a pipeline or a script others need the terminal
 * too: the command stays in the caller's group, and the kernel signals each of them once. Without a
 * terminal in the foreground it has a group of its own. */
void command_prepare(struct command *command);

/* Forks and executes; the child dies with its parent by SIGKILL. False with errno. */
bool command_start(struct command *command, const struct options *options,
		   const struct post *lease);

/* Sends a signal to the command's group, or to the command when it has none. */
void command_signal(const struct command *command, int number);

/* Terminal back to us, and to the command again. */
void command_take_terminal(struct command *command);
void command_give_terminal(struct command *command);

#endif
