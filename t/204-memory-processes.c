/* SPDX-License-Identifier: Apache-2.0
 *
 * Workers as processes: in line across them, killed and stopped at the worst moments. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/holder.h"
#include "segcheck.h"
#include "shm/bell.h"
#include "shm/driver.h"
#include "shm/shared.h"
#include "shm_case.h"
#include "shm_kill.h"
#include "shm_process.h"

#define MS     CLOCK_MILLI
#define SECOND CLOCK_SECOND

enum { WORKERS = 4 };

static struct shm_case test;
static struct shm_process worker[WORKERS];

static void set_up(void)
{
	shm_case_init(&test);
	test.workers = WORKERS;
	shm_case_open(&test);
	for (unsigned i = 0; i < WORKERS; i++)
		shm_process_start(&worker[i], &test, i);
}

static void tear_down(void)
{
	for (unsigned i = 0; i < WORKERS; i++)
		if (worker[i].pid)
			shm_process_kill(&worker[i]);
	/* The next start finds a whole table, whatever was killed. */
	shm_case_kill(&test);
	shm_case_open(&test);
	cr_expect_null(segcheck(&test.shared->map), "%s", segcheck(&test.shared->map));
	shm_case_remove(&test);
}

TestSuite(processes, .init = set_up, .fini = tear_down, .timeout = 120);

static struct holder_id take(struct shm_process *process, const char *key)
{
	struct shm_report report;

	cr_assert_eq(shm_process_acquire(process, 0, key, 60 * SECOND, 0, &report), ERR_OK);
	return report.holder;
}

static void wait_in(struct shm_process *process, int number, const char *key)
{
	cr_assert_eq(shm_process_acquire(process, number, key, 60 * SECOND, 60 * SECOND, NULL),
		     ERR_PENDING);
}

static void release(struct shm_process *process, const char *key, struct holder_id holder)
{
	cr_assert_eq(shm_process_release(process, key, holder), ERR_OK);
}

/* What the master does when a worker is dead. */
static void bury(unsigned slot)
{
	shm_driver.bury(test.shared, slot);
}

static struct holder_id granted(struct shm_process *process, int number, int64_t within)
{
	struct shm_report report;
	int64_t start = clock_boot_us();

	cr_assert(shm_process_report(process, &report, 10 * SECOND), "%d was never granted",
		  number);
	cr_assert_eq(report.number, number);
	cr_assert_eq(report.result, ERR_OK, "%s", err_text(report.result));
	cr_expect_leq(clock_boot_us() - start, within, "%ld us", (long)(clock_boot_us() - start));
	return report.holder;
}

Test(processes, waiters_of_all_workers_are_served_in_order)
{
	struct holder_id holder = take(&worker[0], "k");

	for (int i = 0; i < 12; i++)
		wait_in(&worker[i * 7 % WORKERS], i, "k");
	for (int i = 0; i < 12; i++) {
		release(&worker[(i + 1) % WORKERS], "k", holder);
		holder = granted(&worker[i * 7 % WORKERS], i, 300 * MS);
	}
	release(&worker[0], "k", holder);
}

Test(processes, B15_a_dead_worker_in_line_is_passed_over)
{
	struct holder_id holder = take(&worker[0], "k");

	wait_in(&worker[1], 1, "k");
	wait_in(&worker[2], 2, "k");
	shm_process_kill(&worker[1]);
	bury(1);
	release(&worker[0], "k", holder);
	granted(&worker[2], 2, 300 * MS);
}

Test(processes, B15_a_grant_that_a_dead_worker_did_not_see_goes_on)
{
	for (int i = 0; i < 20; i++) {
		struct holder_id holder = take(&worker[0], "k");

		wait_in(&worker[1], 1, "k");
		wait_in(&worker[2], 2, "k");
		/* Stopped, so that it cannot take what it is given before it dies. */
		kill(worker[1].pid, SIGSTOP);
		cr_assert_eq(waitpid(worker[1].pid, NULL, WUNTRACED), worker[1].pid);
		release(&worker[0], "k", holder);
		shm_process_kill(&worker[1]);
		bury(1);
		if (i % 2) /* with and without a successor */
			shm_process_start(&worker[1], &test, 1);
		holder = granted(&worker[2], 2, 300 * MS);
		release(&worker[2], "k", holder);
		if (!worker[1].pid)
			shm_process_start(&worker[1], &test, 1);
	}
}

Test(processes, B15_a_successor_alone_undoes_what_nobody_saw)
{
	struct holder_id holder = take(&worker[0], "k");

	wait_in(&worker[1], 1, "k");
	kill(worker[1].pid, SIGSTOP);
	cr_assert_eq(waitpid(worker[1].pid, NULL, WUNTRACED), worker[1].pid);
	release(&worker[0], "k", holder);
	shm_process_kill(&worker[1]);
	shm_process_start(&worker[1], &test, 1);
	take(&worker[0], "k");
}

