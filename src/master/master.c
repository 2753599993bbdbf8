/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "master/attendant.h"
#include "master/daemon.h"
#include "master/master.h"
#include "master/retry.h"
#include "master/state.h"
#include "master/state_dir.h"
#include "master/upgrade.h"

enum { WHY = 512, PIDFILE_MODE = 0644 };

/* A start in the background that is not ready by then has failed. */
#define START_US (15 * CLOCK_SECOND)

/* For people at the terminal, and for the log when that is elsewhere. */
static int fail(struct master *master, int status, const char *why)
{
	fprintf(stderr, "leased: error: %s\n", why);
	if (master->settings->log_target != LOG_TARGET_STDERR)
		log_fatal("start failed", LOG_TEXT("error", why));
	return status;
}

/* Signals wait in a descriptor from before the first fork on, so that none is lost. */
static bool take_signals(struct master *master)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1); /* for logs; never the end */
	sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || sigaction(SIGPIPE, &ignore, NULL) < 0)
		return false;
	master->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return master->signals >= 0;
}

/* A connection is a descriptor. Not being allowed more is no reason not to start. */
static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int take_pidfile(struct master *master)
{
	const char *path = master->setup->pidfile;
	int64_t until = retry_until();
	char why[WHY];
	pid_t holder;
	enum err err;

	if (!path)
		return MASTER_EXIT_OK;
	do
		err = lockfile_take(&master->pidfile, path, PIDFILE_MODE, &holder);
	while (err == ERR_PENDING && retry_pause(until));
	if (!err)
		return MASTER_EXIT_OK;
	if (err == ERR_PENDING && holder > 0)
		snprintf(why, sizeof why, "pid file %s: leased already runs with pid %ld", path,
			 (long)holder);
	else if (err == ERR_PENDING)
		snprintf(why, sizeof why, "pid file %s: leased already runs, pid unknown", path);
	else
		snprintf(why, sizeof why, "pid file %s: %s", path, strerror(errno));
	return fail(master, MASTER_EXIT_SYSTEM, why);
}

static int write_pidfile(struct master *master)
{
	char why[WHY];

	if (master->pidfile.fd < 0 || lockfile_write(&master->pidfile) == ERR_OK)
		return MASTER_EXIT_OK;
	snprintf(why, sizeof why, "pid file %s: %s", master->setup->pidfile, strerror(errno));
	return fail(master, MASTER_EXIT_SYSTEM, why);
}

/* The backends' shared parts, made once, before any worker exists. */
static int prepare(struct master *master)
{
	const struct settings *settings = master->settings;
	char why[DRIVER_WHY] = "", text[DRIVER_WHY + 128];

	master->shared = calloc(settings->backend_count + 1, sizeof *master->shared);
	if (!master->shared)
		return fail(master, MASTER_EXIT_SYSTEM, "out of memory");
	for (; master->shared_count < settings->backend_count; master->shared_count++) {
		const struct backend_settings *backend = &settings->backend[master->shared_count];
		const struct driver_place place = {.backend = backend->name,
						   .state_dir = settings->state_dir,
						   .workers = settings->workers};

		if (backend->driver->prepare(&place, backend->value,
					     &master->shared[master->shared_count], why) == ERR_OK)
			continue;
		snprintf(text, sizeof text, "backend \"%s\": %s", backend->name, why);
		return fail(master, MASTER_EXIT_BACKEND, text);
	}
	return MASTER_EXIT_OK;
}

/* Everything before the first worker; an exit status. */
static int set_up(struct master *master)
{
	char why[WHY];
	int status;

	if (!take_signals(master))
		return fail(master, MASTER_EXIT_SYSTEM, strerror(errno));
	raise_limit();
	status = take_pidfile(master);
	if (status)
		return status;
	if (state_dir_make(master->settings->state_dir, why, sizeof why) != ERR_OK ||
	    listen_open(&master->listen, master->settings, why) != ERR_OK ||
	    attendant_open(master, why) != ERR_OK)
		return fail(master, MASTER_EXIT_SYSTEM, why);
	master->board = board_create();
	master->meter = meter_create();
	status = prepare(master);
	return status ? status : write_pidfile(master);
}

static void close_drivers(struct master *master)
{
	for (size_t i = 0; i < master->shared_count; i++)
		master->settings->backend[i].driver->close(master->shared[i]);
	master->shared_count = 0;
}

static void tear_down(struct master *master)
{
	close_drivers(master);
	free(master->shared);
	attendant_close(master);
	listen_close(&master->listen);
	lockfile_drop(&master->pidfile);
	notify_close(&master->notify);
	if (master->signals >= 0)
		close(master->signals);
	master->setup->config->free(master->settings);
}

static void end_workers(struct master *master, const char *signal)
{
	log_info("stopping", LOG_TEXT("signal", signal), LOG_INT("workers", child_count(master)));
	master->stopping = true;
	child_fit(master);
}

static void stop(struct master *master, const char *signal)
{
	if (master->upgrading) {
		log_info("no upgrade: told to stop", LOG_TEXT("signal", signal));
		master->upgrading = false;
		notify_stopping(&master->notify);
		return;
	}
	if (master->stopping) {
		log_warn("told again to stop: workers are killed", LOG_TEXT("signal", signal));
		child_kill_all(master);
		return;
	}
	notify_stopping(&master->notify);
	end_workers(master, signal);
}

