/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/admin.h"
#include "master/attendant.h"

#define AGAIN_US CLOCK_SECOND /* no two starts within this time */

enum err attendant_open(struct master *master, char *why)
{
	struct attendant *attendant = &master->attendant;

	if (!master->settings->metrics.text)
		return ERR_OK;
	attendant->start_us = clock_boot_us();
	return listen_one(&master->settings->metrics, &attendant->listen, why);
}

/* In the new process: nothing of the master's but the socket and the counters. */
static _Noreturn void become(struct master *master)
{
	const struct admin_setup setup = {
	    .listen = master->attendant.listen,
	    .settings = master->settings,
	    .board = master->board,
	    .meter = master->meter,
	    .started_us = master->started_us,
	};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != master->pid)
		_exit(0);
	child_close_ends(master);
	for (size_t i = 0; i < master->listen.count; i++)
		close(master->listen.fd[i]);
	/* A terminal's Ctrl-C reaches the whole group: it is the master that ends us. */
	usual.sa_handler = SIG_IGN;
	sigaction(SIGINT, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	log_role("admin");
	_exit(master->setup->admin_run(&setup));
}

void attendant_tick(struct master *master, int64_t now)
{
	struct attendant *attendant = &master->attendant;
	pid_t pid;

	if (attendant->pid || now < attendant->start_us || master->stopping)
		return;
	attendant->start_us = now + AGAIN_US;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become(master);
	if (pid < 0) {
		log_error("admin process cannot be started", LOG_TEXT("error", strerror(errno)));
		return;
	}
	attendant->pid = pid;
	log_debug("admin process started", LOG_INT("pid", pid));
}

int64_t attendant_next(const struct master *master)
{
	return master->attendant.pid || master->stopping ? CLOCK_NEVER : master->attendant.start_us;
}

bool attendant_died(struct master *master, pid_t pid, int status)
{
	if (pid != master->attendant.pid)
		return false;
	master->attendant.pid = 0;
	log_error("admin process died", LOG_INT("pid", pid), LOG_INT("status", status));
	return true;
}

void attendant_close(struct master *master)
{
	struct attendant *attendant = &master->attendant;

	if (attendant->pid) {
		kill(attendant->pid, SIGKILL);
		waitpid(attendant->pid, NULL, 0);
		attendant->pid = 0;
	}
	if (attendant->listen >= 0)
		close(attendant->listen);
	attendant->listen = -1;
}
