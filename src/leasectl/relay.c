/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>

#include "leasectl/family.h"
#include "leasectl/relay.h"

/* The command was stopped, by Ctrl-Z or otherwise: so are we, for the shell to see. */
static void stop_with_command(struct supervisor *supervisor)
{
	if (supervisor->command.group == 0)
		return;
	command_take_terminal(&supervisor->command);
	options_notice(supervisor->options, "stopped; %s/%s stays held",
		       supervisor->options->name_space, supervisor->options->key);
	raise(SIGSTOP);
}

static void command_changed(struct supervisor *supervisor, int status)
{
	if (WIFSTOPPED(status)) {
		if (supervisor->state == SUPERVISOR_RUNNING)
			stop_with_command(supervisor);
		return;
	}
	if (!WIFEXITED(status) && !WIFSIGNALED(status))
		return;
	supervisor->command.pid = 0;
	supervisor->status =
	    WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status);
	if (supervisor->state == SUPERVISOR_RUNNING && family_signal(supervisor->keeper, 0, 0) > 0)
		supervisor_end(supervisor);
	if (supervisor->state == SUPERVISOR_RUNNING)
		supervisor_release(supervisor);
}

void relay_reap(struct supervisor *supervisor)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid == supervisor->keeper && (WIFEXITED(status) || WIFSIGNALED(status)))
			supervisor->keeper = 0;
		else if (pid == supervisor->command.pid)
			command_changed(supervisor, status);
	}
	if (supervisor->state == SUPERVISOR_ENDING || supervisor->state == SUPERVISOR_KILLING)
		supervisor_look(supervisor);
}

/* WAITING has no command to ask: the process itself is meant. */
static void signal_waiting(struct supervisor *supervisor, int number)
{
	if (number == SIGTSTP) {
		raise(SIGSTOP);
	} else if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT) {
		supervisor->status = STATUS_SIGNAL + number;
		supervisor_release(supervisor);
	}
}

void relay_signal(struct supervisor *supervisor, const struct signalfd_siginfo *info)
{
	struct command *command = &supervisor->command;
	int number = (int)info->ssi_signo;
	/* From the terminal everybody in the group has got it already. */
	bool shared = info->ssi_code == SI_KERNEL && !command->group;

	if (supervisor->state == SUPERVISOR_WAITING) {
		signal_waiting(supervisor, number);
		return;
	}
	if (supervisor->state > SUPERVISOR_ENDING)
		return;
	if (number == SIGCONT)
		command_give_terminal(command);
	if (number == SIGINT && !shared && ++supervisor->interrupts > 1) {
		supervisor->state = SUPERVISOR_KILLING;
		return;
	}
	if (!shared)
		command_signal(command, number);
	if (number == SIGTSTP && !command->group)
		raise(SIGSTOP);
}