Test(processes, a_lease_whose_worker_died_after_it_was_taken_stays)
{
	struct holder_id holder = take(&worker[0], "k");
	struct shm_report report;

	wait_in(&worker[1], 1, "k");
	release(&worker[0], "k", holder);
	holder = granted(&worker[1], 1, 300 * MS);
	shm_process_kill(&worker[1]);
	bury(1);
	shm_process_start(&worker[1], &test, 1);
	cr_expect_eq(shm_process_acquire(&worker[0], 2, "k", SECOND, 0, &report), ERR_HELD);
	release(&worker[2], "k", holder);
}

Test(processes, B15_a_stopped_worker_is_passed_over_and_keeps_its_place)
{
	struct holder_id holder = take(&worker[0], "k");
	struct shm_report report;
	int64_t start;

	wait_in(&worker[1], 1, "k");
	wait_in(&worker[2], 2, "k");
	kill(worker[1].pid, SIGSTOP);
	start = clock_boot_us();
	while (clock_boot_us() - start < 1100 * MS)
		shm_process_report(&worker[2], &report, 50 * MS); /* heartbeat grows old */
	release(&worker[0], "k", holder);
	holder = granted(&worker[2], 2, 300 * MS);
	kill(worker[1].pid, SIGCONT);
	cr_expect_not(shm_process_report(&worker[1], &report, 300 * MS), "held by another");
	release(&worker[2], "k", holder);
	granted(&worker[1], 1, 1000 * MS);
}

Test(processes, B15_a_grant_to_a_stopped_worker_is_taken_back)
{
	struct holder_id holder = take(&worker[0], "k");
	struct shm_report report;

	wait_in(&worker[1], 1, "k");
	wait_in(&worker[2], 2, "k");
	kill(worker[1].pid, SIGSTOP);
	cr_assert_eq(waitpid(worker[1].pid, NULL, WUNTRACED), worker[1].pid);
	release(&worker[0], "k", holder); /* its heartbeat is fresh: it is given the lease */
	holder = granted(&worker[2], 2, 4 * SECOND);
	kill(worker[1].pid, SIGCONT);
	cr_expect_not(shm_process_report(&worker[1], &report, 500 * MS),
		      "must not report a grant that another one has");
	release(&worker[2], "k", holder);
	granted(&worker[1], 1, 1000 * MS);
}

Test(processes, B22_killed_sleepers_never_hold_up_a_release)
{
	int64_t worst = 0;

	for (int i = 0; i < 100; i++) {
		struct holder_id holder = take(&worker[0], "k");
		char key[32];

		for (int j = 0; j < 8; j++) {
			snprintf(key, sizeof key, "w%d", j);
			if (i == 0)
				take(&worker[3], key);
			wait_in(&worker[1], j, key);
		}
		wait_in(&worker[1], 8, "k");
		wait_in(&worker[2], 9, "k");
		shm_process_kill(&worker[1]);
		bury(1);
		for (int j = 0; j < 20; j++) {
			struct holder_id other = take(&worker[0], "other");
			int64_t start = clock_boot_us();

			release(&worker[0], "other", other);
			if (clock_boot_us() - start > worst)
				worst = clock_boot_us() - start;
		}
		release(&worker[0], "k", holder);
		holder = granted(&worker[2], 9, 300 * MS);
		release(&worker[2], "k", holder);
		shm_process_start(&worker[1], &test, 1);
	}
	cr_expect_lt(worst, 200 * MS, "%ld us", (long)worst);
}

/* --- B23: killed inside the signal itself */

static void ring(void *arg)
{
	shm_bell_ring(arg);
}

/* A hand-over to a worker whose bell somebody died in: on time, or by its event loop's next look.
 */
static void hand_over(int64_t within)
{
	struct holder_id holder = take(&worker[0], "k");

	wait_in(&worker[1], 1, "k");
	release(&worker[0], "k", holder);
	release(&worker[1], "k", granted(&worker[1], 1, within));
}

Test(processes, B23_a_death_inside_a_signal_delays_no_hand_over_for_long)
{
	struct shm_bell *bell = &test.shared->map.slot[1].bell;
	int64_t start;
	long stride = getenv("LEASED_EXHAUSTIVE") ? 1 : 3, step = 0, steps = 1;

	for (; steps > 0; step += stride) {
		/* The waker must be asleep, or nobody signals it. */
		for (start = clock_boot_us(); clock_boot_us() - start < SECOND / 4;)
			if (atomic_load(&bell->asleep))
				break;
		steps = shm_kill_at(ring, bell, step + 1, NULL, NULL);
		hand_over(SECOND);
	}
	cr_expect_gt(step, 100, "a signal takes more steps than %ld", step);
	cr_expect_lt(shm_load(&bell->used), SHM_CONDS, "there were variables enough");
}

/* --- B21: killed at random under load ------------------------------------------------------ */

enum { KEYS = 6 };
#define TTL (50 * MS)

/* busy_until: no lease of the key can have ended before. Kept by the holder on its own clock, from
 * before it asked, so that a killed one's entry runs out by itself. */
struct oracle {
	_Atomic int64_t busy_until[KEYS];
	_Atomic uint64_t token[KEYS];
	atomic_int grants, double_grants, stale_tokens, wrong, slow;
};

