/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "pg/barrier.h"
#include "pg/engine.h"
#include "pg/sql.h"
#include "pg/value.h"

#define PAUSE_US (20 * CLOCK_MILLI)

void pg_barrier_hold(struct pg_engine *engine, struct pg_ticket *ticket)
{
	if (engine->shared->durability == PG_BARRIER)
		pg_tickets_add(&engine->undurable, ticket);
	else
		ticket->kind->settle(engine, ticket);
}

static void move(struct pg_tickets *from, struct pg_tickets *to)
{
	struct pg_ticket *ticket;

	while ((ticket = pg_tickets_take(from)))
		pg_tickets_add(to, ticket);
}

/* All that is held now was committed before the barrier is sent. */
void pg_barrier_turn(struct pg_engine *engine)
{
	struct pg_chore *flush = &engine->flush;

	if (!engine->undurable.count || flush->ticket.flying || !flush->link->pg ||
	    engine->now < flush->due_us)
		return;
	move(&engine->undurable, &engine->sealing);
	pg_link_send(engine, flush->link, &flush->ticket);
}

void pg_barrier_lost(struct pg_engine *engine)
{
	struct pg_tickets lost = {0};
	struct pg_ticket *ticket;

	move(&engine->sealing, &lost);
	move(&engine->undurable, &lost);
	while ((ticket = pg_tickets_take(&lost)))
		ticket->kind->answer(engine, ticket, PG_LOST, NULL);
}

static bool send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_params params = {0};

	(void)engine, (void)ticket;
	return pg_params_send(&params, pg, pg_sql_name(PG_FLUSH));
}

static void answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		   const PGresult *result)
{
	struct pg_tickets sealed = {0};
	struct pg_ticket *held;

	(void)ticket, (void)result;
	if (verdict == PG_LOST) /* the drop of the link sees to the rest */
		return;
	if (verdict != PG_DONE) {
		/* Still not durable: with the next one. */
		move(&engine->sealing, &engine->undurable);
		engine->flush.due_us = engine->now + PAUSE_US;
		return;
	}
	move(&engine->sealing, &sealed);
	while ((held = pg_tickets_take(&sealed)))
		held->kind->settle(engine, held);
}

const struct pg_ticket_kind pg_barrier_kind = {.send = send, .answer = answer};
