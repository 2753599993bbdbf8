/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a key: order, hand-over, expiry, cancel, drain; two workers in one process. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
#include "shm/driver.h"
#include "shm/shared.h"
#include "shm/verify.h"
#include "shm_case.h"

#define MS CLOCK_MILLI

static struct shm_case test;
static struct shm_client client, other;

static void set_up(void)
{
	shm_case_init(&test);
	shm_case_open(&test);
	shm_client_attach(&client, &test, 0);
	shm_client_attach(&other, &test, 1);
}

static void tear_down(void)
{
	const char *wrong = shm_verify(&test.shared->map, NULL);

	cr_expect_null(wrong, "%s", wrong);
	shm_client_detach(&other);
	shm_client_detach(&client);
	shm_case_close(&test);
	shm_case_remove(&test);
}

TestSuite(waiters, .init = set_up, .fini = tear_down, .timeout = 60);

Test(waiters, a_release_hands_over_at_once_in_order_across_workers)
{
	enum { COUNT = 6 };
	static struct shm_op waiter[COUNT];
	struct shm_op first, release, plain;
	struct holder_id holder;
	uint64_t token;

	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	holder = first.op.answer.lease.holder;
	token = first.op.answer.lease.fencing_token;
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(shm_wait(i % 3 ? &client : &other, &waiter[i], "k", 60 * CLOCK_SECOND,
				      30 * CLOCK_SECOND),
			     ERR_PENDING);
	cr_expect_eq(shm_waiting(&client, "k"), COUNT);
	for (int i = 0; i < COUNT; i++) {
		const struct lease *lease = &waiter[i].op.answer.lease;

		cr_assert_eq(shm_release(&client, &release, "k", holder), ERR_OK);
		cr_expect(shm_held(&client, "k"), "handed over in the same step");
		cr_expect_eq(shm_take(&other, &plain, "k", CLOCK_SECOND), ERR_HELD);
		shm_op_free(&plain);
		cr_assert_eq(shm_op_finish(i % 3 ? &client : &other, &waiter[i]), ERR_OK);
		cr_expect_gt(lease->fencing_token, token);
		cr_expect(lease->remaining_us > 50 * CLOCK_SECOND);
		for (int j = i + 1; j < COUNT; j++)
			cr_expect_not(waiter[j].done);
		holder = lease->holder;
		token = lease->fencing_token;
	}
	cr_assert_eq(shm_release(&client, &release, "k", holder), ERR_OK);
	cr_expect_not(shm_held(&client, "k"));
}

