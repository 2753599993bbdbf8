/* SPDX-License-Identifier: Apache-2.0
 *
 * The postgres driver: acquires that wait, within one worker and between two that share nothing but
 * the database. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
#include "pg/driver.h"
#include "pg_case.h"

#define MS CLOCK_MILLI

static struct pg_case test, second;
static struct pg_client client, other;
static PGconn *session;

/* Two hosts: their boards are not the same either. */
static void set_up(void)
{
	pg_case_init(&test);
	pg_case_open(&test);
	pg_case_init(&second);
	pg_case_option(&second, "schema")->text = test.schema;
	pg_case_option(&second, "dsn")->text = test.dsn;
	pg_case_open(&second);
	pg_client_attach(&client, &test, 0);
	pg_client_attach(&other, &second, 0);
	session = pg_case_session(&test);
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
	cr_assert(pg_client_health(&other, ERR_OK, 10 * CLOCK_SECOND));
}

static void tear_down(void)
{
	PQfinish(session);
	pg_client_detach(&client);
	pg_client_detach(&other);
	pg_case_close(&test);
	pg_case_close(&second);
}

TestSuite(pg_waiters, .init = set_up, .fini = tear_down, .timeout = 90);

/* Until the mark of a waiter stands in the table: from then on a release notifies. */
static void until_marked(const char *key)
{
	for (int i = 0; i < 1000; i++) {
		if (strcmp(pg_case_sql(session,
				       "SELECT waiters_until > clock_timestamp() FROM leases"
				       " WHERE key = '%s'",
				       key),
			   "t") == 0)
			return;
		pg_client_run(&client, NULL, 5 * MS);
		pg_client_run(&other, NULL, 5 * MS);
	}
	cr_assert(false, "nobody left a mark");
}

Test(pg_waiters, a_free_key_is_granted_without_waiting)
{
	struct pg_op one;

	pg_wait(&client, &one, "k", 60000 * MS, 5000 * MS);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_expect_lt(one.done_us - one.begun_us, 1000 * MS);
	pg_op_free(&one);
}

Test(pg_waiters, a_release_on_the_same_worker_hands_over)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 10000 * MS);
	pg_until_waiting(&client, "k", 1);
	cr_assert_eq(pg_release(&client, &three, "k", one.op.answer.lease.holder), ERR_OK);
	cr_assert_eq(pg_op_finish(&client, &two), ERR_OK);
	cr_expect_lt(two.done_us - three.begun_us, 500 * MS);
	cr_expect_gt(two.op.answer.lease.fencing_token, one.op.answer.lease.fencing_token);
	cr_expect_gt(two.op.answer.lease.remaining_us, 50000 * MS);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

/* The look every second would be too late: this is the notification. */
Test(pg_waiters, a_release_on_another_host_hands_over_at_once)
{
	int quick = 0;

	for (int i = 0; i < 10; i++) {
		struct pg_op one, two, three;

		cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
		pg_wait(&other, &two, "k", 60000 * MS, 10000 * MS);
		until_marked("k");
		cr_assert_eq(pg_release(&client, &three, "k", one.op.answer.lease.holder), ERR_OK);
		cr_assert_eq(pg_op_finish(&other, &two), ERR_OK);
		quick += two.done_us - three.begun_us < 200 * MS;
		pg_op_free(&three);
		cr_assert_eq(pg_release(&other, &three, "k", two.op.answer.lease.holder), ERR_OK);
		pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
	}
	cr_expect_geq(quick, 8);
}

Test(pg_waiters, nobody_is_notified_when_nobody_waits)
{
	PGconn *ear = pg_case_session(&test);
	PGnotify *note;
	struct pg_op one, two;

	pg_case_sql(ear, "LISTEN leased");
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(pg_take(&client, &one, "quiet", 60000 * MS), ERR_OK);
		cr_assert_eq(pg_release(&client, &two, "quiet", one.op.answer.lease.holder),
			     ERR_OK);
		pg_op_free(&one), pg_op_free(&two);
	}
	pg_case_sql(ear, "SELECT 1");
	while ((note = PQnotifies(ear))) {
		cr_expect(!strstr(note->extra, "nquiet"));
		PQfreemem(note);
	}
	PQfinish(ear);
}

Test(pg_waiters, an_expiry_hands_over_and_never_early)
{
	struct pg_op one, two;

	for (int i = 0; i < 5; i++) {
		struct pg_op three;

		cr_assert_eq(pg_take(&client, &one, "k", 150 * MS), ERR_OK);
		pg_wait(&other, &two, "k", 60000 * MS, 10000 * MS);
		cr_assert_eq(pg_op_finish(&other, &two), ERR_OK);
		cr_expect_geq(two.done_us, one.begun_us + 150 * MS);
		cr_expect_lt(two.done_us, one.done_us + 650 * MS);
		cr_assert_eq(pg_release(&other, &three, "k", two.op.answer.lease.holder), ERR_OK);
		pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
	}
}

