/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/kinds.h - the statements of calls: what is sent for each kind of op, and what is made of its
 * rows. */
#ifndef LEASED_PG_KINDS_H
#define LEASED_PG_KINDS_H

#include "pg/call.h"

struct pg_params;

const struct pg_ticket_kind *pg_kinds_of(enum op_kind kind);
extern const struct pg_ticket_kind pg_acquire_kind, pg_renew_kind, pg_release_kind, pg_inspect_kind;
extern const struct pg_ticket_kind pg_list_kind; /* pg/list.c */
/* An acquire of a key that others wait for. */
extern const struct pg_ticket_kind pg_peek_kind;

struct pg_call *pg_call_of(struct pg_ticket *ticket);

/* Parameters of PG_ACQUIRE, and the first of PG_ATTEMPT. False when memory is exhausted. */
bool pg_kinds_acquire(struct pg_params *params, struct pg_call *call);
/* A grant that took so long inside the database that it is not the time asked for. */
bool pg_kinds_is_short(const struct pg_call *call, const PGresult *result);
/* kind->settle of all that answer with a lease. */
void pg_call_settle(struct pg_engine *engine, struct pg_ticket *ticket);

#endif