/* As a reload, for the service manager: the process stays, and is ready again when the new program
 * says so. */
static void upgrade(struct master *master)
{
	if (!upgrade_judge(master))
		return;
	notify_reloading(&master->notify);
	end_workers(master, "USR2");
	master->upgrading = true;
}

/* The old workers serve on whatever comes of it, so the manager need not wait for new ones. One
 * that comes while the server starts is part of the start. */
static void reload(struct master *master)
{
	if (master->serving)
		notify_reloading(&master->notify);
	reload_now(master);
	if (master->serving)
		notify_ready(&master->notify, master->settings->workers);
}

/* Whatever came together is done in a fixed order: reap, stop, reload, upgrade. */
static void handle_signals(struct master *master)
{
	struct signalfd_siginfo info;
	const char *end = NULL;
	bool again = false, hangup = false, become = false;

	while (read(master->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGHUP) {
			hangup = true;
		} else if (info.ssi_signo == SIGUSR2) {
			become = true;
		} else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
			again = end != NULL;
			end = info.ssi_signo == SIGTERM ? "TERM" : "INT";
		}
	}
	child_reap(master);
	if (end)
		stop(master, end);
	if (again)
		stop(master, end);
	if (hangup && !master->stopping)
		reload(master);
	if (become && master->serving && !master->stopping)
		upgrade(master);
}

/* The first time that all workers serve, the start is over. */
static void check_serving(struct master *master)
{
	if (master->serving || master->stopping || !child_all_ready(master))
		return;
	master->serving = true;
	master->give_up_us = CLOCK_NEVER;
	log_info("serving", LOG_INT("pid", master->pid),
		 LOG_INT("workers", master->settings->workers));
	daemon_tell(&master->ready, MASTER_EXIT_OK,
		    master->settings->log_target == LOG_TARGET_STDERR);
	notify_ready(&master->notify, master->settings->workers);
}

static void check_start(struct master *master, int64_t now)
{
	if (master->give_up_us > now)
		return;
	master->give_up_us = CLOCK_NEVER;
	master->status = fail(master, MASTER_EXIT_BUG, "the workers do not come up, see the log");
	stop(master, "none");
}

static int timeout_ms(const struct master *master, int64_t now)
{
	int64_t next = child_next(master), wait;

	if (master->give_up_us < next)
		next = master->give_up_us;
	if (master->notify.next_us < next)
		next = master->notify.next_us;
	if (attendant_next(master) < next)
		next = attendant_next(master);
	if (next == CLOCK_NEVER)
		return -1;
	wait = (next - now + CLOCK_MILLI - 1) / CLOCK_MILLI;
	return wait < 0 ? 0 : wait > 60000 ? 60000 : (int)wait;
}

/* Sleeps until a signal, a worker's word or the next deadline. */
static void wait_for_event(struct master *master)
{
	struct pollfd polled[1 + DRIVER_WORKERS_MAX] = {{master->signals, POLLIN, 0}};
	unsigned slot_of[1 + DRIVER_WORKERS_MAX] = {0};
	nfds_t count = 1;

	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++) {
		if (master->child[slot].control < 0)
			continue;
		slot_of[count] = slot;
		polled[count++] = (struct pollfd){master->child[slot].control, POLLIN, 0};
	}
	if (poll(polled, count, timeout_ms(master, clock_boot_us())) <= 0)
		return;
	for (nfds_t i = 1; i < count; i++)
		if (polled[i].revents)
			child_hear(master, slot_of[i]);
	if (polled[0].revents)
		handle_signals(master);
}

static void loop(struct master *master)
{
	child_fit(master);
	for (;;) {
		int64_t now = clock_boot_us();

		child_tick(master, now);
		attendant_tick(master, now);
		check_start(master, now);
		notify_tick(&master->notify, now);
		if (master->stopping && child_count(master) == 0)
			return;
		wait_for_event(master);
		check_serving(master);
	}
}

int master_run(const struct master_setup *setup, struct settings *settings)
{
	struct master master = {.setup = setup,
				.settings = settings,
				.pidfile.fd = -1,
				.pid = getpid(),
				.signals = -1,
				.attendant = {.listen = -1, .start_us = CLOCK_NEVER},
				.started_us = clock_wall_us(),
				.ready = setup->ready,
				.give_up_us = CLOCK_NEVER};

	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
		master.child[slot] =
		    (struct child){.control = -1, .start_us = CLOCK_NEVER, .kill_us = CLOCK_NEVER};
	notify_open(&master.notify, master.pid);
	master.status = set_up(&master);
	if (master.status == MASTER_EXIT_OK) {
		if (master.ready >= 0)
			master.give_up_us = clock_boot_us() + START_US;
		setup->config->log_notes(settings);
		loop(&master);
		log_info(master.upgrading ? "workers are gone: becoming the new program"
					  : "stopped");
	}
	if (master.upgrading) {
		attendant_close(&master);
		close_drivers(&master);
		upgrade_exec(&master);
		master.status = MASTER_EXIT_SYSTEM;
	}
	tear_down(&master);
	daemon_tell(&master.ready, master.status ? master.status : MASTER_EXIT_BUG, 1);
	return master.status;
}
