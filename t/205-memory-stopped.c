/* SPDX-License-Identifier: Apache-2.0
 *
 * A worker is stopped, not killed, while it holds the lock of a stripe: nobody may wait for it for
 * ever, nobody may take the lock from it, and what it began is whole when it goes on. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "core/holder.h"
#include "segcheck.h"
#include "shm/shared.h"
#include "shm_case.h"
#include "shm_kill.h"

enum { STOPS = 3 };

/* What the stopped worker told; shared with it. */
struct told {
	_Atomic int attached;
	enum err result;
	struct holder_id holder;
};

static struct shm_case test;
static struct shm_client client;
static struct told *told;
static unsigned held_steps, stops;

static void set_up(void)
{
	shm_case_init(&test);
	test.workers = 2;
	shm_case_open(&test);
	shm_client_attach(&client, &test, 0);
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(told, MAP_FAILED);
	held_steps = stops = 0;
}

static void tear_down(void)
{
	shm_client_detach(&client);
	cr_expect_null(segcheck(&test.shared->map), "%s", segcheck(&test.shared->map));
	shm_case_close(&test);
	shm_case_remove(&test);
	munmap(told, sizeof *told);
}

TestSuite(stopped, .init = set_up, .fini = tear_down, .timeout = 120);

/* The worker that is stopped: takes the key once. */
static void victim(void *arg)
{
	struct shm_client own;
	struct shm_op one;

	(void)arg;
	shm_client_attach(&own, &test, 1);
	atomic_store(&told->attached, 1);
	told->result = shm_take(&own, &one, "k", 60 * CLOCK_SECOND);
	told->holder = one.op.answer.lease.holder;
}

/* The stripe whose lock `pid` holds, or -1. */
static int stripe_of(pid_t pid)
{
	for (int i = 0; i < SHM_STRIPES; i++)
		if ((test.shared->map.stripe[i].mutex.__data.__lock & FUTEX_TID_MASK) == pid)
			return i;
	return -1;
}

/* A key in another stripe than "k" is not concerned. */
static void use_others(void)
{
	struct shm_op one;
	char key[32];
	enum err err = ERR_BACKEND_DOWN;

	for (int i = 0; i < 4 && err != ERR_OK; i++) {
		snprintf(key, sizeof key, "other-%u-%d", stops, i);
		err = shm_take(&client, &one, key, 60 * CLOCK_SECOND);
		shm_op_free(&one);
	}
	cr_expect_eq(err, ERR_OK, "%s", err_text(err));
}

static void look(void *arg, long step, pid_t pid)
{
	/* Right after the lock, and further and further in. */
	static const unsigned at[STOPS] = {1, 60, 250};
	int64_t start = clock_boot_us();
	struct shm_op one;
	enum err err;

	(void)arg, (void)step;
	if (!atomic_load(&told->attached) || stripe_of(pid) < 0 || stops == STOPS ||
	    ++held_steps != at[stops])
		return;
	err = shm_take(&client, &one, "k", 60 * CLOCK_SECOND);
	shm_op_free(&one);
	cr_expect_eq(err, ERR_BACKEND_DOWN, "while it is stopped: %s", err_text(err));
	cr_expect_lt(clock_boot_us() - start, 3 * CLOCK_SECOND, "the wait for the lock is bounded");
	cr_expect_geq(stripe_of(pid), 0, "the lock was taken from a living worker");
	cr_expect_eq(shm_inspect(&client, &one, "k"), ERR_OK, "reads need no lock");
	shm_op_free(&one);
	use_others();
	stops++;
}

Test(stopped, a_worker_stopped_in_a_critical_section_holds_nobody_up_for_ever)
{
	struct shm_op one;

	shm_kill_at(victim, NULL, 100000000, look, NULL);
	cr_assert_eq(stops, STOPS, "it was stopped %u times", stops);
	cr_assert_eq(told->result, ERR_OK, "what it began is done: %s", err_text(told->result));
	cr_assert_eq(shm_take(&client, &one, "k", 60 * CLOCK_SECOND), ERR_HELD);
	shm_op_free(&one);
	cr_assert_eq(shm_release(&client, &one, "k", told->holder), ERR_OK);
	shm_op_free(&one);
	cr_assert_not(shm_held(&client, "k"));
}
