/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/wait.h - acquires that wait: one queue per key and worker, first come first served. Only the
 * first of a queue asks the database, and only when there is reason to: somebody released (a
 * notification, or this worker did it), the lease seen last is over, or a look found the key free.
 * Used by the I/O thread only. */
#ifndef LEASED_PG_WAIT_H
#define LEASED_PG_WAIT_H

#include "pg/engine.h"

/* A new call stands in line; the first asks at once. */
void pg_wait_join(struct pg_engine *engine, struct pg_call *call);
/* Out of the line. The key may be freed. */
void pg_wait_leave(struct pg_engine *engine, struct pg_call *call);
/* Lets the first ask. */
void pg_wait_try(struct pg_engine *engine, struct pg_key *key);
/* The key may be free. */
void pg_wait_freed(struct pg_engine *engine, struct bytes name_space, struct bytes key);
/* A notification: "LENGTH:NAMESPACEKEY", LENGTH that of the namespace in bytes. */
void pg_wait_notified(struct pg_engine *engine, const char *text);
/* All of them end with this result. */
void pg_wait_end_all(struct pg_engine *engine, enum err result);

/* A lease holds the key until seen->until_us; `seen` is copied. */
void pg_wait_saw(struct pg_engine *engine, struct pg_key *key, const struct pg_seen *seen);

/* One look at all keys waited for; also keeps their marks fresh. */
void pg_look_turn(struct pg_engine *engine);
extern const struct pg_ticket_kind pg_look_kind;

#endif
