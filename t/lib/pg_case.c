/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "pg/driver.h"
#include "pg_case.h"
#include "pg_server.h"

void pg_case_init(struct pg_case *test)
{
	static atomic_uint count;

	memset(test, 0, sizeof *test);
	snprintf(test->schema, sizeof test->schema, "t%ld_%u", (long)getpid(),
		 atomic_fetch_add(&count, 1));
	snprintf(test->dsn, sizeof test->dsn, "%s application_name=%s", pg_server_dsn(),
		 test->schema);
	for (size_t i = 0; pg_driver.options[i].name; i++)
		test->value[i] = pg_driver.options[i].fallback;
	pg_case_option(test, "dsn")->text = test->dsn;
	pg_case_option(test, "schema")->text = test->schema;
}

union option_value *pg_case_option(struct pg_case *test, const char *name)
{
	for (size_t i = 0; pg_driver.options[i].name; i++)
		if (strcmp(pg_driver.options[i].name, name) == 0)
			return &test->value[i];
	abort();
}

enum err pg_case_try(struct pg_case *test)
{
	struct driver_place place = {.backend = "test", .state_dir = "/tmp", .workers = 4};

	return pg_driver.prepare(&place, test->value, &test->shared, test->why);
}

void pg_case_open(struct pg_case *test)
{
	if (pg_case_try(test) != ERR_OK) {
		fprintf(stderr, "prepare: %s\n", test->why);
		abort();
	}
}

void pg_case_close(struct pg_case *test)
{
	pg_driver.close(test->shared);
	test->shared = NULL;
}

PGconn *pg_case_session(const struct pg_case *test)
{
	PGconn *session = PQconnectdb(pg_server_dsn());

	if (PQstatus(session) != CONNECTION_OK) {
		fprintf(stderr, "session: %s\n", PQerrorMessage(session));
		abort();
	}
	pg_case_sql(session, "SET client_min_messages = warning; SET search_path = %s",
		    test->schema);
	return session;
}

const char *pg_case_sql(PGconn *session, const char *format, ...)
{
	static _Thread_local char value[4096];
	char text[4096];
	PGresult *result;
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	result = PQexec(session, text);
	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
	    PQresultStatus(result) != PGRES_COMMAND_OK) {
		fprintf(stderr, "%s: %s\n", text, PQerrorMessage(session));
		abort();
	}
	snprintf(value, sizeof value, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	return value;
}

/* --- workers ------------------------------------------------------------------------------- */

static void kick(void *arg)
{
	struct pg_client *client = arg;
	uint64_t one = 1;

	(void)!write(client->bell, &one, sizeof one);
}

void pg_client_attach(struct pg_client *client, struct pg_case *test, unsigned slot)
{
	client->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK(client->bell >= 0);
	client->host =
	    (struct driver_host){.kick = kick, .wake = kick, .arg = client, .slot = slot};
	CHECK(pg_driver.attach(test->shared, &client->host, &client->worker) == ERR_OK);
}

void pg_client_detach(struct pg_client *client)
{
	pg_driver.detach(client->worker);
	close(client->bell);
	client->worker = NULL;
}

bool pg_client_health(struct pg_client *client, enum err wanted, int64_t us)
{
	int64_t until = clock_boot_us() + us;

	while (pg_driver.health(client->worker) != wanted) {
		if (clock_boot_us() > until)
			return false;
		pg_client_run(client, NULL, 2 * CLOCK_MILLI);
	}
	return true;
}

void pg_client_run(struct pg_client *client, const bool *done, int64_t us)
{
	int64_t until = clock_boot_us() + us;

	while (!done || !*done) {
		struct pollfd bell = {.fd = client->bell, .events = POLLIN};
		int64_t now = clock_boot_us(), next = pg_driver.next(client->worker);
		uint64_t count;

		if (now >= until)
			return;
		if (next > until)
			next = until;
		if (next > now)
			poll(&bell, 1, (int)((next - now + 999) / 1000));
		(void)!read(client->bell, &count, sizeof count);
		pg_driver.poll(client->worker);
	}
}

/* --- operations ---------------------------------------------------------------------------- */

