/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/shared.h - what the master hands to its workers: the options, judged, and the texts made of
 * them. Never changed after prepare, so it is read without a lock by all threads. */
#ifndef LEASED_PG_SHARED_H
#define LEASED_PG_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/driver.h"

enum pg_durability { PG_BARRIER, PG_COMMIT, PG_ASYNC };

enum { PG_CONNECTIONS_MAX = 16 };

struct pg_sql;
struct pg_board;

struct driver_shared {
	char *backend;	/* its name in the configuration, for the log */
	char *dsn;	/* as written: may hold a password */
	char *password; /* the one in `dsn`, to be masked; NULL = none */
	unsigned connections;
	int64_t timeout_us;
	int64_t poll_us;
	int64_t keep_us; /* how long a row stays after its lease is over */
	int64_t waiters;
	enum pg_durability durability;
	bool create;
	struct pg_sql *sql;
	struct pg_board *board; /* waiters per key on this host */
};

#endif
