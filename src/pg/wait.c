/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "pg/board.h"
#include "pg/kinds.h"
#include "pg/sql.h"
#include "pg/value.h"
#include "pg/wait.h"

/* After a refusal that says nothing of the lease: a locked row, mostly. */
#define PAUSE_US (20 * CLOCK_MILLI)

static void count(struct pg_engine *engine, struct pg_key *key, int change)
{
	key->waiters += (uint32_t)change;
	engine->waiting += change;
	pg_board_set(engine->shared->board, engine->slot, key->hash, key->waiters);
}

static void key_due(struct pg_engine *engine, struct pg_timer *timer)
{
	pg_wait_try(engine, (struct pg_key *)((char *)timer - offsetof(struct pg_key, timer)));
}

void pg_wait_join(struct pg_engine *engine, struct pg_call *call)
{
	struct op *op = call->op;
	struct pg_key *key;

	if (engine->draining || engine->waiting >= engine->shared->waiters) {
		pg_call_answer(engine, call, engine->draining ? ERR_DRAINING : ERR_WAITERS_FULL);
		return;
	}
	key = pg_keys_get(engine, op->request.name_space, op->request.key);
	key->timer.due = key_due;
	call->ticket.kind = &pg_attempt_kind;
	call->key = key;
	call->next = NULL;
	call->prev = key->last;
	if (key->last)
		key->last->next = call;
	else
		key->first = call;
	key->last = call;
	count(engine, key, 1);
	pg_timers_set(&engine->timers, &call->timer, call->wait_until_us);
	/* Behind others only a repeated request has reason to ask: its own lease may be in the way.
	 */
	if (key->first == call || op->request.request_id.len)
		pg_wait_try(engine, key);
}

static void unlink_call(struct pg_engine *engine, struct pg_call *call)
{
	struct pg_key *key = call->key;

	if (call->prev)
		call->prev->next = call->next;
	else
		key->first = call->next;
	if (call->next)
		call->next->prev = call->prev;
	else
		key->last = call->prev;
	call->key = NULL;
	count(engine, key, -1);
}

void pg_wait_leave(struct pg_engine *engine, struct pg_call *call)
{
	struct pg_key *key = call->key;

	unlink_call(engine, call);
	if (key->trying == call && !pg_call_pending(engine, call)) {
		pg_tickets_remove(&call->ticket);
		key->trying = NULL;
		call->attempt = NULL;
		pg_wait_try(engine, key);
	}
	pg_keys_leave(engine, key);
}

void pg_wait_try(struct pg_engine *engine, struct pg_key *key)
{
	struct pg_call *first = key->first;

	if (!first || key->trying) {
		key->again = key->trying != NULL;
		return;
	}
	key->trying = first;
	key->again = false;
	first->attempt = key;
	pg_timers_clear(&engine->timers, &key->timer);
	pg_engine_send(engine, &first->ticket, true);
}

void pg_wait_freed(struct pg_engine *engine, struct bytes name_space, struct bytes key)
{
	struct pg_key *found = pg_keys_find(engine, name_space, key);

	if (found)
		pg_wait_try(engine, found);
}

void pg_wait_notified(struct pg_engine *engine, const char *text)
{
	char *names;
	unsigned long length = strtoul(text, &names, 10);
	size_t all = strlen(names);

	if (*names != ':' || length > all - 1) /* somebody else's */
		return;
	names++;
	pg_wait_freed(engine, (struct bytes){(const uint8_t *)names, length},
		      (struct bytes){(const uint8_t *)names + length, all - 1 - length});
}

void pg_wait_end_all(struct pg_engine *engine, enum err result)
{
	struct pg_key *earlier;

	for (struct pg_key *key = engine->keys.newest; key; key = earlier) {
		earlier = key->earlier;
		/* The last one to leave may free the key. */
		for (uint32_t left = key->waiters; left > 0; left--)
			pg_call_answer(engine, key->first, result);
	}
}

/* --- what was seen of the lease in the way --------------------------------------------------- */

void pg_wait_saw(struct pg_engine *engine, struct pg_key *key, const struct pg_seen *seen)
{
	uint8_t *owner = seen->owner.len ? malloc(seen->owner.len) : NULL;

	CHECK(owner || !seen->owner.len);
	if (owner)
		memcpy(owner, seen->owner.data, seen->owner.len);
	free((void *)(uintptr_t)key->seen.owner.data);
	key->seen = *seen;
	key->seen.owner.data = owner;
	if (!key->trying)
		pg_timers_set(&engine->timers, &key->timer, seen->until_us);
}

