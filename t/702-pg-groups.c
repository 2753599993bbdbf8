/* SPDX-License-Identifier: Apache-2.0
 *
 * The postgres driver: calls that queue up share a transaction, and one's trouble is not another's.
 */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
#include "pg/driver.h"
#include "pg_case.h"
#include "pg_server.h"

#define MS CLOCK_MILLI

enum { CALLS = 200, SPECIAL = CALLS / 2 };

static struct pg_case test;
static struct pg_client client;
static PGconn *session;
static struct pg_op ops[CALLS], undo[CALLS];
static char key[CALLS][32];

static void set_up(void)
{
	pg_case_init(&test);
	pg_case_open(&test);
	pg_client_attach(&client, &test, 0);
	session = pg_case_session(&test);
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	for (int i = 0; i < CALLS; i++)
		snprintf(key[i], sizeof key[i], "k%d", i);
}

static void tear_down(void)
{
	for (int i = 0; i < CALLS; i++) {
		pg_op_free(&ops[i]);
		pg_op_free(&undo[i]);
	}
	PQfinish(session);
	pg_client_detach(&client);
	pg_case_close(&test);
}

TestSuite(pg_groups, .init = set_up, .fini = tear_down, .timeout = 60);

static void acquire_all(void)
{
	for (int i = 0; i < CALLS; i++) {
		pg_op_init(&ops[i], OP_ACQUIRE, "n", key[i]);
		ops[i].op.request.ttl_us = 600000 * MS;
		pg_op_submit(&client, &ops[i]);
	}
}

static void release_all(void)
{
	for (int i = 0; i < CALLS; i++) {
		pg_op_init(&undo[i], OP_RELEASE, "n", key[i]);
		undo[i].op.request.holder = ops[i].op.answer.lease.holder;
		undo[i].op.request.holder_known = true;
		pg_op_submit(&client, &undo[i]);
	}
}

/* Granted, and the table knows it. */
static void expect_granted(int i)
{
	char holder[LEASE_HOLDER_TEXT + 1] = "";

	cr_assert_eq(pg_op_finish(&client, &ops[i]), ERR_OK, "call %d", i);
	holder_format(ops[i].op.answer.lease.holder, holder);
	cr_assert_str_eq(pg_case_sql(session,
				     "SELECT holder_id FROM leases WHERE key = '%s' AND expires_at "
				     "> clock_timestamp()",
				     key[i]),
			 holder);
}

static long transactions(void)
{
	return strtol(pg_case_sql(session, "SELECT count(DISTINCT xmin::text) FROM leases"), NULL,
		      10);
}

Test(pg_groups, what_queues_up_shares_transactions)
{
	acquire_all();
	for (int i = 0; i < CALLS; i++)
		expect_granted(i);
	cr_expect_lt(transactions(), CALLS / 2);
	release_all();
	for (int i = 0; i < CALLS; i++) {
		cr_expect_eq(pg_op_finish(&client, &undo[i]), ERR_OK);
		cr_expect(undo[i].op.answer.existed);
	}
	cr_expect_lt(transactions(), CALLS / 2);
	cr_expect_str_eq(pg_case_sql(session, "SELECT count(*) FROM leases WHERE expires_at >"
					      " clock_timestamp()"),
			 "0");
}

Test(pg_groups, one_call_alone_has_a_transaction_of_its_own)
{
	for (int i = 0; i < 5; i++)
		cr_assert_eq(pg_take(&client, &ops[i], key[i], 600000 * MS), ERR_OK);
	cr_expect_eq(transactions(), 5);
}

/* A group is rolled back because of one; the others must not pay more than a moment for it. */
Test(pg_groups, a_locked_row_is_only_its_own_calls_trouble)
{
	acquire_all();
	for (int i = 0; i < CALLS; i++)
		expect_granted(i);
	release_all();
	for (int i = 0; i < CALLS; i++) {
		cr_assert_eq(pg_op_finish(&client, &undo[i]), ERR_OK);
		pg_op_free(&ops[i]);
	}
	pg_case_sql(session, "BEGIN");
	pg_case_sql(session, "SELECT 1 FROM leases WHERE key = '%s' FOR UPDATE", key[SPECIAL]);
	acquire_all();
	for (int i = 0; i < CALLS; i++)
		if (i != SPECIAL)
			cr_assert_eq(pg_op_finish(&client, &ops[i]), ERR_OK, "call %d", i);
	cr_expect(!ops[SPECIAL].done);
	pg_case_sql(session, "COMMIT");
	for (int i = 0; i < CALLS; i++)
		expect_granted(i);
}

Test(pg_groups, a_refused_statement_is_only_its_own_calls_error)
{
	pg_case_sql(session, "ALTER TABLE leases ADD CHECK (key <> '%s')", key[SPECIAL]);
	acquire_all();
	for (int i = 0; i < CALLS; i++)
		if (i != SPECIAL)
			expect_granted(i);
	cr_expect_eq(pg_op_finish(&client, &ops[SPECIAL]), ERR_BACKEND_DOWN);
	cr_expect_str_eq(
	    pg_case_sql(session, "SELECT count(*) FROM leases WHERE key = '%s'", key[SPECIAL]),
	    "0");
}

/* What was cancelled in the middle of a group leaves nothing behind; its neighbours are granted. */
Test(pg_groups, cancelled_calls_of_a_group_hold_nothing)
{
	char live[32];

	acquire_all();
	for (int i = 0; i < CALLS; i += 2)
		pg_driver.cancel(client.worker, &ops[i].op);
	for (int i = 0; i < CALLS; i++) {
		enum err err = pg_op_finish(&client, &ops[i]);

		cr_assert(err == ERR_OK || (i % 2 == 0 && err == ERR_CANCELLED));
	}
	for (int i = 0; i < CALLS; i++) {
		bool held = ops[i].op.answer.result == ERR_OK;

		pg_until_held(&client, key[i], held);
		snprintf(live, sizeof live, "%s",
			 pg_case_sql(session,
				     "SELECT count(*) FROM leases WHERE key = '%s' AND expires_at "
				     "> clock_timestamp()",
				     key[i]));
		cr_expect_str_eq(live, held ? "1" : "0");
	}
}
