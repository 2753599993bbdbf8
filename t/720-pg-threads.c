/* SPDX-License-Identifier: Apache-2.0
 *
 * The postgres driver under a thread sanitizer: calls, cancels, waits and lost connections, while
 * the event loop and the I/O thread run beside each other. Plain C: Criterion and the sanitizer do
 * not get along. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "pg/driver.h"
#include "pg_case.h"
#include "pg_server.h"

#define MS CLOCK_MILLI

enum { ROUNDS = 30, OPS = 40 };

static void one_round(struct pg_client *client, int round)
{
	static struct pg_op ops[OPS];

	for (int i = 0; i < OPS; i++) {
		pg_op_init(&ops[i], OP_ACQUIRE, "n", (const char *[]){"a", "b", "c"}[i % 3]);
		ops[i].op.request.ttl_us = 20 * MS;
		ops[i].op.request.wait_us = i % 4 ? 5000 * MS : 0;
		pg_op_submit(client, &ops[i]);
		if (i % 5 == 0)
			pg_client_run(client, &ops[i].done, (round % 7) * 100);
		if (i % 7 == 0 && !ops[i].done)
			pg_driver.cancel(client->worker, &ops[i].op);
	}
	for (int i = 0; i < OPS; i++) {
		struct pg_op back;
		enum err err = pg_op_finish(client, &ops[i]);

		CHECK(err == ERR_OK || err == ERR_HELD || err == ERR_CANCELLED);
		if (err == ERR_OK) {
			pg_release(client, &back, (const char *[]){"a", "b", "c"}[i % 3],
				   ops[i].op.answer.lease.holder);
			pg_op_free(&back);
		}
		pg_op_free(&ops[i]);
	}
}

int main(void)
{
	struct pg_client client;
	struct pg_case test;
	PGconn *session;

	pg_server_begin();
	pg_case_init(&test);
	pg_case_open(&test);
	pg_client_attach(&client, &test, 0);
	CHECK(pg_client_health(&client, ERR_OK, 20 * CLOCK_SECOND));
	session = pg_case_session(&test);
	for (int round = 0; round < ROUNDS; round++) {
		one_round(&client, round);
		if (round % 10 == 9)
			pg_case_sql(session,
				    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
				    " WHERE application_name = '%s'",
				    test.schema);
	}
	PQfinish(session);
	pg_client_detach(&client);
	pg_case_close(&test);
	pg_server_end();
	puts("ok - event loop and I/O thread share nothing without a lock");
	return 0;
}
