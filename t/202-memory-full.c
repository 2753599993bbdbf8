/* SPDX-License-Identifier: Apache-2.0
 *
 * The table against a simple model, and at its limits: exactly its capacity, again after expiry,
 * and with shared memory that runs out. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/holder.h"
#include "segcheck.h"
#include "shm/shared.h"
#include "shm_case.h"

#define SECOND CLOCK_SECOND

static struct shm_case test;
static struct shm_client client;
static int64_t now_us;

static int64_t fake_clock(void)
{
	return now_us;
}

/* The clock of the table is the test's: leases expire when it says so. */
static void open_table(int64_t capacity)
{
	shm_case_init(&test);
	test.capacity = capacity;
	test.workers = 1;
	shm_case_open(&test);
	now_us = clock_boot_us();
	test.shared->map.clock = fake_clock;
	shm_client_attach(&client, &test, 0);
}

static void close_table(void)
{
	const char *wrong = segcheck(&test.shared->map);

	cr_expect_null(wrong, "%s", wrong);
	shm_client_detach(&client);
	shm_case_close(&test);
	shm_case_remove(&test);
}

TestSuite(full, .timeout = 120);

/* --- a model ------------------------------------------------------------------------------- */

enum { KEYS = 60 };

struct entry {
	bool granted;
	int64_t deadline;
	struct holder_id holder;
	uint64_t token;
};

static bool live(const struct entry *entry)
{
	return entry->granted && entry->deadline > now_us;
}

static void model_acquire(struct entry *entry, const char *key, int64_t ttl)
{
	struct shm_op one;
	enum err err = shm_take(&client, &one, key, ttl);
	const struct lease *lease = &one.op.answer.lease;

	cr_assert_eq(err, live(entry) ? ERR_HELD : ERR_OK, "%s: %d", key, (int)err);
	cr_assert_eq(lease->remaining_us, live(entry) ? entry->deadline - now_us : ttl);
	if (err == ERR_OK) {
		cr_assert_gt(lease->fencing_token, entry->token);
		*entry = (struct entry){true, now_us + ttl, lease->holder, lease->fencing_token};
	}
	shm_op_free(&one);
}

static void model_renew(struct entry *entry, const char *key, int64_t ttl, bool right)
{
	struct holder_id holder = right ? entry->holder : holder_make();
	bool good = live(entry) && right;
	struct shm_op one;

	cr_assert_eq(shm_renew(&client, &one, key, holder, ttl), good ? ERR_OK : ERR_NOT_HOLDER);
	if (good)
		entry->deadline = now_us + ttl;
	shm_op_free(&one);
}

static void model_release(struct entry *entry, const char *key, bool right)
{
	struct holder_id holder = right ? entry->holder : holder_make();
	struct shm_op one;

	cr_assert_eq(shm_release(&client, &one, key, holder),
		     live(entry) && !right ? ERR_NOT_HOLDER : ERR_OK);
	cr_assert_eq(one.op.answer.existed, live(entry) && right);
	if (right)
		entry->granted = false;
	shm_op_free(&one);
}

static void model_inspect(const struct entry *entry, const char *key)
{
	struct shm_op one;

	cr_assert_eq(shm_inspect(&client, &one, key), ERR_OK);
	cr_assert_eq(one.op.answer.held, live(entry));
	if (live(entry)) {
		cr_assert(holder_equal(one.op.answer.lease.holder, entry->holder));
		cr_assert_eq(one.op.answer.lease.fencing_token, entry->token);
	}
	shm_op_free(&one);
}

static void model_list(const struct entry *entry)
{
	size_t count = 0;
	struct shm_op one;

	for (int i = 0; i < KEYS; i++)
		count += live(&entry[i]);
	cr_assert_eq(shm_list(&client, &one), ERR_OK);
	cr_assert_eq(one.op.answer.lease_count, count);
	shm_op_free(&one);
}

Test(full, random_operations_answer_as_a_simple_model_does)
{
	static struct entry model[KEYS];
	unsigned seed = 20240501;

	open_table(64);
	for (int i = 0; i < 60000; i++) {
		int number = rand_r(&seed) % KEYS;
		int64_t ttl = rand_r(&seed) % 100 + 1;
		char key[200];

		/* Some names are too long to stand in a record. */
		snprintf(key, sizeof key, "%0*d", number % 5 ? 4 : 150, number);
		switch (rand_r(&seed) % 8) {
		case 0:
		case 1:
		case 2:
			model_acquire(&model[number], key, ttl);
			break;
		case 3:
			model_renew(&model[number], key, ttl, rand_r(&seed) % 4 != 0);
			break;
		case 4:
			model_release(&model[number], key, rand_r(&seed) % 4 != 0);
			break;
		case 5:
			now_us += rand_r(&seed) % 20;
			break;
		default:
			model_inspect(&model[number], key);
		}
		if (i % 500 == 0)
			model_list(model);
		if (i % 5000 == 0)
			cr_assert_null(segcheck(&test.shared->map));
	}
	close_table();
}

/* --- exactly full -------------------------------------------------------------------------- */

