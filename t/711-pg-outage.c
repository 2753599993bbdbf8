/* SPDX-License-Identifier: Apache-2.0
 *
 * The postgres driver and a database that goes away: stopped, crashed, silent, full, a standby.
 * One test at a time: they share the server they end. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/holder.h"
#include "pg/driver.h"
#include "pg_case.h"
#include "pg_server.h"

#define MS CLOCK_MILLI

static struct pg_case test;
static struct pg_client client;
static int alone = -1;

static void set_up(void)
{
	char path[512];

	snprintf(path, sizeof path, "%s/alone", pg_server_dir());
	alone = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
	cr_assert(alone >= 0 && flock(alone, LOCK_EX) == 0);
	pg_case_init(&test);
	pg_case_option(&test, "timeout")->number = 2000 * MS;
}

static void start(void)
{
	pg_case_open(&test);
	pg_client_attach(&client, &test, 0);
}

static void start_up(void)
{
	start();
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
}

static void tear_down(void)
{
	pg_client_detach(&client);
	pg_case_close(&test);
	close(alone);
}

TestSuite(pg_outage, .init = set_up, .fini = tear_down, .timeout = 240);

/* Every kind of call is UNAVAILABLE within the timeout, the wait included. */
static void expect_all_down(void)
{
	struct pg_op ops[6];

	for (int i = 0; i < 6; i++) {
		pg_op_init(&ops[i], i < 5 ? (enum op_kind)i : OP_ACQUIRE, "n",
			   i == 4 ? "" : "down");
		ops[i].op.request.ttl_us = 60000 * MS;
		ops[i].op.request.wait_us = i == 5 ? 60000 * MS : 0;
		ops[i].op.request.holder = holder_make();
		ops[i].op.request.holder_known = true;
		pg_op_submit(&client, &ops[i]);
	}
	for (int i = 0; i < 6; i++) {
		cr_expect_eq(pg_op_finish(&client, &ops[i]), ERR_BACKEND_DOWN, "%d: %s", i,
			     err_text(ops[i].op.answer.result));
		cr_expect_lt(ops[i].done_us - ops[i].begun_us, 2600 * MS, "%d: %lld us", i,
			     (long long)(ops[i].done_us - ops[i].begun_us));
		pg_op_free(&ops[i]);
	}
	cr_expect_eq(pg_driver.health(client.worker), ERR_BACKEND_DOWN);
}

Test(pg_outage, a_database_that_is_down_at_the_start_is_found_later)
{
	struct pg_op one;

	pg_server_do("crash");
	start();
	expect_all_down();
	pg_server_do("resume");
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	cr_expect_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_op_free(&one);
}

Test(pg_outage, a_stopped_database_is_unavailable_and_comes_back)
{
	struct pg_op one, two, three;

	start_up();
	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 60000 * MS);
	pg_until_waiting(&client, "k", 1);
	pg_server_do("crash");
	cr_expect(pg_client_health(&client, ERR_BACKEND_DOWN, 2500 * MS));
	cr_expect_eq(pg_op_finish(&client, &two), ERR_BACKEND_DOWN);
	pg_op_free(&two);
	expect_all_down();
	pg_server_do("resume");
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	cr_expect_eq(pg_renew(&client, &three, "k", one.op.answer.lease.holder, 1000 * MS), ERR_OK);
	pg_op_free(&one), pg_op_free(&three);
}

/* A short restart costs nobody anything but time. */
Test(pg_outage, a_quick_restart_fails_no_waiter)
{
	struct pg_op one, two, three;

	pg_case_option(&test, "timeout")->number = 20000 * MS;
	start_up();
	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 60000 * MS);
	pg_until_waiting(&client, "k", 1);
	pg_server_do("crash");
	pg_server_do("resume");
	cr_assert_eq(pg_release(&client, &three, "k", one.op.answer.lease.holder), ERR_OK);
	cr_expect_eq(pg_op_finish(&client, &two), ERR_OK);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

/* What a client was told of survives: each grant, renewal and release. Nothing else is promised. */
Test(pg_outage, a_crash_loses_nothing_that_was_told)
{
	enum { OPS = 300 };
	static struct pg_op ops[OPS];
	static char key[OPS][32];
	PGconn *session;

	start_up();
	session = pg_case_session(&test);
	pg_case_sql(session, "ALTER SYSTEM SET wal_writer_delay = '10s'");
	pg_case_sql(session, "SELECT pg_reload_conf()");
	PQfinish(session);
	for (int round = 0; round < 3; round++) {
		int told = 0;

		for (int i = 0; i < OPS; i++) {
			snprintf(key[i], sizeof key[i], "c%d-%d", round, i);
			pg_op_init(&ops[i], OP_ACQUIRE, "n", key[i]);
			ops[i].op.request.ttl_us = 600000 * MS;
			pg_op_submit(&client, &ops[i]);
		}
		/* Some are told, others on their way. */
		pg_client_run(&client, &ops[OPS / 4 * (round + 1)].done, 5000 * MS);
		for (int i = 0; i < OPS; i++)
			ops[i].begun_us = ops[i].done ? -1 : 0; /* told before the crash */
		pg_server_do("crash");
		pg_server_do("resume");
		cr_assert(pg_client_health(&client, ERR_OK, 20 * CLOCK_SECOND));
		session = pg_case_session(&test);
		for (int i = 0; i < OPS; i++) {
			char holder[LEASE_HOLDER_TEXT + 1] = "";

			pg_op_finish(&client, &ops[i]);
			if (ops[i].op.answer.result == ERR_OK && ops[i].begun_us < 0) {
				told++;
				holder_format(ops[i].op.answer.lease.holder, holder);
				cr_expect_str_eq(pg_case_sql(session,
							     "SELECT holder_id FROM leases"
							     " WHERE key = '%s'",
							     key[i]),
						 holder);
			}
			pg_op_free(&ops[i]);
		}
		cr_expect_gt(told, 0, "round %d", round);
		PQfinish(session);
	}
}

