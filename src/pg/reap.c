/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "pg/engine.h"
#include "pg/reap.h"
#include "pg/sql.h"
#include "pg/value.h"

/* As in the statement. */
enum { BATCH = 1000 };

#define PERIOD_US (60 * CLOCK_SECOND)
#define NEXT_US	  (100 * CLOCK_MILLI)

static bool send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_params params = {0};

	(void)ticket;
	pg_params_interval(&params, engine->shared->keep_us);
	return pg_params_send(&params, pg, pg_sql_name(PG_REAP));
}

static void answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		   const PGresult *result)
{
	bool more = verdict == PG_DONE && pg_value_long(result, 0, 0) >= BATCH;

	(void)ticket;
	engine->reap.due_us = engine->now + (more ? NEXT_US : PERIOD_US);
}

const struct pg_ticket_kind pg_reap_kind = {.send = send, .answer = answer};

/* One worker of each host; between hosts, rows that another one has locked are passed over. */
void pg_reap_turn(struct pg_engine *engine)
{
	struct pg_link *watch = &engine->link[engine->watch];

	if (engine->slot == 0 && watch->pg && !engine->reap.ticket.flying &&
	    engine->now >= engine->reap.due_us)
		pg_link_send(engine, watch, &engine->reap.ticket);
}