Test(pg_waiters, a_renewal_that_shortens_is_heard_of)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&other, &two, "k", 60000 * MS, 20000 * MS);
	until_marked("k");
	cr_assert_eq(pg_renew(&client, &three, "k", one.op.answer.lease.holder, 100 * MS), ERR_OK);
	cr_assert_eq(pg_op_finish(&other, &two), ERR_OK);
	cr_expect_lt(two.done_us, three.done_us + 600 * MS);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

Test(pg_waiters, a_wait_runs_out_after_its_time_and_says_who_holds)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 300 * MS);
	cr_assert_eq(pg_op_finish(&client, &two), ERR_HELD);
	cr_expect_geq(two.done_us - two.begun_us, 300 * MS);
	cr_expect_lt(two.done_us - two.begun_us, 1500 * MS);
	cr_expect(two.op.answer.held);
	cr_expect_eq(two.op.answer.lease.fencing_token, one.op.answer.lease.fencing_token);
	cr_expect_gt(two.op.answer.lease.remaining_us, 50000 * MS);
	pg_op_free(&one), pg_op_free(&two);
	pg_until_waiting(&client, "k", 0);
}

Test(pg_waiters, first_come_first_served_in_one_worker)
{
	enum { WAITERS = 12 };
	static struct pg_op ops[WAITERS];
	struct pg_op one, two;
	struct holder_id holder;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	holder = one.op.answer.lease.holder;
	for (int i = 0; i < WAITERS; i++)
		pg_wait(&client, &ops[i], "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", WAITERS);
	for (int i = 0; i < WAITERS; i++) {
		cr_assert_eq(pg_release(&client, &two, "k", holder), ERR_OK);
		pg_op_free(&two);
		cr_assert_eq(pg_op_finish(&client, &ops[i]), ERR_OK);
		for (int later = i + 1; later < WAITERS; later++)
			cr_assert(!ops[later].done);
		holder = ops[i].op.answer.lease.holder;
		pg_op_free(&ops[i]);
	}
	pg_op_free(&one);
}

Test(pg_waiters, a_plain_acquire_does_not_overtake)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", 1);
	/* Freed where the driver does not see it, so that the waiter does not know yet. */
	pg_case_sql(session, "UPDATE leases SET expires_at = clock_timestamp()");
	cr_expect_eq(pg_take(&client, &three, "k", 60000 * MS), ERR_HELD);
	cr_assert_eq(pg_op_finish(&client, &two), ERR_OK);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

Test(pg_waiters, a_cancelled_waiter_is_gone)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", 1);
	pg_driver.cancel(client.worker, &two.op);
	cr_assert_eq(pg_op_finish(&client, &two), ERR_CANCELLED);
	pg_until_waiting(&client, "k", 0);
	cr_assert_eq(pg_release(&client, &three, "k", one.op.answer.lease.holder), ERR_OK);
	pg_until_held(&client, "k", false);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

/* Each is cancelled at another moment of its grant: in the end nobody holds anything. */
Test(pg_waiters, a_grant_that_crosses_a_cancel_is_undone)
{
	enum { OPS = 200 };
	static char key[OPS][32];
	int cancelled = 0;
	struct pg_op one, two;

	for (int i = 0; i < OPS; i++) {
		snprintf(key[i], sizeof key[i], "k%d", i);
		pg_op_init(&one, OP_ACQUIRE, "n", key[i]);
		one.op.request.ttl_us = 600000 * MS;
		one.op.request.wait_us = i % 2 ? 10000 * MS : 0;
		pg_op_submit(&client, &one);
		pg_client_run(&client, &one.done, i * 20);
		if (!one.done)
			pg_driver.cancel(client.worker, &one.op);
		if (pg_op_finish(&client, &one) == ERR_OK) {
			cr_assert_eq(pg_release(&client, &two, key[i], one.op.answer.lease.holder),
				     ERR_OK);
			pg_op_free(&two);
		} else {
			cr_expect_eq(one.op.answer.result, ERR_CANCELLED);
			cancelled++;
		}
		pg_op_free(&one);
	}
	cr_expect_gt(cancelled, OPS / 10);
	/* A statement in flight may still grant: its end is known when the next one on each
	 * connection was answered, and what it granted is released soon after. */
	for (int i = 0; i < 400; i++) {
		cr_assert_eq(pg_list(&client, &one, ""), ERR_OK);
		pg_op_free(&one);
		if (i > 20 && one.op.answer.lease_count == 0)
			break;
		pg_client_run(&client, NULL, 5 * MS);
	}
	cr_expect_eq(one.op.answer.lease_count, 0);
}

Test(pg_waiters, a_repeated_request_behind_others_gets_its_own_lease)
{
	struct pg_op one, two, three;

	pg_op_init(&one, OP_ACQUIRE, "n", "k");
	one.op.request.ttl_us = 60000 * MS;
	one.op.request.request_id = bytes_of("r");
	pg_op_submit(&client, &one);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", 1);
	for (int waits = 0; waits < 2; waits++) {
		pg_op_init(&three, OP_ACQUIRE, "n", "k");
		three.op.request.ttl_us = 60000 * MS;
		three.op.request.wait_us = waits * 20000 * MS;
		three.op.request.request_id = bytes_of("r");
		pg_op_submit(&client, &three);
		cr_assert_eq(pg_op_finish(&client, &three), ERR_OK);
		cr_expect_lt(three.done_us - three.begun_us, 2000 * MS);
		cr_expect(three.op.answer.repeated);
		cr_expect(holder_equal(three.op.answer.lease.holder, one.op.answer.lease.holder));
		pg_op_free(&three);
	}
	cr_expect(!two.done);
	pg_driver.cancel(client.worker, &two.op);
	cr_expect_eq(pg_op_finish(&client, &two), ERR_CANCELLED);
	pg_op_free(&one), pg_op_free(&two);
}

