/* SPDX-License-Identifier: Apache-2.0
 *
 * List, in pieces: each a statement of its own, so that a long list holds nobody up. A lease that
 * is held throughout is in exactly one piece, since its key does not move. */
#include <stdlib.h>
#include <string.h>

#include "pg/engine.h"
#include "pg/kinds.h"
#include "pg/sql.h"
#include "pg/value.h"

enum {
	PIECE = 500,
	GREATEST = 4, /* bytes of U+10FFFF, which no text is greater than */
	BOUND_MOST = 2 * LEASE_KEY_MAX,
};

static struct bytes last_key(const struct pg_call *call)
{
	if (call->list_count)
		return call->list[call->list_count - 1].key;
	return call->op->request.after_set ? call->op->request.after : (struct bytes){NULL, 0};
}

/* One more than the page, to see whether there are more. */
static size_t wanted(const struct pg_call *call)
{
	size_t page = call->op->request.page_size;
	size_t left = page ? page + 1 - call->list_count : PIECE;

	return left < PIECE ? left : PIECE;
}

/* The greatest key with this prefix. */
static struct bytes bound(struct bytes prefix, uint8_t text[static BOUND_MOST])
{
	size_t len = prefix.len;

	if (len)
		memcpy(text, prefix.data, len);
	for (; len + GREATEST <= prefix.len + LEASE_KEY_MAX; len += GREATEST)
		memcpy(text + len, "\xf4\x8f\xbf\xbf", GREATEST);
	return (struct bytes){text, len};
}

static bool send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_call *call = pg_call_of(ticket);
	const struct op_request *request = &call->op->request;
	struct pg_params params = {0};
	uint8_t text[BOUND_MOST];

	(void)engine;
	pg_params_text(&params, request->name_space);
	pg_params_text(&params, last_key(call));
	pg_params_text(&params, request->key_prefix);
	pg_params_text(&params, bound(request->key_prefix, text));
	pg_params_count(&params, (int64_t)wanted(call));
	return pg_params_send(&params, pg, pg_sql_name(PG_LIST));
}

static bool reserve(struct pg_call *call, size_t more)
{
	size_t need = call->list_count + more, room = call->list_room ? call->list_room : PIECE;
	struct lease *list;

	while (room < need)
		room *= 2;
	if (room == call->list_room)
		return true;
	list = realloc(call->list, room * sizeof *list);
	if (!list)
		return false;
	call->list = list;
	call->list_room = room;
	return true;
}

static bool take(struct pg_engine *engine, struct pg_call *call, const PGresult *result)
{
	int rows = PQntuples(result);

	if (!reserve(call, (size_t)rows))
		return false;
	for (int row = 0; row < rows; row++) {
		struct lease *lease = &call->list[call->list_count];

		memset(lease, 0, sizeof *lease);
		if (!pg_call_read(engine, call, result, row, lease))
			return false;
		lease->key = arena_copy(call->op->arena, pg_value_text(result, row, PG_KEY));
		if (!lease->key.data)
			return false;
		if (lease->remaining_us < 1)
			lease->remaining_us = 1;
		call->list_count++;
	}
	return true;
}

static enum err finish(struct pg_call *call)
{
	struct op *op = call->op;
	size_t count = call->list_count, page = op->request.page_size;

	op->answer.more = page && count > page;
	if (op->answer.more)
		count = page;
	op->answer.leases = arena_alloc(op->arena, count * sizeof(struct lease) + 1);
	if (!op->answer.leases)
		return ERR_BACKEND_DOWN;
	if (count)
		memcpy(op->answer.leases, call->list, count * sizeof(struct lease));
	op->answer.lease_count = count;
	return ERR_OK;
}

static void answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		   const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);
	size_t asked;

	if (!call->op) {
		pg_call_bury(engine, call, false);
		return;
	}
	if (verdict != PG_DONE) {
		pg_call_failed(engine, call, verdict, result);
		return;
	}
	asked = wanted(call);
	if (!take(engine, call, result)) {
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
	} else if ((size_t)PQntuples(result) < asked ||
		   (call->op->request.page_size && wanted(call) == 0)) {
		pg_call_answer(engine, call, finish(call));
	} else {
		/* It moves on: the limit is for silence. */
		pg_timers_set(&engine->timers, &call->timer,
			      engine->now + engine->shared->timeout_us);
		pg_engine_send(engine, ticket, true);
	}
}

const struct pg_ticket_kind pg_list_kind = {.send = send, .answer = answer};