static void done(struct op *op)
{
	struct pg_op *one = op->caller;

	CHECK(!one->done);
	one->done = true;
	one->done_us = clock_boot_us();
}

void pg_op_init(struct pg_op *one, enum op_kind kind, const char *name_space, const char *key)
{
	memset(one, 0, sizeof *one);
	arena_init(&one->arena);
	one->op.kind = kind;
	one->op.arena = &one->arena;
	one->op.done = done;
	one->op.caller = one;
	one->op.request.name_space = bytes_of(name_space);
	one->op.request.key = bytes_of(key);
	one->op.request.metadata.entry = one->entry;
}

void pg_op_free(struct pg_op *one)
{
	arena_reset(&one->arena);
}

void pg_op_submit(struct pg_client *client, struct pg_op *one)
{
	enum err first;

	one->begun_us = clock_boot_us();
	first = pg_driver.submit(client->worker, &one->op);
	if (first == ERR_PENDING)
		return;
	CHECK(!one->done && one->op.answer.result == first);
	done(&one->op);
}

enum err pg_op_finish(struct pg_client *client, struct pg_op *one)
{
	pg_client_run(client, &one->done, 15 * CLOCK_SECOND);
	CHECK(one->done);
	return one->op.answer.result;
}

enum err pg_take(struct pg_client *client, struct pg_op *one, const char *key, int64_t ttl_us)
{
	pg_op_init(one, OP_ACQUIRE, "n", key);
	one->op.request.ttl_us = ttl_us;
	pg_op_submit(client, one);
	return pg_op_finish(client, one);
}

void pg_wait(struct pg_client *client, struct pg_op *one, const char *key, int64_t ttl_us,
	     int64_t wait_us)
{
	pg_op_init(one, OP_ACQUIRE, "n", key);
	one->op.request.ttl_us = ttl_us;
	one->op.request.wait_us = wait_us;
	pg_op_submit(client, one);
}

static enum err with_holder(struct pg_client *client, struct pg_op *one, struct holder_id holder)
{
	one->op.request.holder = holder;
	one->op.request.holder_known = true;
	pg_op_submit(client, one);
	return pg_op_finish(client, one);
}

enum err pg_renew(struct pg_client *client, struct pg_op *one, const char *key,
		  struct holder_id holder, int64_t ttl_us)
{
	pg_op_init(one, OP_RENEW, "n", key);
	one->op.request.ttl_us = ttl_us;
	return with_holder(client, one, holder);
}

enum err pg_release(struct pg_client *client, struct pg_op *one, const char *key,
		    struct holder_id holder)
{
	pg_op_init(one, OP_RELEASE, "n", key);
	return with_holder(client, one, holder);
}

enum err pg_inspect(struct pg_client *client, struct pg_op *one, const char *key)
{
	pg_op_init(one, OP_INSPECT, "n", key);
	pg_op_submit(client, one);
	return pg_op_finish(client, one);
}

enum err pg_list(struct pg_client *client, struct pg_op *one, const char *prefix)
{
	pg_op_init(one, OP_LIST, "n", "");
	one->op.request.key_prefix = bytes_of(prefix);
	pg_op_submit(client, one);
	return pg_op_finish(client, one);
}

/* Asks until the answer is the one wanted. */
static void until(struct pg_client *client, const char *key, int held, int64_t waiters)
{
	int64_t limit = clock_boot_us() + 10 * CLOCK_SECOND;

	for (;;) {
		struct pg_op one;
		bool good;

		CHECK(pg_inspect(client, &one, key) == ERR_OK);
		good = (held < 0 || one.op.answer.held == held) &&
		       (waiters < 0 || one.op.answer.waiters == waiters);
		pg_op_free(&one);
		if (good)
			return;
		CHECK(clock_boot_us() < limit);
		pg_client_run(client, NULL, 2 * CLOCK_MILLI);
	}
}

void pg_until_waiting(struct pg_client *client, const char *key, uint32_t waiters)
{
	until(client, key, -1, waiters);
}

void pg_until_held(struct pg_client *client, const char *key, bool held)
{
	until(client, key, held, -1);
}