Test(pg_waiters, a_drain_ends_waits_and_nothing_else)
{
	struct pg_op one, two, three;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	pg_until_waiting(&client, "k", 1);
	pg_driver.drain(client.worker);
	cr_assert_eq(pg_op_finish(&client, &two), ERR_DRAINING);
	pg_op_free(&two);
	pg_wait(&client, &two, "k", 60000 * MS, 30000 * MS);
	cr_assert_eq(pg_op_finish(&client, &two), ERR_DRAINING);
	cr_expect_eq(pg_renew(&client, &three, "k", one.op.answer.lease.holder, 1000 * MS), ERR_OK);
	pg_op_free(&three);
	cr_expect_eq(pg_release(&client, &three, "k", one.op.answer.lease.holder), ERR_OK);
	pg_op_free(&one), pg_op_free(&two), pg_op_free(&three);
}

/* Of both hosts: two at work, one that makes durable, one that listens. */
static int sessions(void)
{
	return atoi(pg_case_sql(
	    session, "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'",
	    test.schema));
}

Test(pg_waiters, B38_a_thousand_waiters_leave_room_for_everybody)
{
	enum { WAITERS = 1000, KEYS = 50 };
	static struct pg_op ops[WAITERS], held[KEYS];
	static char key[KEYS][32];
	struct pg_op one;

	for (int i = 0; i < KEYS; i++) {
		snprintf(key[i], sizeof key[i], "w%d", i);
		cr_assert_eq(pg_take(&client, &held[i], key[i], 60000 * MS), ERR_OK);
	}
	for (int i = 0; i < WAITERS; i++)
		pg_wait(&client, &ops[i], key[i % KEYS], 60000 * MS, 60000 * MS);
	pg_until_waiting(&client, key[KEYS - 1], WAITERS / KEYS);
	cr_expect_eq(sessions(), 4 + 4);
	for (int i = 0; i < KEYS; i++) {
		cr_assert_eq(
		    pg_renew(&client, &one, key[i], held[i].op.answer.lease.holder, 60000 * MS),
		    ERR_OK);
		cr_expect_lt(one.done_us - one.begun_us, 500 * MS);
		pg_op_free(&one);
	}
	cr_assert_eq(pg_list(&client, &one, "w"), ERR_OK);
	cr_expect_eq(one.op.answer.lease_count, KEYS);
	cr_expect_lt(one.done_us - one.begun_us, 500 * MS);
	pg_op_free(&one);
	cr_assert_eq(pg_take(&client, &one, "free", 60000 * MS), ERR_OK);
	cr_expect_lt(one.done_us - one.begun_us, 500 * MS);
	pg_op_free(&one);
	for (int i = 0; i < WAITERS; i++)
		pg_driver.cancel(client.worker, &ops[i].op);
	for (int i = 0; i < WAITERS; i++)
		cr_assert_eq(pg_op_finish(&client, &ops[i]), ERR_CANCELLED);
	for (int i = 0; i < KEYS; i++)
		pg_op_free(&held[i]);
}

/* Both hosts fight for one key; the interval between the grant's answer and the release's sending
 * is the holder's alone. */
Test(pg_waiters, two_hosts_exclude_each_other_and_nobody_is_forgotten)
{
	enum { WAITERS = 40 };
	static struct pg_op ops[2][WAITERS];
	struct pg_client *host[] = {&client, &other};
	uint64_t last = 0;
	int left = 2 * WAITERS;
	int64_t limit = clock_boot_us() + 30 * CLOCK_SECOND;

	for (int i = 0; i < WAITERS; i++)
		for (int h = 0; h < 2; h++)
			pg_wait(host[h], &ops[h][i], "k", 60000 * MS, 60000 * MS);
	while (left) {
		int holders = 0;

		cr_assert_lt(clock_boot_us(), limit, "%d were forgotten", left);
		for (int h = 0; h < 2; h++)
			pg_client_run(host[h], NULL, MS / 2);
		for (int i = 0; i < 2 * WAITERS; i++) {
			struct pg_op *won = &ops[i % 2][i / 2], back;

			if (!won->done || won->op.answer.held == false)
				continue;
			cr_assert_eq(won->op.answer.result, ERR_OK);
			cr_assert_eq(++holders, 1);
			cr_assert_gt(won->op.answer.lease.fencing_token, last);
			last = won->op.answer.lease.fencing_token;
			won->op.answer.held = false;
			left--;
			cr_assert_eq(
			    pg_release(host[i % 2], &back, "k", won->op.answer.lease.holder),
			    ERR_OK);
			pg_op_free(&back);
			break;
		}
	}
}
