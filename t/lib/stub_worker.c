/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker without gRPC, for tests of the master: it accepts connections and tells each its slot
 * and pid, and what it was configured with. How it misbehaves is said by the namespaces of the
 * configuration: "die-young", "never-ready", "ignore-drain", "slow-drain". */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "core/control.h"
#include "shm/driver.h"
#include "worker/worker.h"
#include "stub_driver.h"

static bool told(const struct settings *settings, const char *name)
{
	return settings_namespace(settings, bytes_of(name)) != NULL;
}

static void answer(const struct worker_setup *setup, const struct settings *settings, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char line[4096];
	int len;

	if (fd < 0)
		return; /* another worker was faster */
	len = snprintf(line, sizeof line, "%u %ld", setup->slot, (long)getpid());
	for (size_t i = 0; i < settings->namespace_count && len < 4000; i++)
		len += snprintf(line + len, sizeof line - (size_t)len, " %.*s",
				(int)settings->name_space[i].name.len,
				(const char *)settings->name_space[i].name.data);
	len += snprintf(line + len, sizeof line - (size_t)len, "\n");
	if (send(fd, line, (size_t)len, MSG_NOSIGNAL) != len)
		log_warn("short answer");
	close(fd);
}

/* 0 = go on, 1 = drain, 2 = the master is gone. */
static int hear(const struct worker_setup *setup, struct settings **own)
{
	enum control_word word;
	struct settings *next;
	int fd;
	enum err err = control_receive(setup->control, &word, &fd);

	if (err == ERR_SYSTEM)
		return 2;
	if (err == ERR_PENDING)
		return 0;
	if (word == CONTROL_DRAIN)
		return 1;
	next = setup->reload(fd, *own ? *own : setup->settings);
	close(fd);
	if (!next) {
		log_error("reload failed in the worker");
		return 0;
	}
	setup->settings_free(*own);
	*own = next;
	return 0;
}

static int drain(const struct settings *settings)
{
	if (told(settings, "ignore-drain"))
		pause();
	if (told(settings, "slow-drain"))
		poll(NULL, 0, 300);
	return 0;
}

int worker_run(const struct worker_setup *setup)
{
	struct pollfd polled[1 + 128] = {{setup->control, POLLIN, 0}};
	struct settings *own = NULL;
	static char role[16];
	int state = 0;

	snprintf(role, sizeof role, "worker-%u", setup->slot);
	log_role(role);
	if (told(setup->settings, "die-young"))
		return 3;
	if (told(setup->settings, "never-ready"))
		pause();
	for (size_t i = 0; i < setup->listen_count && i < 128; i++)
		polled[1 + i] = (struct pollfd){setup->listen[i], POLLIN, 0};
	control_send(setup->control, CONTROL_READY, -1);
	while (state == 0) {
		const struct settings *settings = own ? own : setup->settings;

		poll(polled, 1 + (nfds_t)setup->listen_count, -1);
		for (size_t i = 0; i < setup->listen_count; i++)
			if (polled[1 + i].revents)
				answer(setup, settings, setup->listen[i]);
		if (polled[0].revents)
			state = hear(setup, &own);
	}
	state = state == 1 ? drain(own ? own : setup->settings) : 1;
	setup->settings_free(own);
	return state;
}
