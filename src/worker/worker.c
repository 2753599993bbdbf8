/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/acceptor.h"
#include "worker/reflection.h"
#include "worker/server.h"
#include "worker/worker.h"

/* The master's death closes the control pair, which the acceptor sees; this covers a worker that is
 * stuck. The parent may be dead already: then the pair tells. */
static void die_with_master(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* A terminal's Ctrl-C reaches the whole group: only the master acts on it, and drains us. */
static void ignore_signals(void)
{
	sigset_t none;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void name_process(unsigned slot)
{
	static char role[24];

	snprintf(role, sizeof role, "worker-%u", slot);
	log_role(role);
	snprintf(role, sizeof role, "worker-%u", slot);
	prctl(PR_SET_NAME, role);
}

int worker_run(const struct worker_setup *setup)
{
	static struct server server;
	struct acceptor *acceptor;

	die_with_master();
	ignore_signals();
	name_process(setup->slot);
	grpc_init();
	reflection_init();
	if (server_start(&server, setup) != ERR_OK)
		return 1;
	acceptor = acceptor_start(&server);
	if (!acceptor) {
		log_error("acceptor cannot be started");
		return 1;
	}
	log_info("worker serves", LOG_INT("pid", getpid()));
	server_run(&server);
	acceptor_stop(acceptor);
	server_stop(&server);
	grpc_shutdown();
	return 0;
}
