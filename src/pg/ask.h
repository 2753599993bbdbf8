/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/ask.h - one statement at a time on a connection that is not yet in use, with a deadline for
 * all of them together: libpq's own blocking calls have none. */
#ifndef LEASED_PG_ASK_H
#define LEASED_PG_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

struct pg_ask {
	PGconn *pg;
	int stop; /* readable: give up */
	int64_t deadline_us;
};

/* Rows in binary format, to be cleared; NULL on any error, then PQerrorMessage says which (empty:
 * no answer in time). `param` has `count` texts. */
PGresult *pg_ask(struct pg_ask *ask, const char *text, int count, const char *const *param);
bool pg_ask_done(struct pg_ask *ask, const char *text);
bool pg_ask_prepare(struct pg_ask *ask, const char *name, const char *text);
bool pg_ask_time_left(const struct pg_ask *ask);

#endif