static void play_once(struct shm_client *client, struct oracle *oracle, unsigned *seed)
{
	unsigned key = (unsigned)rand_r(seed) % KEYS;
	char name[140];
	struct shm_op one, other;
	int64_t asked = clock_boot_us();
	enum err err;

	snprintf(name, sizeof name, "%0*u", key % 2 ? 130 : 3, key);
	err = rand_r(seed) % 2 ? shm_take(client, &one, name, TTL)
			       : shm_wait(client, &one, name, TTL, 30 * MS);
	if (err == ERR_PENDING) {
		shm_client_run(client, &one.done, 2 * SECOND);
		if (!one.done) {
			atomic_fetch_add(&oracle->slow, 1);
			_exit(1);
		}
		err = one.op.answer.result;
		asked = clock_boot_us() - TTL + one.op.answer.lease.remaining_us;
	}
	if (err == ERR_OK) {
		uint64_t token = one.op.answer.lease.fencing_token;

		int64_t busy = atomic_load(&oracle->busy_until[key]), now = clock_boot_us();
		uint64_t seen = atomic_exchange(&oracle->token[key], token);

		/* Judged only while our own lease lasts: on a busy machine we may come too late. */
		if (now < busy && now < asked + TTL)
			atomic_fetch_add(&oracle->double_grants, 1);
		if (seen >= token && clock_boot_us() < asked + TTL)
			atomic_fetch_add(&oracle->stale_tokens, 1);
		atomic_store(&oracle->busy_until[key], asked + TTL - 2 * MS);
		atomic_fetch_add(&oracle->grants, 1);
		atomic_store(&oracle->busy_until[key], 0);
		shm_release(client, &other, name, one.op.answer.lease.holder);
		if (other.op.answer.result != ERR_OK && other.op.answer.result != ERR_NOT_HOLDER)
			atomic_fetch_add(&oracle->wrong, 1);
	} else if (err != ERR_HELD) {
		atomic_fetch_add(&oracle->wrong, 1);
	}
	if (clock_boot_us() - asked > SECOND)
		atomic_fetch_add(&oracle->slow, 1);
	shm_op_free(&one);
}

static pid_t start_player(struct oracle *oracle, unsigned slot, unsigned seed)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct shm_client client;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		shm_client_attach(&client, &test, slot);
		for (;;)
			play_once(&client, oracle, &seed);
	}
	cr_assert_gt(pid, 0);
	return pid;
}

static void fill_exactly(void)
{
	struct shm_client client;
	struct shm_op one;
	int64_t start = clock_boot_us();
	char key[32];

	shm_client_attach(&client, &test, 0);
	shm_client_run(&client, NULL, TTL);
	while (clock_boot_us() - start < TTL)
		continue;
	for (int i = 0; i <= test.capacity; i++) {
		snprintf(key, sizeof key, "fill %d", i);
		cr_assert_eq(shm_take(&client, &one, key, 3600 * SECOND),
			     i < test.capacity ? ERR_OK : ERR_TABLE_FULL, "%d of %ld", i,
			     (long)test.capacity);
		shm_op_free(&one);
	}
	cr_assert_eq(shm_list(&client, &one), ERR_OK);
	cr_expect_eq(one.op.answer.lease_count, (size_t)test.capacity);
	shm_op_free(&one);
	shm_client_detach(&client);
}

Test(processes, B21_random_deaths_under_load_break_nothing)
{
	struct oracle *oracle =
	    mmap(NULL, sizeof *oracle, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int64_t until = clock_boot_us() + 6 * SECOND;
	pid_t player[WORKERS];
	unsigned seed = 7, deaths = 0;

	for (unsigned i = 0; i < WORKERS; i++) {
		shm_process_kill(&worker[i]);
		bury(i);
		player[i] = start_player(oracle, i, i + 1);
	}
	while (clock_boot_us() < until) {
		unsigned slot = (unsigned)rand_r(&seed) % WORKERS;

		usleep((unsigned)rand_r(&seed) % 30000);
		kill(player[slot], SIGKILL);
		cr_assert_eq(waitpid(player[slot], NULL, 0), player[slot]);
		if (rand_r(&seed) % 2)
			bury(slot);
		player[slot] = start_player(oracle, slot, 100 + deaths++);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		kill(player[i], SIGKILL);
		cr_assert_eq(waitpid(player[i], NULL, 0), player[i]);
		/* A successor sweeps what the last one left in line. */
		shm_process_start(&worker[i], &test, i);
	}
	shm_process_kill(&worker[0]);
	cr_expect_gt(deaths, 50);
	cr_expect_gt(atomic_load(&oracle->grants), 1000);
	cr_expect_eq(atomic_load(&oracle->double_grants), 0);
	cr_expect_eq(atomic_load(&oracle->stale_tokens), 0);
	cr_expect_eq(atomic_load(&oracle->wrong), 0);
	cr_expect_eq(atomic_load(&oracle->slow), 0);
	fill_exactly();
}
