/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "base/clock.h"
#include "pg/barrier.h"
#include "pg/board.h"
#include "pg/engine.h"
#include "pg/kinds.h"
#include "pg/metadata.h"
#include "pg/sql.h"
#include "pg/value.h"
#include "pg/wait.h"

enum { RACES_MOST = 8 };

struct pg_call *pg_call_of(struct pg_ticket *ticket)
{
	return (struct pg_call *)((char *)ticket - offsetof(struct pg_call, ticket));
}

static void put_names(struct pg_params *params, const struct op *op)
{
	pg_params_text(params, op->request.name_space);
	pg_params_text(params, op->request.key);
}

/* --- acquire --------------------------------------------------------------------------------- */

bool pg_kinds_acquire(struct pg_params *params, struct pg_call *call)
{
	struct op *op = call->op;
	struct bytes metadata = {(const uint8_t *)"{}", 2};

	if (op->request.metadata.count)
		metadata = pg_metadata_write(op->arena, &op->request.metadata);
	put_names(params, op);
	pg_params_holder(params, call->holder);
	pg_params_interval(params, op->request.ttl_us);
	pg_params_text(params, op->request.owner);
	pg_params_text(params, op->request.request_id);
	pg_params_text(params, metadata);
	return metadata.data != NULL;
}

static bool acquire_send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_params params = {0};

	(void)engine;
	return pg_kinds_acquire(&params, pg_call_of(ticket)) &&
	       pg_params_send(&params, pg, pg_sql_name(PG_ACQUIRE));
}

/* A new row's times are read before the database waits for somebody who is just making that row. */
bool pg_kinds_is_short(const struct pg_call *call, const PGresult *result)
{
	int64_t lost = pg_value_time(result, 0, PG_NOW) - pg_value_time(result, 0, PG_ACQUIRED);

	return lost > 20 * CLOCK_MILLI && call->tries < RACES_MOST;
}

/* Of a lease that is somebody else's, what may be told. */
static void answer_held(struct pg_engine *engine, struct pg_call *call, const PGresult *result)
{
	struct op *op = call->op;
	struct lease *lease = &op->answer.lease;
	bool known = result && PQntuples(result);

	op->answer.waiters = pg_board_waiters(
	    engine->shared->board,
	    pg_board_hash(engine->shared->board, op->request.name_space, op->request.key));
	if (known && !pg_call_read(engine, call, result, 0, lease)) {
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
		return;
	}
	op->answer.held = known;
	lease->waiters = op->answer.waiters;
	if (lease->remaining_us < 1)
		lease->remaining_us = 1;
	pg_call_answer(engine, call, ERR_HELD);
}

static void acquire_answer(struct pg_engine *engine, struct pg_ticket *ticket,
			   enum pg_verdict verdict, const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);
	bool row = verdict == PG_DONE && PQntuples(result) == 1;
	bool granted = row && pg_value_int(result, 0, PG_VERDICT) == 1;

	if (!call->op)
		pg_call_bury(engine, call, granted || verdict == PG_LOST || call->unsure);
	else if (verdict != PG_DONE)
		pg_call_failed(engine, call, verdict, result);
	else if ((granted && pg_kinds_is_short(call, result)) || (!row && call->tries < RACES_MOST))
		pg_call_failed(engine, call, PG_AGAIN, NULL);
	else if (granted || (row && pg_call_repeats(call, result, 0)))
		pg_call_granted(engine, call, result, !granted);
	else
		answer_held(engine, call, result);
}

const struct pg_ticket_kind pg_acquire_kind = {.send = acquire_send,
					       .answer = acquire_answer,
					       .settle = pg_call_settle,
					       .grants = true,
					       .joins = true};

/* --- inspect, and an acquire that may only look ---------------------------------------------- */

static bool inspect_send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_params params = {0};

	(void)engine;
	put_names(&params, pg_call_of(ticket)->op);
	return pg_params_send(&params, pg, pg_sql_name(PG_INSPECT));
}

static void inspect_answer(struct pg_engine *engine, struct pg_ticket *ticket,
			   enum pg_verdict verdict, const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);
	struct op_answer *answer;

	if (!call->op) {
		pg_call_bury(engine, call, false);
		return;
	}
	if (verdict != PG_DONE) {
		pg_call_failed(engine, call, verdict, result);
		return;
	}
	answer = &call->op->answer;
	answer->waiters =
	    pg_board_waiters(engine->shared->board,
			     pg_board_hash(engine->shared->board, call->op->request.name_space,
					   call->op->request.key));
	answer->held = PQntuples(result) == 1;
	answer->lease.waiters = answer->waiters;
	if (!answer->held)
		pg_call_answer(engine, call, ERR_OK);
	else if (pg_call_read(engine, call, result, 0, &answer->lease))
		pg_call_settle(engine, ticket);
	else
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
}

