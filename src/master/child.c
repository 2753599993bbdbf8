/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers: birth, back-off, drain, death. waitpid stands only here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/control.h"
#include "master/attendant.h"
#include "master/state.h"

#define YOUNG_US	(1 * CLOCK_SECOND) /* who dies younger has a successor with a delay */
#define BACKOFF_US	(100 * CLOCK_MILLI)
#define BACKOFF_MOST_US (5 * CLOCK_SECOND)
#define LATE_US		(10 * CLOCK_SECOND)
#define GRACE_US	(1 * CLOCK_SECOND)   /* beyond the worker's own shutdown_timeout */
#define STOP_MOST_US	(9500 * CLOCK_MILLI) /* all are gone within 10 s, whatever is set */

static bool wanted(const struct master *master, unsigned slot)
{
	return !master->stopping && slot < master->settings->workers;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void child_close_ends(struct master *master)
{
	for (unsigned i = 0; i < DRIVER_WORKERS_MAX; i++)
		close_end(&master->child[i].control);
	close_end(&master->signals);
	close_end(&master->ready);
	notify_close(&master->notify);
}

/* In the new process. Descriptors that are not this worker's are closed: with another worker's
 * control end open here, that worker would never see the end of its master. */
static _Noreturn void become_worker(struct master *master, unsigned slot, int control)
{
	const struct worker_setup setup = {
	    .slot = slot,
	    .listen = master->listen.fd,
	    .listen_count = master->listen.count,
	    .control = control,
	    .settings = master->settings,
	    .shared = master->shared,
	    .board = master->board,
	    .meter = master->meter,
	    .reload = master->setup->config->reload,
	    .settings_free = master->setup->config->free,
	};
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != master->pid)
		_exit(0); /* the master died before the line above */
	child_close_ends(master);
	close_end(&master->attendant.listen);
	status = master->setup->worker_run(&setup);
	fflush(NULL);
	_exit(status);
}

static void plan_start(struct child *child, int64_t now)
{
	child->backoff_us = child->backoff_us ? child->backoff_us * 2 : BACKOFF_US;
	if (child->backoff_us > BACKOFF_MOST_US)
		child->backoff_us = BACKOFF_MOST_US;
	child->start_us = now + child->backoff_us;
}

static void start_failed(struct child *child, unsigned slot, const char *what)
{
	int error = errno;

	plan_start(child, clock_boot_us());
	log_error("worker cannot be started", LOG_INT("slot", slot), LOG_TEXT("call", what),
		  LOG_TEXT("error", strerror(error)),
		  LOG_INT("again_ms", child->backoff_us / CLOCK_MILLI));
}

static void start(struct master *master, unsigned slot)
{
	struct child *child = &master->child[slot];
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) {
		start_failed(child, slot, "socketpair");
		return;
	}
	fflush(NULL); /* else both processes would write what is buffered */
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		become_worker(master, slot, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		start_failed(child, slot, "fork");
		close(ends[0]);
		return;
	}
	child->pid = pid;
	child->control = ends[0];
	child->ready = false;
	child->late = false;
	child->born_us = clock_boot_us();
	child->start_us = CLOCK_NEVER;
	child->kill_us = CLOCK_NEVER;
	log_debug("worker started", LOG_INT("slot", slot), LOG_INT("pid", pid));
}

static void log_death(const struct child *child, unsigned slot, int status, int64_t lived)
{
	bool crashed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
	bool told = child->kill_us != CLOCK_NEVER;

	log_write(crashed ? LEVEL_ERROR
		  : told  ? LEVEL_DEBUG
			  : LEVEL_INFO,
		  crashed ? "worker died" : "worker ended", LOG_INT("slot", slot),
		  LOG_INT("pid", child->pid),
		  WIFSIGNALED(status) ? LOG_TEXT("signal", strsignal(WTERMSIG(status)))
				      : LOG_INT("status", WEXITSTATUS(status)),
		  LOG_INT("lived_ms", lived / CLOCK_MILLI), LOG_END);
}

/* The drivers first: a successor in the slot must not meet its predecessor's things unburied. */
static void bury(struct master *master, unsigned slot)
{
	for (size_t i = 0; i < master->shared_count; i++) {
		const struct driver *driver = master->settings->backend[i].driver;

		if (driver->bury)
			driver->bury(master->shared[i], slot);
	}
}

/* Whether the next one in the slot would probably end the same way. A ready worker that got
 * SIGKILL did nothing wrong: that signal comes from outside. */
static bool died_young(const struct child *child, int status, int64_t lived)
{
	bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

	return lived < YOUNG_US && !(killed && child->ready);
}

