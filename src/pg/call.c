/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/holder.h"
#include "pg/barrier.h"
#include "pg/board.h"
#include "pg/call.h"
#include "pg/engine.h"
#include "pg/kinds.h"
#include "pg/metadata.h"
#include "pg/sql.h"
#include "pg/undo.h"
#include "pg/value.h"
#include "pg/wait.h"

enum { TRIES_MOST = 100 };

struct pg_call *pg_call_make(struct op *op)
{
	struct pg_call *call = calloc(1, sizeof *call);

	if (!call)
		return NULL;
	atomic_init(&call->refs, 2);
	call->op = call->answered = op;
	call->submitted_us = clock_boot_us();
	call->timer.due = pg_call_due;
	if (op->kind == OP_ACQUIRE) {
		call->holder = holder_make();
		if (op->request.wait_us > 0)
			call->wait_until_us = call->submitted_us + op->request.wait_us;
	}
	return call;
}

void pg_call_unref(struct pg_call *call)
{
	if (atomic_fetch_sub(&call->refs, 1) != 1)
		return;
	pg_undo_free(call->undo);
	free(call->list);
	free(call);
}

void pg_call_bury(struct pg_engine *engine, struct pg_call *call, bool granted)
{
	if (granted) {
		pg_undo_start(engine, call->undo);
		call->undo = NULL;
	}
	pg_call_unref(call);
}

bool pg_call_pending(const struct pg_engine *engine, const struct pg_call *call)
{
	const struct pg_ticket *ticket = &call->ticket;

	return ticket->flying ||
	       (ticket->list && ticket->list == &engine->link[ticket->link].limbo);
}

/* The op is gone. A ticket that is pending comes back later, and is buried then. */
static void leave(struct pg_engine *engine, struct pg_call *call, bool settled)
{
	if (pg_call_pending(engine, call))
		return;
	pg_tickets_remove(&call->ticket);
	pg_call_bury(engine, call, !settled && (call->granted || call->unsure));
}

static void answer(struct pg_engine *engine, struct pg_call *call, enum err result)
{
	struct op *op = call->op;
	bool settled = result == ERR_OK;

	if (!settled && op->kind == OP_ACQUIRE &&
	    (call->granted || call->unsure || pg_call_pending(engine, call)))
		call->undo = pg_undo_make(op, call->holder);
	op->answer.result = result;
	call->op = NULL;
	pg_timers_clear(&engine->timers, &call->timer);
	if (call->key)
		pg_wait_leave(engine, call);
	call->next_answered = NULL;
	*engine->answered_end = call;
	engine->answered_end = &call->next_answered;
	leave(engine, call, settled);
}

void pg_call_answer(struct pg_engine *engine, struct pg_call *call, enum err result)
{
	if (call->op)
		answer(engine, call, result);
}

static uint32_t waiters(struct pg_engine *engine, const struct op *op)
{
	return pg_board_waiters(
	    engine->shared->board,
	    pg_board_hash(engine->shared->board, op->request.name_space, op->request.key));
}

void pg_call_answer_held(struct pg_engine *engine, struct pg_call *call, const struct pg_key *key)
{
	const struct pg_seen *seen = &key->seen;
	struct op *op = call->op;
	struct lease *lease = &op->answer.lease;
	int64_t left = seen->until_us - clock_boot_us();

	op->answer.waiters = lease->waiters = waiters(engine, op);
	if (seen->known && left > 0) {
		op->answer.held = true;
		lease->name_space = op->request.name_space;
		lease->key = op->request.key;
		lease->fencing_token = seen->fence;
		lease->acquired_wall_us = seen->acquired_us;
		lease->expires_wall_us = seen->expires_us;
		lease->remaining_us = left;
		lease->owner = arena_copy(op->arena, seen->owner);
		if (seen->owner.len && !lease->owner.data) {
			pg_call_answer(engine, call, ERR_BACKEND_DOWN);
			return;
		}
	}
	pg_call_answer(engine, call, ERR_HELD);
}

struct pg_call *pg_call_of_timer(struct pg_timer *timer)
{
	return (struct pg_call *)((char *)timer - offsetof(struct pg_call, timer));
}

void pg_call_due(struct pg_engine *engine, struct pg_timer *timer)
{
	struct pg_call *call = pg_call_of_timer(timer);

	if (!call->key || call->over || call->unsure || !engine->up) {
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
	} else if (pg_call_pending(engine, call)) {
		call->over = true;
		pg_timers_set(&engine->timers, timer, engine->now + engine->shared->timeout_us);
	} else {
		pg_call_answer_held(engine, call, call->key);
	}
}

