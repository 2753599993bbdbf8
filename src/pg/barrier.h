/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/barrier.h - answers that change something wait here until what they tell is on the database's
 * disk. Statements commit without waiting; one commit that does wait, on a connection of its own,
 * covers all of them. Used by the I/O thread only. */
#ifndef LEASED_PG_BARRIER_H
#define LEASED_PG_BARRIER_H

#include "pg/ticket.h"

/* Calls kind->settle when durable, or kind->answer with PG_LOST when that cannot be known. */
void pg_barrier_hold(struct pg_engine *engine, struct pg_ticket *ticket);

/* Sends the next one, if any answer waits and none is in flight. */
void pg_barrier_turn(struct pg_engine *engine);

/* The connection is gone: what was held gets PG_LOST. */
void pg_barrier_lost(struct pg_engine *engine);

extern const struct pg_ticket_kind pg_barrier_kind;

#endif