const struct pg_ticket_kind pg_inspect_kind = {
    .send = inspect_send, .answer = inspect_answer, .settle = pg_call_settle, .joins = true};

static void peek_answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
			const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);

	if (!call->op)
		pg_call_bury(engine, call, false);
	else if (verdict != PG_DONE)
		pg_call_failed(engine, call, verdict, result);
	else if (PQntuples(result) == 1 && pg_call_repeats(call, result, 0))
		pg_call_granted(engine, call, result, true);
	else if (call->wait_until_us) /* it was gone again */
		pg_wait_join(engine, call);
	else
		answer_held(engine, call, result);
}

const struct pg_ticket_kind pg_peek_kind = {
    .send = inspect_send, .answer = peek_answer, .settle = pg_call_settle};

/* --- renew ----------------------------------------------------------------------------------- */

static bool renew_send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	const struct op *op = pg_call_of(ticket)->op;
	struct pg_params params = {0};

	(void)engine;
	put_names(&params, op);
	pg_params_holder(&params, op->request.holder);
	pg_params_interval(&params, op->request.ttl_us);
	pg_params_text(&params, op->request.owner);
	return pg_params_send(&params, pg, pg_sql_name(PG_RENEW));
}

static void renew_answer(struct pg_engine *engine, struct pg_ticket *ticket,
			 enum pg_verdict verdict, const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);
	struct lease *lease;

	if (!call->op) {
		pg_call_bury(engine, call, false);
		return;
	}
	if (verdict != PG_DONE) {
		pg_call_failed(engine, call, verdict, result);
		return;
	}
	lease = &call->op->answer.lease;
	if (PQntuples(result) != 1) {
		pg_call_answer(engine, call, ERR_NOT_HOLDER);
	} else if (pg_call_read(engine, call, result, 0, lease)) {
		call->op->answer.held = true;
		pg_barrier_hold(engine, ticket);
	} else {
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
	}
}

const struct pg_ticket_kind pg_renew_kind = {
    .send = renew_send, .answer = renew_answer, .settle = pg_call_settle, .joins = true};

/* --- release --------------------------------------------------------------------------------- */

static bool release_send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	const struct op *op = pg_call_of(ticket)->op;
	struct pg_params params = {0};
	/* No lease has the id of all zeros. */
	struct holder_id nobody = {{0}};

	(void)engine;
	put_names(&params, op);
	pg_params_holder(&params, op->request.holder_known ? op->request.holder : nobody);
	pg_params_text(&params, op->request.owner);
	pg_params_bool(&params, op->request.may_break);
	return pg_params_send(&params, pg, pg_sql_name(PG_RELEASE));
}

static void release_settle(struct pg_engine *engine, struct pg_ticket *ticket)
{
	pg_call_answer(engine, pg_call_of(ticket), ERR_OK);
}

static void released(struct pg_engine *engine, struct pg_call *call)
{
	struct op *op = call->op;

	op->answer.existed = true;
	pg_wait_freed(engine, op->request.name_space, op->request.key);
	pg_barrier_hold(engine, &call->ticket);
}

static void release_answer(struct pg_engine *engine, struct pg_ticket *ticket,
			   enum pg_verdict verdict, const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);
	int said;

	if (!call->op) {
		pg_call_bury(engine, call, false);
		return;
	}
	if (verdict != PG_DONE) {
		pg_call_failed(engine, call, verdict, result);
		return;
	}
	said = PQntuples(result) ? pg_value_int(result, 0, 0) : PG_RELEASE_FREE;
	if (said == PG_RELEASE_RACED)
		pg_call_failed(engine, call, PG_AGAIN, NULL);
	else if (said == PG_RELEASE_DONE || (said == PG_RELEASE_OVER && call->unsure))
		released(engine, call);
	else
		pg_call_answer(engine, call, said == PG_RELEASE_OTHERS ? ERR_NOT_HOLDER : ERR_OK);
}

const struct pg_ticket_kind pg_release_kind = {
    .send = release_send, .answer = release_answer, .settle = release_settle, .joins = true};

const struct pg_ticket_kind *pg_kinds_of(enum op_kind kind)
{
	static const struct pg_ticket_kind *const kinds[] = {
	    [OP_ACQUIRE] = &pg_acquire_kind, [OP_RENEW] = &pg_renew_kind,
	    [OP_RELEASE] = &pg_release_kind, [OP_INSPECT] = &pg_inspect_kind,
	    [OP_LIST] = &pg_list_kind,
	};

	return kinds[kind];
}