/* --- silence --------------------------------------------------------------------------------- */

/* Stops or continues all server processes of this case's sessions, which then say nothing, though
 * their connections stay. */
static int pids[16], pid_count;

static void find_sessions(void)
{
	PGconn *session = pg_case_session(&test);
	char text[512];

	snprintf(text, sizeof text, "%s",
		 pg_case_sql(session,
			     "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity"
			     " WHERE application_name = '%s'",
			     test.schema));
	PQfinish(session);
	pid_count = 0;
	for (char *at = strtok(text, " "); at && pid_count < 16; at = strtok(NULL, " "))
		pids[pid_count++] = atoi(at);
}

static void signal_sessions(int number)
{
	for (int i = 0; i < pid_count; i++)
		kill(pids[i], number);
}

Test(pg_outage, a_silent_database_is_unavailable_within_the_timeout)
{
	struct pg_op one, two;

	pg_case_option(&test, "timeout")->number = 2000 * MS;
	start_up();
	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	find_sessions();
	cr_assert_geq(pid_count, 4);
	signal_sessions(SIGSTOP);
	pg_op_init(&two, OP_ACQUIRE, "n", "ghost");
	two.op.request.ttl_us = 600000 * MS;
	pg_op_submit(&client, &two);
	/* New sessions are to be had: the call is resolved by one of them, or by the timeout. */
	pg_op_finish(&client, &two);
	cr_expect(two.op.answer.result == ERR_OK || two.op.answer.result == ERR_BACKEND_DOWN);
	cr_expect_lt(two.done_us - two.begun_us, 2600 * MS);
	signal_sessions(SIGCONT);
	cr_assert(pg_client_health(&client, ERR_OK, 20 * CLOCK_SECOND));
	/* Whoever was told no holds nothing in the end. */
	pg_until_held(&client, "ghost", two.op.answer.result == ERR_OK);
	pg_op_free(&one), pg_op_free(&two);
}

Test(pg_outage, idle_silence_is_seen_by_health)
{
	int64_t begun;

	start_up();
	find_sessions();
	/* Nobody answers at all: the server makes no new session either. */
	signal_sessions(SIGSTOP);
	begun = clock_boot_us();
	cr_expect(pg_client_health(&client, ERR_BACKEND_DOWN, 4000 * MS));
	cr_expect_lt(clock_boot_us() - begun, 3000 * MS);
	signal_sessions(SIGCONT);
	cr_expect(pg_client_health(&client, ERR_OK, 20 * CLOCK_SECOND));
}

/* --- no room, no rights to write ------------------------------------------------------------- */

Test(pg_outage, without_a_free_slot_it_is_unavailable_until_there_is_one)
{
	enum { MOST = 100 };
	PGconn *taken[MOST];
	int count = 0;
	char dsn[600];
	struct pg_op one;

	snprintf(dsn, sizeof dsn, "%s user=plain", pg_server_dsn());
	/* The driver may not use what is kept for superusers. */
	while (count < MOST) {
		taken[count] = PQconnectdb(dsn);
		if (PQstatus(taken[count]) != CONNECTION_OK)
			break;
		count++;
	}
	cr_assert_lt(count, MOST);
	PQfinish(taken[count]);
	snprintf(test.dsn + strlen(test.dsn), sizeof test.dsn - strlen(test.dsn), " user=plain");
	pg_case_option(&test, "schema")->text = NULL;
	start();
	expect_all_down();
	/* Room for three of the four: no notifications, but everything else. */
	for (int i = 0; i < 3; i++)
		PQfinish(taken[--count]);
	{
		PGconn *owner = PQconnectdb(pg_server_dsn());

		pg_case_sql(owner, "GRANT CREATE ON SCHEMA public TO plain");
		PQfinish(owner);
	}
	cr_assert(pg_client_health(&client, ERR_OK, 20 * CLOCK_SECOND));
	cr_expect_eq(pg_take(&client, &one, "slots", 1000 * MS), ERR_OK);
	pg_op_free(&one);
	while (count)
		PQfinish(taken[--count]);
}
