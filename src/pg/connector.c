/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "pg/connector.h"
#include "pg/thread.h"

static void ring(int bell)
{
	uint64_t one = 1;

	(void)!write(bell, &one, sizeof one);
}

/* The next order, its place in *link. False: the end. Lock held; waits. */
static bool next_order(struct pg_connector *connector, unsigned *link, struct pg_order *order)
{
	enum { PLACES = PG_CONNECTIONS_MAX + 2 };

	for (;;) {
		if (connector->ending)
			return false;
		for (unsigned i = 0; !connector->ready && i < PLACES; i++) {
			*link = (connector->turn + i) % PLACES;
			if (!connector->order[*link].wanted)
				continue;
			*order = connector->order[*link];
			connector->order[*link].wanted = false;
			connector->turn = *link + 1;
			return true;
		}
		pthread_cond_wait(&connector->wake, &connector->lock);
	}
}

static void *run(void *arg)
{
	struct pg_connector *connector = arg;
	struct pg_order order;
	unsigned link;

	pthread_mutex_lock(&connector->lock);
	while (next_order(connector, &link, &order)) {
		struct pg_session session;

		pthread_mutex_unlock(&connector->lock);
		pg_session_open(connector->shared, order.role, &order.past, connector->stop,
				&session);
		pthread_mutex_lock(&connector->lock);
		if (connector->ending) {
			PQfinish(session.pg);
			break;
		}
		connector->made = session;
		connector->made_for = link;
		connector->ready = true;
		ring(connector->bell);
	}
	connector->ended = true;
	pthread_cond_signal(&connector->wake);
	pthread_mutex_unlock(&connector->lock);
	return NULL;
}

enum err pg_connector_start(struct pg_connector *connector, const struct driver_shared *shared,
			    int bell)
{
	pthread_condattr_t attr;

	*connector = (struct pg_connector){.shared = shared, .bell = bell};
	CHECK(pthread_mutex_init(&connector->lock, NULL) == 0);
	CHECK(pthread_condattr_init(&attr) == 0);
	CHECK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
	CHECK(pthread_cond_init(&connector->wake, &attr) == 0);
	pthread_condattr_destroy(&attr);
	connector->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (connector->stop < 0)
		return ERR_SYSTEM;
	if (pg_thread_start(&connector->thread, run, connector) == ERR_OK)
		return ERR_OK;
	close(connector->stop);
	return ERR_SYSTEM;
}

void pg_connector_order(struct pg_connector *connector, unsigned link, enum pg_role role,
			const struct pg_past *past)
{
	pthread_mutex_lock(&connector->lock);
	connector->order[link] = (struct pg_order){true, role, *past};
	pthread_cond_signal(&connector->wake);
	pthread_mutex_unlock(&connector->lock);
}

bool pg_connector_take(struct pg_connector *connector, unsigned *link, struct pg_session *session)
{
	bool ready;

	pthread_mutex_lock(&connector->lock);
	ready = connector->ready;
	if (ready) {
		*link = connector->made_for;
		*session = connector->made;
		connector->ready = false;
		pthread_cond_signal(&connector->wake);
	}
	pthread_mutex_unlock(&connector->lock);
	return ready;
}

bool pg_connector_stop(struct pg_connector *connector)
{
	struct pg_session session;
	struct timespec until;
	unsigned link;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 1;
	pthread_mutex_lock(&connector->lock);
	connector->ending = true;
	ring(connector->stop);
	pthread_cond_signal(&connector->wake);
	while (!connector->ended &&
	       pthread_cond_timedwait(&connector->wake, &connector->lock, &until) == 0)
		;
	ended = connector->ended;
	pthread_mutex_unlock(&connector->lock);
	if (!ended)
		return false;
	pthread_join(connector->thread, NULL);
	if (pg_connector_take(connector, &link, &session))
		PQfinish(session.pg);
	close(connector->stop);
	pthread_cond_destroy(&connector->wake);
	pthread_mutex_destroy(&connector->lock);
	return true;
}
