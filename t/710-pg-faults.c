/* SPDX-License-Identifier: Apache-2.0
 *
 * The postgres driver and a database that is not as one would wish: locked rows, killed sessions,
 * odd defaults, missing rights. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/holder.h"
#include "pg/driver.h"
#include "pg/session.h"
#include "pg/shared.h"
#include "pg_case.h"
#include "pg_server.h"

#define MS CLOCK_MILLI

static struct pg_case test;
static struct pg_client client;
static PGconn *session;

static void start(void)
{
	pg_case_open(&test);
	pg_client_attach(&client, &test, 0);
	session = pg_case_session(&test);
}

static void set_up(void)
{
	pg_case_init(&test);
	start();
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
}

static void tear_down(void)
{
	PQfinish(session);
	pg_client_detach(&client);
	pg_case_close(&test);
}

TestSuite(pg_faults, .init = set_up, .fini = tear_down, .timeout = 90);
TestSuite(pg_start, .timeout = 90);

/* --- rows that somebody else locks ----------------------------------------------------------- */

Test(pg_faults, B35_a_lease_that_waited_for_a_row_has_its_whole_time)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 5 * MS), ERR_OK);
	pg_until_held(&client, "k", false);
	pg_op_free(&one);
	pg_case_sql(session, "BEGIN");
	pg_case_sql(session, "SELECT 1 FROM leases WHERE key = 'k' FOR UPDATE");
	pg_wait(&client, &one, "k", 2000 * MS, 10000 * MS);
	pg_client_run(&client, &one.done, 2500 * MS);
	cr_assert(!one.done);
	pg_case_sql(session, "COMMIT");
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_expect_gt(one.op.answer.lease.remaining_us, 1500 * MS);
	cr_expect_eq(pg_take(&client, &two, "k", 1000 * MS), ERR_HELD);
	pg_op_free(&one), pg_op_free(&two);
}

Test(pg_faults, a_row_that_is_just_being_made_costs_no_time)
{
	struct pg_op one;

	pg_case_sql(session, "BEGIN");
	pg_case_sql(session, "INSERT INTO leases (namespace, key, holder_id, fence, acquired_at,"
			     " expires_at) VALUES ('n', 'k', gen_random_uuid(), 1, now(), now())");
	pg_op_init(&one, OP_ACQUIRE, "n", "k");
	one.op.request.ttl_us = 1000 * MS;
	pg_op_submit(&client, &one);
	pg_client_run(&client, &one.done, 200 * MS);
	cr_assert(!one.done);
	pg_case_sql(session, "ROLLBACK");
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_expect_gt(one.op.answer.lease.remaining_us, 900 * MS);
	pg_op_free(&one);
}

Test(pg_faults, B01_a_renewal_that_waited_for_a_row_does_not_revive)
{
	for (int commit = 0; commit < 2; commit++) {
		struct pg_op one, two;

		cr_assert_eq(pg_take(&client, &one, "k", 300 * MS), ERR_OK);
		pg_case_sql(session, "BEGIN");
		pg_case_sql(session, "SELECT 1 FROM leases WHERE key = 'k' FOR UPDATE");
		pg_op_init(&two, OP_RENEW, "n", "k");
		two.op.request.ttl_us = 60000 * MS;
		two.op.request.holder = one.op.answer.lease.holder;
		two.op.request.holder_known = true;
		pg_op_submit(&client, &two);
		pg_client_run(&client, NULL, 350 * MS);
		pg_case_sql(session, commit ? "COMMIT" : "ROLLBACK");
		cr_expect_eq(pg_op_finish(&client, &two), ERR_NOT_HOLDER);
		pg_until_held(&client, "k", false);
		pg_op_free(&one), pg_op_free(&two);
	}
}

