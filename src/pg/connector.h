/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/connector.h - a thread that makes connections, one at a time: resolving a name and
 * authenticating can take long, and the I/O thread must not wait. */
#ifndef LEASED_PG_CONNECTOR_H
#define LEASED_PG_CONNECTOR_H

#include <pthread.h>

#include "pg/session.h"

struct pg_order {
	bool wanted;
	enum pg_role role;
	struct pg_past past;
};

struct pg_connector {
	const struct driver_shared *shared;
	int bell; /* eventfd to ring when a session is there; not owned */
	int stop; /* eventfd, readable once the end has come */
	pthread_t thread;
	pthread_mutex_t lock; /* for what follows; held for a few instructions */
	pthread_cond_t wake;
	struct pg_order order[PG_CONNECTIONS_MAX + 2];
	unsigned turn; /* where to look first: nobody is forgotten */
	bool ending, ended;
	bool ready; /* `made` is to be taken */
	unsigned made_for;
	struct pg_session made;
};

/* ERR_SYSTEM when no thread is to be had. */
enum err pg_connector_start(struct pg_connector *connector, const struct driver_shared *shared,
			    int bell);

/* Asks for a connection for `link`, which asks again only after it was served. Does not block. */
void pg_connector_order(struct pg_connector *connector, unsigned link, enum pg_role role,
			const struct pg_past *past);

/* Takes one that was made, or an error. False: none. Does not block. */
bool pg_connector_take(struct pg_connector *connector, unsigned *link, struct pg_session *session);

/* Ends the thread. Blocks for a second at most; false when it hangs in the resolver: then its
 * memory must stay. */
bool pg_connector_stop(struct pg_connector *connector);

#endif
