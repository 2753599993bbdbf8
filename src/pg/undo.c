/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "pg/engine.h"
#include "pg/sql.h"
#include "pg/undo.h"
#include "pg/value.h"
#include "pg/wait.h"

struct pg_undo {
	struct pg_ticket ticket;
	struct holder_id holder;
	struct bytes name_space, key; /* in the same allocation */
	int64_t until_us;	      /* then the lease is over by itself */
};

static struct pg_undo *undo_of(struct pg_ticket *ticket)
{
	return (struct pg_undo *)((char *)ticket - offsetof(struct pg_undo, ticket));
}

struct pg_undo *pg_undo_make(const struct op *op, struct holder_id holder)
{
	struct bytes name_space = op->request.name_space, key = op->request.key;
	struct pg_undo *undo = calloc(1, sizeof *undo + name_space.len + key.len);
	uint8_t *text;

	if (!undo)
		return NULL;
	text = (uint8_t *)(undo + 1);
	memcpy(text, name_space.data, name_space.len);
	memcpy(text + name_space.len, key.data, key.len);
	undo->name_space = (struct bytes){text, name_space.len};
	undo->key = (struct bytes){text + name_space.len, key.len};
	undo->holder = holder;
	/* The statement that grants may be late by as much as the server lets it wait. */
	undo->until_us = clock_boot_us() + op->request.ttl_us + 60 * CLOCK_SECOND;
	return undo;
}

void pg_undo_free(struct pg_undo *undo)
{
	free(undo);
}

static bool send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_undo *undo = undo_of(ticket);
	struct pg_params params = {0};

	(void)engine;
	pg_params_text(&params, undo->name_space);
	pg_params_text(&params, undo->key);
	pg_params_holder(&params, undo->holder);
	pg_params_text(&params, (struct bytes){NULL, 0});
	pg_params_bool(&params, true);
	return pg_params_send(&params, pg, pg_sql_name(PG_RELEASE));
}

static void answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		   const PGresult *result)
{
	struct pg_undo *undo = undo_of(ticket);
	int said =
	    verdict == PG_DONE && PQntuples(result) ? pg_value_int(result, 0, 0) : PG_RELEASE_FREE;

	if ((verdict == PG_AGAIN || verdict == PG_LOST || said == PG_RELEASE_RACED) &&
	    engine->now < undo->until_us && !engine->ended) {
		pg_engine_send(engine, ticket, false);
		return;
	}
	engine->undoing--;
	if (said == PG_RELEASE_DONE)
		pg_wait_freed(engine, undo->name_space, undo->key);
	free(undo);
}

static const struct pg_ticket_kind kind = {.send = send, .answer = answer};

void pg_undo_start(struct pg_engine *engine, struct pg_undo *undo)
{
	if (!undo)
		return;
	undo->ticket.kind = &kind;
	engine->undoing++;
	pg_engine_send(engine, &undo->ticket, true);
}