Test(pg_faults, a_locked_row_holds_nobody_else_up)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	cr_assert_eq(pg_take(&client, &two, "mine", 60000 * MS), ERR_OK);
	pg_case_sql(session, "BEGIN");
	pg_case_sql(session, "SELECT 1 FROM leases WHERE key = 'k' FOR UPDATE");
	pg_wait(&client, &three, "k", 1000 * MS, 20000 * MS);
	for (int i = 0; i < 20; i++) {
		struct pg_op four;

		cr_assert_eq(
		    pg_renew(&client, &four, "mine", two.op.answer.lease.holder, 60000 * MS),
		    ERR_OK);
		cr_expect_lt(four.done_us - four.begun_us, 500 * MS);
		pg_op_free(&four);
	}
	pg_case_sql(session, "COMMIT");
	pg_driver.cancel(client.worker, &three.op);
	cr_expect_eq(pg_op_finish(&client, &three), ERR_CANCELLED);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

Test(pg_faults, a_row_that_stays_locked_is_unavailable_in_time)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_case_sql(session, "BEGIN");
	pg_case_sql(session, "SELECT 1 FROM leases WHERE key = 'k' FOR UPDATE");
	cr_expect_eq(pg_release(&client, &two, "k", one.op.answer.lease.holder), ERR_BACKEND_DOWN);
	cr_expect_lt(two.done_us - two.begun_us, 6000 * MS);
	pg_case_sql(session, "ROLLBACK");
	pg_op_free(&one), pg_op_free(&two);
}

/* --- sessions that end ----------------------------------------------------------------------- */

static void kill_sessions(void)
{
	pg_case_sql(session,
		    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
		    " WHERE application_name = '%s'",
		    test.schema);
}

/* Whatever moment the sessions are killed at, each call ends well, once, and leaves one holder. */
Test(pg_faults, killed_sessions_cost_time_but_no_call)
{
	enum { OPS = 60 };
	static struct pg_op ops[OPS];
	static char key[OPS][32];

	for (int round = 0; round < 6; round++) {
		for (int i = 0; i < OPS; i++) {
			struct pg_op *one = &ops[i];

			snprintf(key[i], sizeof key[i], "k%d", i);
			pg_op_init(one, OP_ACQUIRE, "n", key[i]);
			one->op.request.ttl_us = 60000 * MS;
			one->op.request.wait_us = i % 2 ? 10000 * MS : 0;
			pg_op_submit(&client, one);
		}
		pg_client_run(&client, NULL, round * MS);
		kill_sessions();
		for (int i = 0; i < OPS; i++) {
			struct pg_op back;

			cr_assert_eq(pg_op_finish(&client, &ops[i]), ERR_OK, "%s",
				     err_text(ops[i].op.answer.result));
			cr_assert_eq(
			    pg_release(&client, &back, key[i], ops[i].op.answer.lease.holder),
			    ERR_OK);
			cr_assert(back.op.answer.existed);
			pg_op_free(&back);
			pg_op_free(&ops[i]);
		}
		cr_expect_str_eq(pg_case_sql(session, "SELECT count(*) FROM leases"
						      " WHERE expires_at > clock_timestamp()"),
				 "0");
	}
}

Test(pg_faults, a_release_that_was_cut_off_says_that_it_was_there)
{
	for (int i = 0; i < 10; i++) {
		struct pg_op one, two;

		cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
		pg_op_init(&two, OP_RELEASE, "n", "k");
		two.op.request.holder = one.op.answer.lease.holder;
		two.op.request.holder_known = true;
		pg_op_submit(&client, &two);
		kill_sessions();
		cr_expect_eq(pg_op_finish(&client, &two), ERR_OK);
		cr_expect(two.op.answer.existed);
		pg_op_free(&one), pg_op_free(&two);
	}
}

Test(pg_faults, waiters_outlive_killed_sessions)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", 1);
	kill_sessions();
	cr_assert_eq(pg_release(&client, &three, "k", one.op.answer.lease.holder), ERR_OK);
	cr_expect_eq(pg_op_finish(&client, &two), ERR_OK);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

