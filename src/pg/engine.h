/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/engine.h - everything the I/O thread of one worker owns. No lock: only `mail` and `connector`
 * are shared, and have their own. */
#ifndef LEASED_PG_ENGINE_H
#define LEASED_PG_ENGINE_H

#include "pg/connector.h"
#include "pg/key.h"
#include "pg/link.h"
#include "pg/mail.h"
#include "pg/shared.h"
#include "pg/timer.h"

enum { PG_LINKS_MAX = PG_CONNECTIONS_MAX + 2 };

/* Statements of the driver's own: at most one of each at a time. */
struct pg_chore {
	struct pg_ticket ticket;
	struct pg_link *link;
	int64_t due_us;
};

struct pg_engine {
	const struct driver_shared *shared;
	struct pg_mail *mail;
	struct pg_connector connector;
	unsigned slot;
	int64_t now; /* at the start of this turn */

	struct pg_link link[PG_LINKS_MAX];
	unsigned links;	  /* work connections, then the barrier's, then the watch's */
	unsigned works;	  /* the first so many */
	unsigned watch;	  /* index */
	unsigned barrier; /* index; only with PG_BARRIER */
	int64_t heard_us; /* the last answer on a work connection, or the start */
	bool up;	  /* clients' statements can be sent and settled */
	bool told_down;	  /* the log knows */
	char why[DRIVER_WHY];

	struct pg_tickets urgent; /* to be sent: renew, release, inspect, list */
	struct pg_tickets grants; /* to be sent: acquires */
	struct pg_tickets later;  /* to be sent again, in order of sent_us */

	struct pg_tickets undurable; /* answered, waiting for the next barrier */
	struct pg_tickets sealing;   /* waiting for the one in flight */

	struct pg_timers timers;
	struct pg_keys keys;
	int64_t waiting; /* acquires in the queues of keys */

	struct pg_chore flush; /* the barrier */
	struct pg_chore look;
	struct pg_chore reap;
	struct pg_chore ping[PG_LINKS_MAX];
	struct pg_key **looked; /* keys of the look in flight */
	size_t looked_count;

	struct pg_call *answered, **answered_end; /* to be mailed at the end of this turn */
	unsigned undoing;			  /* grants being taken back */
	bool draining, stopping, ended;
	int64_t stop_us; /* when to stop at the latest */
};

/* Queues a ticket for the next connection that has room; `soon` false: a little later. */
void pg_engine_send(struct pg_engine *engine, struct pg_ticket *ticket, bool soon);

/* The I/O thread; returns when it was asked to stop. */
void pg_engine_run(struct pg_engine *engine);

/* Before the thread starts: no I/O. */
void pg_engine_init(struct pg_engine *engine, const struct driver_shared *shared,
		    struct pg_mail *mail, unsigned slot);
/* After it ended. */
void pg_engine_fini(struct pg_engine *engine);

#endif
