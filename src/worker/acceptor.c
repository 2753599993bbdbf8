/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/board.h"
#include "core/control.h"
#include "worker/acceptor.h"

enum {
	YIELD_MS = 1,	  /* head start for a less loaded worker */
	BACKOFF_MS = 100, /* no descriptors left */
};

struct acceptor {
	struct server *server;
	pthread_t thread;
	int stop; /* eventfd */
	bool ready;
	int64_t next_complaint_us;
	grpc_server_credentials *credentials;
	struct pollfd *fds; /* stop, control, then the listening sockets */
};

static void complain(struct acceptor *acceptor, int error)
{
	int64_t now = clock_boot_us();

	if (now < acceptor->next_complaint_us)
		return;
	acceptor->next_complaint_us = now + 10 * CLOCK_SECOND;
	log_warn("connections cannot be accepted", LOG_TEXT("why", strerror(error)));
}

static void hand_over(struct acceptor *acceptor, int fd)
{
	int one = 1;

	/* Fails on a unix socket, which has no such option. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	grpc_server_add_channel_from_fd(acceptor->server->grpc, fd, acceptor->credentials);
	board_accepted(acceptor->server->setup->board, acceptor->server->setup->slot);
}

/* Takes one connection; false when there is none (another worker was faster). */
static bool take(struct acceptor *acceptor, int listen)
{
	int fd = accept4(listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		hand_over(acceptor, fd);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		complain(acceptor, errno);
		poll(acceptor->fds, 2, BACKOFF_MS);
	}
	return false;
}

/* The least loaded worker goes first; the others give it a moment, so that a frozen one costs a
 * millisecond and not a connection. */
static void take_turn(struct acceptor *acceptor, struct pollfd *ready)
{
	const struct worker_setup *setup = acceptor->server->setup;

	if (!board_is_least(setup->board, setup->slot)) {
		poll(acceptor->fds, 2, YIELD_MS);
		if (poll(ready, 1, 0) != 1)
			return;
	}
	take(acceptor, ready->fd);
}

static void reload(struct acceptor *acceptor, int fd)
{
	struct server *server = acceptor->server;
	struct settings *fresh = server->setup->reload(fd, server->setup->settings);

	close(fd);
	if (!fresh) {
		log_error("new configuration cannot be read, the old one stays");
		return;
	}
	/* One that the loop has not taken yet was never used. */
	fresh = atomic_exchange(&server->fresh, fresh);
	if (fresh)
		server->setup->settings_free(fresh);
	server_kick(server);
}

static void hear(struct acceptor *acceptor)
{
	enum control_word word;
	int fd = -1;
	enum err err = control_receive(acceptor->server->setup->control, &word, &fd);

	if (err == ERR_PENDING)
		return;
	if (err != ERR_OK)
		_exit(1); /* the master is gone: nobody may serve its table or port */
	if (word == CONTROL_RELOAD && fd >= 0)
		reload(acceptor, fd);
	else if (fd >= 0)
		close(fd);
	if (word == CONTROL_DRAIN) {
		atomic_store(&acceptor->server->drain_wanted, true);
		server_kick(acceptor->server);
	}
}

static void *run(void *arg)
{
	struct acceptor *acceptor = arg;
	nfds_t count = (nfds_t)(2 + acceptor->server->setup->listen_count);

	for (;;) {
		bool draining = atomic_load(&acceptor->server->drain_wanted);

		if (poll(acceptor->fds, draining ? 2 : count, -1) < 0)
			continue;
		if (acceptor->fds[0].revents)
			return NULL;
		if (acceptor->fds[1].revents) {
			hear(acceptor); /* perhaps a drain: then nothing more is accepted */
			continue;
		}
		for (nfds_t i = 2; !draining && i < count; i++)
			if (acceptor->fds[i].revents)
				take_turn(acceptor, &acceptor->fds[i]);
	}
}

static void watch(struct acceptor *acceptor)
{
	const struct worker_setup *setup = acceptor->server->setup;

	acceptor->fds[0] = (struct pollfd){acceptor->stop, POLLIN, 0};
	acceptor->fds[1] = (struct pollfd){setup->control, POLLIN, 0};
	for (size_t i = 0; i < setup->listen_count; i++)
		acceptor->fds[2 + i] = (struct pollfd){setup->listen[i], POLLIN, 0};
}

struct acceptor *acceptor_start(struct server *server)
{
	struct acceptor *acceptor = calloc(1, sizeof *acceptor);

	if (!acceptor)
		return NULL;
	acceptor->server = server;
	acceptor->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	acceptor->fds = calloc(2 + server->setup->listen_count, sizeof *acceptor->fds);
	acceptor->credentials = grpc_insecure_server_credentials_create();
	if (acceptor->stop >= 0 && acceptor->fds) {
		watch(acceptor);
		acceptor->ready = pthread_create(&acceptor->thread, NULL, run, acceptor) == 0;
	}
	if (acceptor->ready && control_send(server->setup->control, CONTROL_READY, -1) == ERR_OK)
		return acceptor;
	acceptor_stop(acceptor);
	return NULL;
}

void acceptor_stop(struct acceptor *acceptor)
{
	if (acceptor->ready) {
		eventfd_write(acceptor->stop, 1);
		pthread_join(acceptor->thread, NULL);
	}
	grpc_server_credentials_release(acceptor->credentials);
	if (acceptor->stop >= 0)
		close(acceptor->stop);
	free(acceptor->fds);
	free(acceptor);
}
