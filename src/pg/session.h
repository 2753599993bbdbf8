/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/session.h - one connection to the database, made ready for its role: settings that do not
 * depend on what an administrator set as default, the table, prepared statements. Blocks, so it
 * runs on the connecting thread only. */
#ifndef LEASED_PG_SESSION_H
#define LEASED_PG_SESSION_H

#include <libpq-fe.h>

#include "pg/shared.h"

enum pg_role {
	PG_ROLE_BARRIER, /* makes commits durable */
	PG_ROLE_WORK,	 /* everything a client waits for */
	PG_ROLE_WATCH,	 /* hears of releases, looks after marks and old rows */
};

/* A session of the past whose last statements may still run. */
struct pg_past {
	int pid; /* 0 = none */
	int64_t start_us;
};

struct pg_session {
	PGconn *pg; /* non-blocking, in pipeline mode; NULL = no connection, see why */
	struct pg_past self;
	int64_t server_start_us; /* which life of the server this is */
	char why[DRIVER_WHY];	 /* for the log; without password */
};

/* Connects; ends what is left of `past` before it answers; fills `session`. `stop` is a descriptor
 * that becomes readable when there is no use in going on. Blocks at most about twice the timeout
 * for each host of the DSN, and as long as the resolver does. */
void pg_session_open(const struct driver_shared *shared, enum pg_role role,
		     const struct pg_past *past, int stop, struct pg_session *session);

#endif
