/* SPDX-License-Identifier: Apache-2.0
 *
 * One statement for all keys that this worker waits for: it keeps their marks fresh, and finds what
 * no notification told. */
#define _GNU_SOURCE
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "pg/engine.h"
#include "pg/sql.h"
#include "pg/value.h"
#include "pg/wait.h"

/* A statement must end within the server's time limit; the rest follow at once. */
enum { KEYS_MOST = 20000, OID_TEXT = 25, HEAD = 20 };

/* Beside notifications it is only the safety net. */
#define SLOW_US	 CLOCK_SECOND
#define QUICK_US (20 * CLOCK_MILLI)

enum column { PLACE, NOW, EXPIRES, FENCE, ACQUIRED, OWNER };

/* --- arrays of text in the binary format ------------------------------------------------------ */

static uint8_t *put_int(uint8_t *to, size_t value)
{
	uint32_t wire = htobe32((uint32_t)value);

	memcpy(to, &wire, sizeof wire);
	return to + sizeof wire;
}

static uint8_t *put_text(uint8_t *to, struct bytes text)
{
	to = put_int(to, text.len);
	memcpy(to, text.data, text.len);
	return to + text.len;
}

static struct bytes array_of(const struct pg_engine *engine, bool names)
{
	size_t size = HEAD;
	uint8_t *array, *to;

	for (size_t i = 0; i < engine->looked_count; i++) {
		const struct pg_key *key = engine->looked[i];

		size += 4 + (names ? key->name_space : key->key).len;
	}
	to = array = malloc(size);
	CHECK(array);
	to = put_int(to, 1); /* dimensions */
	to = put_int(to, 0); /* no NULL */
	to = put_int(to, OID_TEXT);
	to = put_int(to, engine->looked_count);
	to = put_int(to, 1); /* counts from */
	for (size_t i = 0; i < engine->looked_count; i++) {
		const struct pg_key *key = engine->looked[i];

		to = put_text(to, names ? key->name_space : key->key);
	}
	return (struct bytes){array, size};
}

static bool send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct bytes names = array_of(engine, true), keys = array_of(engine, false);
	struct pg_params params = {0};
	bool sent;

	(void)ticket;
	pg_params_text(&params, names);
	pg_params_text(&params, keys);
	sent = pg_params_send(&params, pg, pg_sql_name(PG_LOOK));
	free((void *)(uintptr_t)names.data);
	free((void *)(uintptr_t)keys.data);
	return sent;
}

/* --- answers ---------------------------------------------------------------------------------- */

static void learn(struct pg_engine *engine, const PGresult *result, int row)
{
	int64_t place = pg_value_long(result, row, PLACE) - 1;
	int64_t left = PQgetisnull(result, row, EXPIRES)
			   ? 0
			   : pg_value_time(result, row, EXPIRES) - pg_value_time(result, row, NOW);
	struct pg_key *key;
	struct pg_seen seen;

	if (place < 0 || place >= (int64_t)engine->looked_count)
		return;
	key = engine->looked[place];
	/* An attempt on its way knows better. */
	if (!key->waiters || key->trying)
		return;
	if (left <= 0) {
		pg_wait_try(engine, key);
		return;
	}
	seen = (struct pg_seen){.known = true,
				.fence = (uint64_t)pg_value_long(result, row, FENCE),
				.acquired_us = pg_value_time(result, row, ACQUIRED),
				.expires_us = pg_value_time(result, row, EXPIRES),
				.until_us = clock_boot_us() + left,
				.owner = pg_value_text(result, row, OWNER)};
	pg_wait_saw(engine, key, &seen);
}

static void answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
		   const PGresult *result)
{
	size_t count = engine->looked_count;

	(void)ticket;
	for (int row = 0; verdict == PG_DONE && row < PQntuples(result); row++)
		learn(engine, result, row);
	for (size_t i = 0; i < count; i++) {
		engine->looked[i]->looked = false;
		pg_keys_leave(engine, engine->looked[i]);
	}
	engine->looked_count = 0;
}

const struct pg_ticket_kind pg_look_kind = {.send = send, .answer = answer};

/* Those whose turn it is, at most KEYS_MOST. True: there are more. */
static bool choose(struct pg_engine *engine, int64_t period)
{
	if (!engine->looked)
		engine->looked = calloc(KEYS_MOST, sizeof(struct pg_key *));
	CHECK(engine->looked);
	for (struct pg_key *key = engine->keys.newest; key; key = key->earlier) {
		if (!key->waiters || key->looked_us + period > engine->now)
			continue;
		if (engine->looked_count == KEYS_MOST)
			return true;
		key->looked = true;
		key->looked_us = engine->now;
		engine->looked[engine->looked_count++] = key;
	}
	return false;
}

void pg_look_turn(struct pg_engine *engine)
{
	struct pg_chore *look = &engine->look;
	struct pg_link *watch = &engine->link[engine->watch];
	struct pg_link *link = watch;
	int64_t period = engine->shared->poll_us;

	if (!engine->keys.count || look->ticket.flying || engine->now < look->due_us)
		return;
	if (!watch->pg)
		link = pg_link_pick(engine, &pg_look_kind, engine->now);
	else if (period < SLOW_US)
		period = SLOW_US;
	if (!link)
		return;
	look->due_us = engine->now + (choose(engine, period / 2) ? QUICK_US : period);
	if (engine->looked_count)
		pg_link_send(engine, link, &look->ticket);
}