/* LISTEN is not to be had: the poll finds what nobody tells. */
Test(pg_faults, without_notifications_waiting_still_works)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", 1);
	/* A release of somebody who does not notify. */
	pg_case_sql(session, "UPDATE leases SET expires_at = clock_timestamp()");
	cr_assert_eq(pg_op_finish(&client, &two), ERR_OK);
	cr_expect_lt(two.done_us - two.begun_us, 5000 * MS);
	pg_op_free(&one), pg_op_free(&two);
}

Test(pg_faults, a_table_that_was_dropped_is_made_again)
{
	struct pg_op one;

	pg_case_sql(session, "DROP TABLE leases");
	cr_expect_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_op_free(&one);
}

/* --- what an administrator may have set ------------------------------------------------------ */

Test(pg_start, odd_defaults_of_the_role_change_nothing)
{
	static const char *const odd[] = {"default_transaction_isolation = 'serializable'",
					  "default_transaction_read_only = on",
					  "statement_timeout = 1",
					  "lock_timeout = 1",
					  "timezone = 'Pacific/Chatham'",
					  "datestyle = 'SQL, DMY'",
					  "intervalstyle = 'sql_standard'",
					  "bytea_output = 'escape'",
					  "synchronous_commit = off",
					  "enable_indexscan = off",
					  "plan_cache_mode = 'force_custom_plan'",
					  "search_path = ''",
					  "standard_conforming_strings = off",
					  "client_encoding = 'LATIN1'"};
	PGconn *owner;
	struct pg_op one, two;

	pg_case_init(&test);
	owner = pg_case_session(&test);
	pg_case_sql(owner, "CREATE ROLE odd_%s LOGIN; GRANT CREATE ON DATABASE leased TO odd_%s",
		    test.schema, test.schema);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		pg_case_sql(owner, "ALTER ROLE odd_%s SET %s", test.schema, odd[i]);
	snprintf(test.dsn + strlen(test.dsn), sizeof test.dsn - strlen(test.dsn), " user=odd_%s",
		 test.schema);
	start();
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	for (int i = 0; i < 50; i++) {
		cr_assert_eq(pg_take(&client, &one, "\xc3\xa9", 60000 * MS), ERR_OK);
		cr_assert_eq(pg_list(&client, &two, ""), ERR_OK);
		cr_assert_eq(two.op.answer.lease_count, 1);
		pg_op_free(&two);
		cr_assert_eq(pg_release(&client, &two, "\xc3\xa9", one.op.answer.lease.holder),
			     ERR_OK);
		pg_op_free(&one), pg_op_free(&two);
	}
	tear_down();
	pg_case_sql(owner, "DROP OWNED BY odd_%s; DROP ROLE odd_%s", test.schema, test.schema);
	PQfinish(owner);
}

Test(pg_start, a_role_that_may_not_create_needs_the_table_only)
{
	PGconn *owner;
	struct pg_op one;

	pg_case_init(&test);
	snprintf(test.dsn + strlen(test.dsn), sizeof test.dsn - strlen(test.dsn), " user=plain");
	start();
	owner = pg_case_session(&test);
	cr_assert(!pg_client_health(&client, ERR_OK, 700 * MS));
	pg_case_sql(
	    owner,
	    "CREATE SCHEMA %s; CREATE TABLE %s.leases (namespace text COLLATE \"C\","
	    " key text COLLATE \"C\", holder_id uuid, fence bigint, acquired_at timestamptz,"
	    " expires_at timestamptz, waiters_until timestamptz NOT NULL DEFAULT '-infinity',"
	    " owner text NOT NULL DEFAULT '', request_id text NOT NULL DEFAULT '',"
	    " metadata text NOT NULL DEFAULT '{}', PRIMARY KEY (namespace, key));"
	    " GRANT USAGE ON SCHEMA %s TO plain;"
	    " GRANT SELECT, INSERT, UPDATE, DELETE ON %s.leases TO plain",
	    test.schema, test.schema, test.schema, test.schema);
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	cr_expect_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_op_free(&one);
	PQfinish(owner);
	tear_down();
}