static void died(struct master *master, unsigned slot, int status)
{
	struct child *child = &master->child[slot];
	int64_t now = clock_boot_us(), lived = now - child->born_us;
	bool young;

	if (child->control >= 0)
		child_hear(master, slot); /* its last word may still be there */
	young = died_young(child, status, lived);
	log_death(child, slot, status, lived);
	close_end(&child->control);
	board_leave(master->board, slot);
	bury(master, slot);
	child->pid = 0;
	child->ready = false;
	child->kill_us = CLOCK_NEVER;
	child->start_us = CLOCK_NEVER;
	if (!wanted(master, slot))
		return;
	meter_restarted(master->meter);
	if (young) {
		plan_start(child, now);
		log_warn("worker died young: its successor waits", LOG_INT("slot", slot),
			 LOG_INT("wait_ms", child->backoff_us / CLOCK_MILLI));
	} else {
		child->backoff_us = 0;
		child->start_us = now;
	}
}

void child_reap(struct master *master)
{
	int status;
	pid_t pid;

	/* Strangers too: as pid 1 of a container the master inherits orphans. */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (attendant_died(master, pid, status))
			continue;
		for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
			if (master->child[slot].pid == pid)
				died(master, slot, status);
	}
}

static void tick(struct master *master, unsigned slot, int64_t now)
{
	struct child *child = &master->child[slot];

	if (child->pid == 0) {
		if (child->start_us <= now && wanted(master, slot))
			start(master, slot);
		return;
	}
	if (child->kill_us <= now) {
		log_error("worker does not end and is killed", LOG_INT("slot", slot),
			  LOG_INT("pid", child->pid));
		kill(child->pid, SIGKILL);
		child->kill_us = now + CLOCK_SECOND; /* only reaping takes it from the slot */
	}
	if (!child->ready && !child->late && child->born_us + LATE_US <= now) {
		child->late = true;
		log_error("worker is not ready", LOG_INT("slot", slot), LOG_INT("pid", child->pid),
			  LOG_INT("after_ms", LATE_US / CLOCK_MILLI));
	}
}

void child_tick(struct master *master, int64_t now)
{
	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
		tick(master, slot, now);
}

int64_t child_next(const struct master *master)
{
	int64_t next = CLOCK_NEVER;

	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++) {
		const struct child *child = &master->child[slot];
		int64_t late = child->born_us + LATE_US;

		if (child->pid == 0 && wanted(master, slot) && child->start_us < next)
			next = child->start_us;
		if (child->pid != 0 && child->kill_us < next)
			next = child->kill_us;
		if (child->pid != 0 && !child->ready && !child->late && late < next)
			next = late;
	}
	return next;
}

void child_hear(struct master *master, unsigned slot)
{
	struct child *child = &master->child[slot];
	enum control_word word;
	enum err err;
	int fd;

	while ((err = control_receive(child->control, &word, &fd)) == ERR_OK) {
		if (fd >= 0)
			close(fd);
		if (word != CONTROL_READY || child->ready)
			continue;
		child->ready = true;
		if (child->kill_us == CLOCK_NEVER)
			board_enter(master->board, slot);
		log_info("worker is ready", LOG_INT("slot", slot), LOG_INT("pid", child->pid));
	}
	/* End of file: it is dead or dying, waitpid will say which. */
	if (err == ERR_SYSTEM)
		close_end(&child->control);
}

void child_drain(struct master *master, unsigned slot)
{
	struct child *child = &master->child[slot];
	int64_t patience = master->settings->shutdown_timeout_us + GRACE_US;

	if (child->pid == 0 || child->kill_us != CLOCK_NEVER)
		return;
	if (patience > STOP_MOST_US)
		patience = STOP_MOST_US;
	child->kill_us = clock_boot_us() + patience;
	board_leave(master->board, slot); /* it takes no more connections, others must */
	if (child->control >= 0 && control_send(child->control, CONTROL_DRAIN, -1) != ERR_OK)
		log_error("worker cannot be told to end", LOG_INT("slot", slot),
			  LOG_TEXT("error", strerror(errno)));
}

void child_fit(struct master *master)
{
	int64_t now = clock_boot_us();

	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++) {
		struct child *child = &master->child[slot];

		if (!wanted(master, slot))
			child_drain(master, slot);
		else if (child->pid == 0 && child->start_us == CLOCK_NEVER)
			child->start_us = now;
	}
}

void child_kill_all(struct master *master)
{
	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
		if (master->child[slot].pid != 0)
			kill(master->child[slot].pid, SIGKILL);
}

void child_reload_all(struct master *master, int memfd)
{
	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++) {
		struct child *child = &master->child[slot];

		if (child->pid == 0 || child->control < 0)
			continue;
		if (control_send(child->control, CONTROL_RELOAD, memfd) != ERR_OK)
			log_error("worker cannot be told of the new configuration",
				  LOG_INT("slot", slot), LOG_INT("pid", child->pid),
				  LOG_TEXT("error", strerror(errno)));
	}
}

unsigned child_count(const struct master *master)
{
	unsigned count = 0;

	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
		count += master->child[slot].pid != 0;
	return count;
}

bool child_all_ready(const struct master *master)
{
	for (unsigned slot = 0; slot < master->settings->workers; slot++)
		if (!master->child[slot].ready)
			return false;
	return true;
}
