/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/ticket.h - one statement on its way: waiting for a connection, in flight, or answered and
 * waiting to be durable. Embedded in whatever wants the answer. Used by the I/O thread only. */
#ifndef LEASED_PG_TICKET_H
#define LEASED_PG_TICKET_H

#include <stdbool.h>
#include <stdint.h>

#include "pg/failure.h"

struct pg_engine;
struct pg_link;
struct pg_ticket;

struct pg_tickets {
	struct pg_ticket *first, *last;
	unsigned count;
};

struct pg_ticket_kind {
	/* Sends the statement by pg_params_send, without its Sync; false when the connection
	 * is broken. */
	bool (*send)(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg);
	/* What came of it. `result` only with PG_DONE and PG_REFUSED, borrowed. With PG_LOST
	 * nothing will come any more, and all sessions that could still run the statement have
	 * ended. The ticket is idle, and may be queued again or freed in here. */
	void (*answer)(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		       const PGresult *result);
	/* Only after pg_barrier_hold: the answer is durable now. The ticket is idle. */
	void (*settle)(struct pg_engine *engine, struct pg_ticket *ticket);
	bool grants; /* may take a lease: kept off the first connection, see pg_link_pick */
	bool joins;  /* may share a transaction with others, see pg_link_send_group */
};

struct pg_ticket {
	const struct pg_ticket_kind *kind;
	struct pg_tickets *list; /* the one it is in; NULL = idle */
	struct pg_ticket *next, *prev;
	unsigned link;	 /* index of the connection it was last sent on */
	int64_t sent_us; /* when it was sent, or when it may be sent again */
	bool flying;	 /* sent, and not answered */
	bool alone;	 /* a group with it failed: not again with others */
	bool ends;	 /* flying: its Sync follows, its transaction ends */
	uint64_t order;	 /* the same for the same key on all hosts: rows are locked in this order */
	PGresult *result; /* flying: what came of it, until the Sync */
};

void pg_tickets_add(struct pg_tickets *list, struct pg_ticket *ticket);
/* Out of the list it is in, if any. Never one that is flying. */
void pg_tickets_remove(struct pg_ticket *ticket);
struct pg_ticket *pg_tickets_take(struct pg_tickets *list);

#endif