/* What a session's failure says. */
static void expect_why(const char *part)
{
	struct pg_past past = {0, 0};
	struct pg_session made;
	int stop[2];

	cr_assert(pipe(stop) == 0);
	pg_session_open(test.shared, PG_ROLE_WORK, &past, stop[0], &made);
	cr_assert_null(made.pg);
	cr_expect(strstr(made.why, part), "%s", made.why);
}

Test(pg_start, what_is_missing_is_named)
{
	PGconn *owner;

	pg_case_init(&test);
	owner = pg_case_session(&test);
	pg_case_option(&test, "create_table")->number = 0;
	pg_case_open(&test);
	expect_why("etc/schema.sql");
	pg_case_sql(owner, "CREATE SCHEMA %s; CREATE TABLE %s.leases (namespace text, key text)",
		    test.schema, test.schema);
	expect_why("collation \"C\"");
	PQfinish(owner);
	pg_case_close(&test);
}

Test(pg_start, many_start_at_once_on_an_empty_database)
{
	enum { HOSTS = 8 };
	static struct pg_case hosts[HOSTS];
	static struct pg_client clients[HOSTS];

	for (int i = 0; i < HOSTS; i++) {
		pg_case_init(&hosts[i]);
		pg_case_option(&hosts[i], "schema")->text = hosts[0].schema;
		pg_case_option(&hosts[i], "connections")->number = 1;
		pg_case_open(&hosts[i]);
	}
	for (unsigned i = 0; i < HOSTS; i++)
		pg_client_attach(&clients[i], &hosts[i], 0);
	for (int i = 0; i < HOSTS; i++)
		cr_expect(pg_client_health(&clients[i], ERR_OK, 20 * CLOCK_SECOND));
	for (int i = 0; i < HOSTS; i++) {
		pg_client_detach(&clients[i]);
		pg_case_close(&hosts[i]);
	}
}

Test(pg_start, B44_a_database_of_another_collation_lists_in_byte_order)
{
	static const char *const sorted[] = {"10", "9",	  "A",	 "B",	    "_x",
					     "a",  "a-b", "a_z", "\xc3\xa9"};
	enum { COUNT = sizeof sorted / sizeof *sorted };
	PGconn *owner;
	struct pg_op one;

	pg_case_init(&test);
	owner = pg_case_session(&test);
	pg_case_sql(owner,
		    "CREATE DATABASE icu_%s LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
		    " TEMPLATE template0",
		    test.schema);
	snprintf(test.dsn + strlen(test.dsn), sizeof test.dsn - strlen(test.dsn), " dbname=icu_%s",
		 test.schema);
	start();
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	for (int i = COUNT - 1; i >= 0; i--) {
		cr_assert_eq(pg_take(&client, &one, sorted[i], 60000 * MS), ERR_OK);
		pg_op_free(&one);
	}
	cr_assert_eq(pg_list(&client, &one, ""), ERR_OK);
	cr_assert_eq(one.op.answer.lease_count, COUNT);
	for (int i = 0; i < COUNT; i++)
		cr_expect(bytes_equal(one.op.answer.leases[i].key, bytes_of(sorted[i])));
	pg_op_free(&one);
	tear_down();
	pg_case_sql(owner, "DROP DATABASE icu_%s", test.schema);
	PQfinish(owner);
}

/* --- secrets --------------------------------------------------------------------------------- */

Test(pg_start, a_password_is_in_no_message)
{
	static const char *const bad[] = {
	    "host=/nowhere password=hunter2 x y", "postgresql://u:hunter2@[::1/db",
	    "host=h password='hunter2", "password=a hunter2", "postgres://u@h/db?hunter2=1"};

	pg_case_init(&test);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		pg_case_option(&test, "dsn")->text = bad[i];
		cr_expect_neq(pg_case_try(&test), ERR_OK);
		cr_expect(!strstr(test.why, "hunter2"), "%s", test.why);
		cr_expect_gt(strlen(test.why), 10);
	}
	pg_case_option(&test, "dsn")->text = "host=/nowhere/hunter2 password=hunter2";
	pg_case_open(&test);
	expect_why("/nowhere/***");
	pg_case_close(&test);
}
