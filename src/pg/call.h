/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/call.h - one op inside the driver. The I/O thread owns the op, its answer and its arena from
 * submit until the call is mailed back; after that it must not touch them, even when a statement of
 * the call is still in flight. What such a statement grants is taken back (pg/undo.h). */
#ifndef LEASED_PG_CALL_H
#define LEASED_PG_CALL_H

#include <stdatomic.h>

#include "core/driver.h"
#include "pg/ticket.h"
#include "pg/timer.h"

struct pg_undo;
struct pg_key;

struct pg_call {
	struct pg_ticket ticket;
	atomic_uint refs;    /* see pg/mail.h */
	struct op *op;	     /* I/O thread: NULL once answered */
	struct op *answered; /* event loop */
	struct pg_call *next_submitted, *next_cancelled, *next_answered;
	bool cancel_sent; /* event loop */

	struct pg_timer timer;
	int64_t submitted_us;
	int64_t wait_until_us;	 /* acquires that wait; 0 = it does not */
	struct holder_id holder; /* the one it will have: made before anything is sent */
	unsigned tries;
	bool unsure;  /* an earlier try may have worked */
	bool over;    /* its wait ran out while an attempt was in flight */
	bool granted; /* held until durable */
	struct pg_undo *undo;

	struct pg_key *key;	     /* in whose queue it stands */
	struct pg_key *attempt;	     /* for which its ticket asks; it may have left the queue */
	bool more;		     /* that attempt said that others stand behind */
	struct pg_call *next, *prev; /* in that queue */

	struct lease *list; /* OP_LIST: so far; allocated */
	size_t list_count, list_room;
};

/* NULL when memory is exhausted. Two references: the event loop's and the I/O thread's. */
struct pg_call *pg_call_make(struct op *op);
void pg_call_unref(struct pg_call *call);

/* I/O thread: a call that came by mail. */
void pg_call_start(struct pg_engine *engine, struct pg_call *call);
/* I/O thread: a cancel that came by mail. */
void pg_call_cancel(struct pg_engine *engine, struct pg_call *call);
/* Its timer: the wait ran out, or the database was silent for too long. */
void pg_call_due(struct pg_engine *engine, struct pg_timer *timer);
struct pg_call *pg_call_of_timer(struct pg_timer *timer);
/* Its ticket will come back by itself: the statement is in flight, or its outcome unknown. */
bool pg_call_pending(const struct pg_engine *engine, const struct pg_call *call);
/* Gives the op back with this result, out of wherever the call stands; nothing when that was done
 * already. The call may be freed. */
void pg_call_answer(struct pg_engine *engine, struct pg_call *call, enum err result);
/* The same for an acquire that is refused by what `key` has seen of its lease. */
void pg_call_answer_held(struct pg_engine *engine, struct pg_call *call, const struct pg_key *key);
/* The op was given back, and the ticket is idle: what it has taken goes back, too. */
void pg_call_bury(struct pg_engine *engine, struct pg_call *call, bool granted);

/* Fills the answer from a row. False when memory is exhausted. */
bool pg_call_read(struct pg_engine *engine, struct pg_call *call, const PGresult *result, int row,
		  struct lease *lease);
/* An acquire's answer is there: the lease is the call's own, or that of an earlier try. */
void pg_call_granted(struct pg_engine *engine, struct pg_call *call, const PGresult *result,
		     bool repeated);
/* The lease in this row was made by the same request before. */
bool pg_call_repeats(const struct pg_call *call, const PGresult *result, int row);
/* What all kinds do with a verdict that is no result: again later, or give up. */
void pg_call_failed(struct pg_engine *engine, struct pg_call *call, enum pg_verdict verdict,
		    const PGresult *result);

extern const struct pg_ticket_kind pg_attempt_kind; /* pg/wait.c */

#endif