static void fill(int64_t capacity, int64_t ttl, int run)
{
	struct shm_op one;
	char key[160];

	for (int i = 0; i <= capacity; i++) {
		enum err err;

		snprintf(key, sizeof key, "%d-%0*d", run, i % 7 ? 6 : 120, i);
		err = shm_take(&client, &one, key, ttl);
		cr_assert_eq(err, i < capacity ? ERR_OK : ERR_TABLE_FULL, "%d: %s", i,
			     err_text(err));
		shm_op_free(&one);
	}
}

Test(full, a_table_fills_to_exactly_its_capacity_and_again_when_all_expired)
{
	struct shm_op list;

	open_table(3000);
	for (int run = 0; run < 3; run++) {
		fill(3000, 60 * SECOND, run);
		cr_assert_eq(shm_list(&client, &list), ERR_OK);
		cr_expect_eq(list.op.answer.lease_count, 3000);
		shm_op_free(&list);
		now_us += 60 * SECOND;
	}
	close_table();
}

Test(full, nothing_live_is_evicted_and_all_but_acquire_work_when_full)
{
	struct shm_op first, one;

	open_table(500);
	cr_assert_eq(shm_take(&client, &first, "first", 3600 * SECOND), ERR_OK);
	fill(499, 60 * SECOND, 0);
	cr_expect_eq(shm_renew(&client, &one, "first", first.op.answer.lease.holder, 7200 * SECOND),
		     ERR_OK);
	cr_expect(shm_held(&client, "first"));
	cr_expect_eq(shm_take(&client, &one, "first", SECOND), ERR_HELD);
	cr_assert_eq(shm_release(&client, &one, "first", first.op.answer.lease.holder), ERR_OK);
	cr_expect_eq(shm_take(&client, &one, "late", SECOND), ERR_OK, "the room is there at once");
	cr_expect_eq(shm_take(&client, &one, "later", SECOND), ERR_TABLE_FULL);
	now_us += 60 * SECOND;
	cr_expect_eq(shm_take(&client, &one, "later", SECOND), ERR_OK);
	close_table();
}

Test(full, a_table_full_of_live_leases_says_so_quickly)
{
	enum { CAPACITY = 200000, TRIES = 1000 };
	struct shm_op one;
	int64_t start;

	open_table(CAPACITY);
	fill(CAPACITY, 3600 * SECOND, 0);
	start = clock_boot_us();
	for (int i = 0; i < TRIES; i++)
		cr_assert_eq(shm_take(&client, &one, "more", SECOND), ERR_TABLE_FULL);
	/* Far more than it takes; a search of the table each time would take far longer. */
	cr_expect_lt(clock_boot_us() - start, TRIES * 200, "%ld us each",
		     (long)(clock_boot_us() - start) / TRIES);
	close_table();
}

/* --- shared memory that runs out ----------------------------------------------------------- */

/* A small /dev/shm of its own; false where that is not allowed. */
static bool small_memory(const char *size)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("none", "/dev/shm", "tmpfs", 0, size) == 0;
}

Test(full, B29_too_little_memory_at_the_start_is_an_error)
{
	if (!small_memory("size=512k"))
		cr_skip_test("needs the right to mount");
	shm_case_init(&test);
	cr_expect_eq(shm_case_try(&test), ERR_SYSTEM);
	cr_expect(strstr(test.why, "not enough shared memory"), "%s", test.why);
	shm_case_remove(&test);
}

/* What a refused acquire had taken of the last chunks must not make it try again and again. */
static void refuse_quickly(struct shm_op *one)
{
	int64_t start = clock_boot_us();

	for (int i = 0; i < 100; i++) {
		one->done = false;
		cr_assert_eq(shm_op_submit(&client, one), ERR_TABLE_FULL);
	}
	cr_expect_lt(clock_boot_us() - start, SECOND, "%ld us each",
		     (long)(clock_boot_us() - start) / 100);
}

Test(full, B29_memory_that_runs_out_later_is_a_refusal_and_no_death)
{
	static char text[4000];
	static struct shm_op one[4000];
	size_t count = 0;
	enum err err;

	if (!small_memory("size=8m"))
		cr_skip_test("needs the right to mount");
	memset(text, 'm', sizeof text - 1);
	open_table(100000);
	do {
		char key[32];

		cr_assert_lt(count, 4000);
		snprintf(key, sizeof key, "%zu", count);
		shm_op_init(&one[count], OP_ACQUIRE, "n", "");
		one[count].op.request.key = arena_copy(&one[count].arena, bytes_of(key));
		one[count].op.request.ttl_us = 60 * SECOND;
		one[count].entry[0] = (struct metadata_entry){bytes_of("m"), bytes_of(text)};
		one[count].op.request.metadata.count = 1;
		err = shm_op_submit(&client, &one[count++]);
	} while (err == ERR_OK);
	cr_expect_eq(err, ERR_TABLE_FULL);
	cr_expect_gt(count, 300);
	refuse_quickly(&one[count - 1]);
	for (size_t i = 0; i < count; i++) {
		struct op *op = &one[i].op;
		struct shm_op release;

		if (op->answer.result != ERR_OK)
			continue;
		shm_op_init(&release, OP_RELEASE, "n", "");
		release.op.request.key = op->request.key;
		release.op.request.holder = op->answer.lease.holder;
		release.op.request.holder_known = true;
		cr_assert_eq(shm_op_submit(&client, &release), ERR_OK);
	}
	cr_expect_eq(shm_take(&client, &one[0], "again", SECOND), ERR_OK);
	close_table();
}