static struct pg_seen seen_in(const PGresult *result)
{
	int64_t now = pg_value_time(result, 0, PG_NOW);
	int64_t expires = pg_value_time(result, 0, PG_EXPIRES);

	return (struct pg_seen){.known = true,
				.fence = (uint64_t)pg_value_long(result, 0, PG_FENCE),
				.acquired_us = pg_value_time(result, 0, PG_ACQUIRED),
				.expires_us = expires,
				.until_us = clock_boot_us() + expires - now,
				.owner = pg_value_text(result, 0, PG_OWNER)};
}

/* --- attempts -------------------------------------------------------------------------------- */

static bool send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_call *call = pg_call_of(ticket);
	struct pg_params params = {0};

	(void)engine;
	call->more = call->attempt && call->attempt->waiters > 1;
	if (!pg_kinds_acquire(&params, call))
		return false;
	pg_params_bool(&params, call->more);
	return pg_params_send(&params, pg, pg_sql_name(PG_ATTEMPT));
}

/* Those whose own earlier request made this lease need not wait for its end. */
static void find_repeats(struct pg_engine *engine, struct pg_key *key, const PGresult *result)
{
	struct pg_call *next;

	for (struct pg_call *call = key->first; call; call = next) {
		next = call->next;
		if (key->trying == call || !pg_call_repeats(call, result, 0))
			continue;
		unlink_call(engine, call);
		call->ticket.kind = &pg_peek_kind;
		pg_timers_set(&engine->timers, &call->timer,
			      engine->now + engine->shared->timeout_us);
		pg_engine_send(engine, &call->ticket, true);
	}
}

static void refused(struct pg_engine *engine, struct pg_key *key, struct pg_call *call,
		    const PGresult *result)
{
	struct pg_seen seen = seen_in(result);

	pg_wait_saw(engine, key, &seen);
	find_repeats(engine, key, result);
	if (call->op && call->key && call->over)
		pg_call_answer_held(engine, call, key);
}

static void granted(struct pg_engine *engine, struct pg_key *key, struct pg_call *call,
		    const PGresult *result)
{
	struct pg_seen seen = seen_in(result);
	bool more = call->more;

	pg_wait_saw(engine, key, &seen);
	unlink_call(engine, call);
	pg_call_granted(engine, call, result, false);
	/* Those who came since have left no mark yet. */
	if (!more)
		key->again = true;
}

static void failed(struct pg_engine *engine, struct pg_key *key, struct pg_call *call,
		   enum pg_verdict verdict, const PGresult *result)
{
	if (verdict == PG_LOST && !call->over) {
		call->unsure = true;
		pg_wait_try(engine, key);
		return;
	}
	pg_timers_set(&engine->timers, &key->timer, engine->now + PAUSE_US);
	if (verdict == PG_AGAIN && !call->over)
		return;
	if (verdict == PG_AGAIN)
		pg_call_answer_held(engine, call, key);
	else
		pg_call_failed(engine, call, PG_REFUSED, result);
}

/* It was granted, but that may not outlive a crash of the database. */
static void unsettled(struct pg_engine *engine, struct pg_call *call)
{
	call->granted = false;
	call->unsure = true;
	pg_wait_join(engine, call);
}

/* The op was given back while this attempt was in flight. */
static void orphaned(struct pg_engine *engine, struct pg_key *key, struct pg_call *call,
		     const PGresult *result)
{
	bool mine = result && pg_value_int(result, 0, PG_VERDICT) == 1;

	if (result && !mine)
		refused(engine, key, call, result);
	if (!result)
		key->again = true;
	/* When it is released, the others hear of it. */
	pg_call_bury(engine, call, mine || !result || call->unsure);
}

static void answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		   const PGresult *result)
{
	struct pg_call *call = pg_call_of(ticket);
	struct pg_key *key = call->attempt;
	bool done = verdict == PG_DONE && PQntuples(result) == 1;

	if (!key) {
		unsettled(engine, call);
		return;
	}
	call->attempt = NULL;
	key->trying = NULL;
	if (!call->op) {
		orphaned(engine, key, call, done ? result : NULL);
	} else if (!done) {
		failed(engine, key, call, verdict, result);
	} else if (pg_value_int(result, 0, PG_VERDICT) == 0) {
		refused(engine, key, call, result);
	} else if (pg_kinds_is_short(call, result)) {
		call->tries++;
		key->again = true;
	} else {
		granted(engine, key, call, result);
	}
	if (key->again)
		pg_wait_try(engine, key);
	pg_keys_leave(engine, key);
}

const struct pg_ticket_kind pg_attempt_kind = {
    .send = send, .answer = answer, .settle = pg_call_settle, .grants = true};