Test(waiters, B11_a_wake_up_crosses_workers_quickly)
{
	int64_t worst = 0;

	for (int i = 0; i < 300; i++) {
		struct shm_op first, waiter, release;
		int64_t start;

		cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
		cr_assert_eq(shm_wait(&other, &waiter, "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND),
			     ERR_PENDING);
		shm_client_run(&other, &waiter.done, i % 50 * 10);
		start = clock_boot_us();
		shm_release(&client, &release, "k", first.op.answer.lease.holder);
		cr_assert_eq(shm_op_finish(&other, &waiter), ERR_OK);
		if (clock_boot_us() - start > worst)
			worst = clock_boot_us() - start;
		shm_release(&other, &release, "k", waiter.op.answer.lease.holder);
	}
	cr_expect_lt(worst, 200 * MS, "%ld us", (long)worst);
}

Test(waiters, B12_an_expiry_hands_over_in_time)
{
	struct shm_op first, waiter;
	int64_t deadline;

	cr_assert_eq(shm_take(&client, &first, "k", 50 * MS), ERR_OK);
	deadline = clock_boot_us() + first.op.answer.lease.remaining_us;
	cr_assert_eq(shm_wait(&other, &waiter, "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND),
		     ERR_PENDING);
	cr_assert_eq(shm_op_finish(&other, &waiter), ERR_OK);
	cr_expect(clock_boot_us() >= deadline - MS, "not early");
	cr_expect(clock_boot_us() <= deadline + 150 * MS, "not late");
}

Test(waiters, a_renew_that_shortens_moves_the_hand_over)
{
	struct shm_op first, waiter, renew;
	int64_t start;

	cr_assert_eq(shm_take(&client, &first, "k", 3600 * CLOCK_SECOND), ERR_OK);
	cr_assert_eq(shm_wait(&other, &waiter, "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND),
		     ERR_PENDING);
	shm_client_run(&other, NULL, 10 * MS);
	start = clock_boot_us();
	cr_assert_eq(shm_renew(&client, &renew, "k", first.op.answer.lease.holder, 30 * MS),
		     ERR_OK);
	cr_assert_eq(shm_op_finish(&other, &waiter), ERR_OK);
	cr_expect(clock_boot_us() - start <= 180 * MS, "%ld", (long)(clock_boot_us() - start));
}

Test(waiters, a_wait_runs_out_and_leaves_no_trace)
{
	struct shm_op first, waiter;
	int64_t start = clock_boot_us();

	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	cr_assert_eq(shm_wait(&other, &waiter, "k", CLOCK_SECOND, 40 * MS), ERR_PENDING);
	cr_assert_eq(shm_op_finish(&other, &waiter), ERR_HELD);
	cr_expect(waiter.op.answer.held);
	cr_expect(clock_boot_us() - start >= 40 * MS);
	cr_expect_eq(shm_waiting(&client, "k"), 0);
	shm_op_free(&waiter);
}

Test(waiters, a_cancel_in_the_middle_keeps_the_others_in_order)
{
	static struct shm_op waiter[5];
	struct shm_op first, release;
	struct holder_id holder;

	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	holder = first.op.answer.lease.holder;
	for (int i = 0; i < 5; i++)
		shm_wait(&other, &waiter[i], "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND);
	for (int i = 0; i < 5; i += 2) {
		shm_driver.cancel(other.worker, &waiter[i].op);
		cr_assert(waiter[i].done);
		cr_expect_eq(waiter[i].op.answer.result, ERR_CANCELLED);
	}
	cr_expect_eq(shm_waiting(&client, "k"), 2);
	for (int i = 1; i < 5; i += 2) {
		cr_assert_eq(shm_release(&client, &release, "k", holder), ERR_OK);
		cr_assert_eq(shm_op_finish(&other, &waiter[i]), ERR_OK);
		holder = waiter[i].op.answer.lease.holder;
	}
}

Test(waiters, B10_a_cancel_undoes_a_grant_nobody_saw)
{
	struct shm_op first, waiter, next, release;

	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	shm_wait(&other, &waiter, "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND);
	cr_assert_eq(shm_release(&client, &release, "k", first.op.answer.lease.holder), ERR_OK);
	shm_driver.cancel(other.worker, &waiter.op);
	cr_assert(waiter.done && waiter.op.answer.result == ERR_CANCELLED);
	cr_expect_not(shm_held(&client, "k"), "no ghost");
	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	shm_wait(&other, &waiter, "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND);
	shm_wait(&client, &next, "k", 60 * CLOCK_SECOND, 30 * CLOCK_SECOND);
	cr_assert_eq(shm_release(&client, &release, "k", first.op.answer.lease.holder), ERR_OK);
	shm_driver.cancel(other.worker, &waiter.op);
	cr_assert_eq(shm_op_finish(&client, &next), ERR_OK, "the next one gets it");
}

Test(waiters, a_drain_ends_all_waits_and_refuses_new_ones)
{
	static struct shm_op waiter[20];
	struct shm_op first, late, plain, release;

	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	for (int i = 0; i < 20; i++)
		shm_wait(&other, &waiter[i], "k", CLOCK_SECOND, 30 * CLOCK_SECOND);
	shm_driver.drain(other.worker);
	for (int i = 0; i < 20; i++)
		cr_expect(waiter[i].done && waiter[i].op.answer.result == ERR_DRAINING);
	cr_expect_eq(shm_wait(&other, &late, "k", CLOCK_SECOND, CLOCK_SECOND), ERR_DRAINING);
	cr_expect_eq(shm_take(&other, &plain, "free", CLOCK_SECOND), ERR_OK);
	cr_expect_eq(shm_release(&other, &release, "k", first.op.answer.lease.holder), ERR_OK);
	cr_expect_eq(shm_waiting(&client, "k"), 0);
}

Test(waiters, too_many_waiters_are_refused_and_room_comes_back)
{
	static struct shm_op waiter[1000];
	struct shm_op first, late;

	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(shm_wait(&other, &waiter[i], "k", CLOCK_SECOND, 30 * CLOCK_SECOND),
			     ERR_PENDING);
	cr_expect_eq(shm_wait(&other, &late, "k", CLOCK_SECOND, CLOCK_SECOND), ERR_WAITERS_FULL);
	cr_expect_eq(shm_wait(&other, &late, "free", CLOCK_SECOND, CLOCK_SECOND), ERR_OK,
		     "a free key needs no waiter");
	shm_driver.cancel(other.worker, &waiter[500].op);
	cr_expect_eq(shm_wait(&other, &late, "k", CLOCK_SECOND, 30 * CLOCK_SECOND), ERR_PENDING);
	for (int i = 0; i < 1000; i++)
		if (!waiter[i].done)
			shm_driver.cancel(other.worker, &waiter[i].op);
	shm_driver.cancel(other.worker, &late.op);
	cr_expect_eq(shm_waiting(&client, "k"), 0);
}

Test(waiters, a_chain_of_hand_overs_with_payload_leaks_nothing)
{
	static struct shm_op waiter[50];
	static char text[4000];
	struct shm_op first, release;
	struct holder_id holder;
	const char *wrong;

	memset(text, 'm', sizeof text - 1);
	cr_assert_eq(shm_take(&client, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	holder = first.op.answer.lease.holder;
	for (int i = 0; i < 50; i++) {
		shm_op_init(&waiter[i], OP_ACQUIRE, "n", "k");
		waiter[i].entry[0] = (struct metadata_entry){bytes_of("a"), bytes_of(text)};
		waiter[i].op.request.metadata.count = 1;
		waiter[i].op.request.ttl_us = 60 * CLOCK_SECOND;
		waiter[i].op.request.wait_us = 60 * CLOCK_SECOND;
		cr_assert_eq(shm_op_submit(i % 2 ? &client : &other, &waiter[i]), ERR_PENDING);
	}
	for (int i = 0; i < 50; i++) {
		struct shm_op show;

		cr_assert_eq(shm_release(&client, &release, "k", holder), ERR_OK);
		cr_assert_eq(shm_op_finish(i % 2 ? &client : &other, &waiter[i]), ERR_OK);
		holder = waiter[i].op.answer.lease.holder;
		wrong = shm_verify(&test.shared->map, NULL);
		cr_assert_null(wrong, "%s", wrong);
		cr_assert_eq(shm_inspect(&client, &show, "k"), ERR_OK);
		cr_expect_eq(show.op.answer.lease.metadata.count, 1);
		shm_op_free(&show);
	}
}

Test(waiters, a_hundred_thousand_on_one_key_are_cheap)
{
	enum { COUNT = 100000 };
	struct shm_op *waiter = calloc(COUNT, sizeof *waiter), first, release;
	struct shm_case large;
	struct shm_client one;
	int64_t start;

	shm_case_init(&large);
	large.waiters = COUNT;
	shm_case_open(&large);
	shm_client_attach(&one, &large, 0);
	cr_assert_eq(shm_take(&one, &first, "k", 60 * CLOCK_SECOND), ERR_OK);
	for (int i = 0; i < COUNT; i++)
		cr_assert_eq(shm_wait(&one, &waiter[i], "k", 60 * CLOCK_SECOND, 60 * CLOCK_SECOND),
			     ERR_PENDING);
	start = clock_boot_us();
	cr_assert_eq(shm_release(&one, &release, "k", first.op.answer.lease.holder), ERR_OK);
	for (int i = 0; i < COUNT; i += 2)
		shm_driver.cancel(one.worker, &waiter[i].op);
	for (int i = 1; i < 20001; i += 2) {
		cr_assert_eq(shm_op_finish(&one, &waiter[i]), ERR_OK);
		shm_release(&one, &release, "k", waiter[i].op.answer.lease.holder);
	}
	/* 60,000 operations: seconds only if one of them walks the queue. */
	cr_expect_lt(clock_boot_us() - start, 5 * CLOCK_SECOND);
	shm_driver.drain(one.worker);
	shm_client_detach(&one);
	shm_case_close(&large);
	shm_case_remove(&large);
	free(waiter);
}
