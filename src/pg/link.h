/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/link.h - one place for a connection: lost and made again, with the statements in flight on it.
 * Used by the I/O thread only; nothing here blocks. */
#ifndef LEASED_PG_LINK_H
#define LEASED_PG_LINK_H

#include "pg/session.h"
#include "pg/ticket.h"

struct pg_link {
	enum pg_role role;
	unsigned index; /* in engine->link */
	PGconn *pg;	/* NULL = down */
	bool asked;	/* a connection is being made */
	bool want_write;
	struct pg_past self; /* the session that is, or was last */
	int64_t server_start_us;
	int64_t up_us;	  /* since when it is up */
	int64_t heard_us; /* of the server, last */
	int64_t retry_us; /* when to connect again */
	int64_t pause_us; /* between tries */
	struct pg_tickets flying;
	/* Grants whose outcome is unknown: not asked again before the old session has ended. */
	struct pg_tickets limbo;
	struct pg_ticket *reading; /* whose results come next; NULL = the first in flight's */
	unsigned groups;	   /* transactions in flight */
};

/* Takes over a session that was made for this link. What was in limbo gets PG_LOST. */
void pg_link_up(struct pg_engine *engine, struct pg_link *link, struct pg_session *session);

/* Closes it; everything in flight gets PG_LOST, grants only when it is up again. `why` for the log.
 */
void pg_link_drop(struct pg_engine *engine, struct pg_link *link, const char *why);

/* Sends `ticket` on this link, in a transaction of its own. */
void pg_link_send(struct pg_engine *engine, struct pg_link *link, struct pg_ticket *ticket);

/* Sends the first of `list`, and what stands behind it and may share its transaction: one commit,
 * one Sync, one answer on the wire for all. All of it works or nothing; then each is told PG_AGAIN
 * and goes alone. */
void pg_link_send_group(struct pg_engine *engine, struct pg_link *link, struct pg_tickets *list);

/* Reads what has come and answers tickets. */
void pg_link_read(struct pg_engine *engine, struct pg_link *link);

/* Writes what libpq has kept. */
void pg_link_flush(struct pg_engine *engine, struct pg_link *link);

/* Since when the server owes an answer, or CLOCK_NEVER. */
int64_t pg_link_silent_since(const struct pg_link *link);

/* The connection for the next ticket of this kind; NULL = all are full or down. */
struct pg_link *pg_link_pick(struct pg_engine *engine, const struct pg_ticket_kind *kind,
			     int64_t now);

#endif