void pg_call_failed(struct pg_engine *engine, struct pg_call *call, enum pg_verdict verdict,
		    const PGresult *result)
{
	if (verdict == PG_LOST) {
		call->unsure = true;
		call->granted = false;
	}
	if (verdict != PG_REFUSED && call->tries++ < TRIES_MOST) {
		pg_engine_send(engine, &call->ticket, verdict == PG_LOST);
		return;
	}
	if (result) {
		char why[DRIVER_WHY];

		pg_failure_text(why, PQresultErrorMessage(result), engine->shared->password);
		log_error("the database refuses a statement",
			  LOG_TEXT("backend", engine->shared->backend),
			  LOG_TEXT("op", op_name(call->op->kind)), LOG_TEXT("why", why));
	}
	pg_call_answer(engine, call, ERR_BACKEND_DOWN);
}

static bool copy(struct op *op, struct bytes *to, const PGresult *result, int row, int column)
{
	struct bytes from = pg_value_text(result, row, column);

	*to = from.len ? arena_copy(op->arena, from) : (struct bytes){NULL, 0};
	return to->len == 0 || to->data;
}

bool pg_call_read(struct pg_engine *engine, struct pg_call *call, const PGresult *result, int row,
		  struct lease *lease)
{
	struct op *op = call->op;

	(void)engine;
	lease->name_space = op->request.name_space;
	lease->key = op->request.key;
	lease->holder = pg_value_holder(result, row, PG_HOLDER);
	lease->fencing_token = (uint64_t)pg_value_long(result, row, PG_FENCE);
	lease->acquired_wall_us = pg_value_time(result, row, PG_ACQUIRED);
	lease->expires_wall_us = pg_value_time(result, row, PG_EXPIRES);
	lease->remaining_us = lease->expires_wall_us - pg_value_time(result, row, PG_NOW);
	return copy(op, &lease->owner, result, row, PG_OWNER) &&
	       copy(op, &lease->request_id, result, row, PG_REQUEST_ID) &&
	       pg_metadata_read(op->arena, pg_value_text(result, row, PG_METADATA),
				&lease->metadata);
}

bool pg_call_repeats(const struct pg_call *call, const PGresult *result, int row)
{
	const struct op_request *request = &call->op->request;

	return request->request_id.len &&
	       bytes_equal(request->request_id, pg_value_text(result, row, PG_REQUEST_ID)) &&
	       bytes_equal(request->owner, pg_value_text(result, row, PG_OWNER));
}

void pg_call_granted(struct pg_engine *engine, struct pg_call *call, const PGresult *result,
		     bool repeated)
{
	struct op *op = call->op;
	struct lease *lease = &op->answer.lease;
	bool whole = pg_call_read(engine, call, result, 0, lease);

	op->answer.repeated = repeated;
	op->answer.held = true;
	op->answer.waiters = lease->waiters = waiters(engine, op);
	call->granted = !repeated;
	if (call->wait_until_us) /* nothing but silence is waited for from here on */
		pg_timers_set(&engine->timers, &call->timer,
			      engine->now + engine->shared->timeout_us);
	if (!repeated) {
		lease->owner = op->request.owner;
		lease->request_id = op->request.request_id;
		lease->metadata = op->request.metadata;
	}
	if (whole)
		pg_barrier_hold(engine, &call->ticket);
	else
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
}

/* Time that passed since the statement was sent is not the client's any more. */
void pg_call_settle(struct pg_engine *engine, struct pg_ticket *ticket)
{
	struct pg_call *call = pg_call_of(ticket);
	struct lease *lease = &call->op->answer.lease;

	lease->remaining_us -= clock_boot_us() - ticket->sent_us;
	if (lease->remaining_us < 1)
		lease->remaining_us = 1;
	pg_call_answer(engine, call, ERR_OK);
}

/* FNV-1a. Nothing but the order of locks hangs on it. */
static uint64_t order_of(struct bytes name_space, struct bytes key)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name_space.len; i++)
		hash = (hash ^ name_space.data[i]) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < key.len; i++)
		hash = (hash ^ key.data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

void pg_call_start(struct pg_engine *engine, struct pg_call *call)
{
	struct op *op = call->op;
	struct pg_key *key;

	if (!engine->up && engine->now - engine->heard_us > engine->shared->timeout_us) {
		pg_call_answer(engine, call, ERR_BACKEND_DOWN);
		return;
	}
	if (call->wait_until_us) {
		pg_wait_join(engine, call);
		return;
	}
	pg_timers_set(&engine->timers, &call->timer,
		      call->submitted_us + engine->shared->timeout_us);
	call->ticket.kind = pg_kinds_of(op->kind);
	call->ticket.order = order_of(op->request.name_space, op->request.key);
	key = op->kind == OP_ACQUIRE ? pg_keys_find(engine, op->request.name_space, op->request.key)
				     : NULL;
	/* It never overtakes those who wait: it may only look. */
	if (key && key->waiters)
		call->ticket.kind = &pg_peek_kind;
	pg_engine_send(engine, &call->ticket, true);
}

void pg_call_cancel(struct pg_engine *engine, struct pg_call *call)
{
	if (call->op && call->op->kind == OP_ACQUIRE)
		pg_call_answer(engine, call, ERR_CANCELLED);
	pg_call_unref(call);
}
