/* SPDX-License-Identifier: Apache-2.0
 *
 * What a start finds: leases of the run before, tables of another size or boot, leftovers, traps;
 * fencing tokens and the grace after a reboot. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/holder.h"
#include "segcheck.h"
#include "shm/driver.h"
#include "shm/fence.h"
#include "shm/stripe.h"
#include "shm_case.h"

#define SECOND CLOCK_SECOND

static struct shm_case test;
static struct shm_client client;

static void up(void)
{
	shm_case_open(&test);
	shm_client_attach(&client, &test, 0);
}

static void down(bool clean)
{
	shm_client_detach(&client);
	if (clean)
		shm_case_close(&test);
	else
		shm_case_kill(&test);
}

static void set_up(void)
{
	shm_case_init(&test);
}

static void tear_down(void)
{
	shm_case_remove(&test);
}

TestSuite(restart, .init = set_up, .fini = tear_down, .timeout = 60);

static uint64_t token_of(const char *key)
{
	struct shm_op one;
	uint64_t token;

	cr_assert_eq(shm_take(&client, &one, key, 3600 * SECOND), ERR_OK);
	token = one.op.answer.lease.fencing_token;
	shm_op_free(&one);
	return token;
}

static int open_segment(int flags)
{
	int fd = shm_open(test.segment, flags, 0600);

	cr_assert_geq(fd, 0);
	return fd;
}

Test(restart, leases_tokens_and_metadata_survive_a_kill_and_a_clean_end)
{
	struct shm_op one, show;
	struct holder_id holder;
	uint64_t token;

	up();
	shm_op_init(&one, OP_ACQUIRE, "n", "k");
	one.op.request.ttl_us = 3600 * SECOND;
	one.entry[0] = (struct metadata_entry){bytes_of("a"), bytes_of("b")};
	one.op.request.metadata.count = 1;
	cr_assert_eq(shm_op_submit(&client, &one), ERR_OK);
	holder = one.op.answer.lease.holder;
	token = one.op.answer.lease.fencing_token;
	for (int i = 0; i < 10; i++) {
		uint64_t next;
		char key[16];

		down(i % 2);
		test.workers = 1 + (unsigned)i % 4;
		up();
		cr_assert_null(segcheck(&test.shared->map));
		cr_assert_eq(shm_inspect(&client, &show, "k"), ERR_OK);
		cr_assert(show.op.answer.held);
		cr_expect(holder_equal(show.op.answer.lease.holder, holder));
		cr_expect_eq(show.op.answer.lease.metadata.count, 1);
		snprintf(key, sizeof key, "k%d", i);
		next = token_of(key);
		cr_expect_gt(next, token);
		token = next;
		shm_op_free(&show);
	}
	cr_expect_eq(shm_release(&client, &show, "k", holder), ERR_OK);
	down(true);
}

Test(restart, waiters_of_the_dead_run_are_gone_and_their_grants_undone)
{
	struct shm_op first, waiter, release;
	struct shm_client dead;

	shm_case_open(&test);
	shm_client_attach(&client, &test, 0);
	shm_client_attach(&dead, &test, 1);
	cr_assert_eq(shm_take(&client, &first, "granted", 3600 * SECOND), ERR_OK);
	cr_assert_eq(shm_wait(&dead, &waiter, "granted", 3600 * SECOND, 60 * SECOND), ERR_PENDING);
	cr_assert_eq(shm_release(&client, &release, "granted", first.op.answer.lease.holder),
		     ERR_OK);
	cr_assert_eq(shm_take(&client, &first, "queued", 3600 * SECOND), ERR_OK);
	cr_assert_eq(shm_wait(&dead, &waiter, "queued", 3600 * SECOND, 60 * SECOND), ERR_PENDING);
	/* As if killed: nothing of the private side is told. */
	shm_driver.detach(dead.worker);
	down(false);
	up();
	cr_expect_not(shm_held(&client, "granted"), "nobody saw that grant");
	cr_expect(shm_held(&client, "queued"));
	cr_expect_eq(shm_waiting(&client, "queued"), 0);
	cr_expect_null(segcheck(&test.shared->map));
	down(true);
}

Test(restart, another_capacity_takes_all_live_leases_along)
{
	static const int64_t capacity[] = {5000, 200, 1000000, 100};
	static char name[80][160];
	struct shm_op one, list;
	uint64_t token = 0;

	test.capacity = 100;
	up();
	for (int i = 0; i < 80; i++) {
		snprintf(name[i], sizeof name[i], "%0*d", i % 3 ? 3 : 150, i);
		token = token_of(name[i]);
	}
	cr_assert_eq(shm_take(&client, &one, "short", 1000), ERR_OK);
	shm_client_run(&client, NULL, 2000);
	for (size_t i = 0; i < sizeof capacity / sizeof *capacity; i++) {
		down(false);
		test.capacity = capacity[i];
		test.waiters = 100 + 50 * (int64_t)i;
		up();
		cr_assert_null(segcheck(&test.shared->map));
		cr_assert_eq(shm_list(&client, &list), ERR_OK);
		cr_expect_eq(list.op.answer.lease_count, 80);
		shm_op_free(&list);
		cr_assert_eq(shm_take(&client, &one, "probe", SECOND), ERR_OK);
		cr_expect_gt(one.op.answer.lease.fencing_token, token);
		token = one.op.answer.lease.fencing_token;
		shm_release(&client, &list, "probe", one.op.answer.lease.holder);
	}
	down(true);
	test.capacity = 79;
	cr_expect_eq(shm_case_try(&test), ERR_SYSTEM);
	cr_expect(strstr(test.why, "capacity of 79"), "%s", test.why);
	test.capacity = 80;
	up();
	cr_expect(shm_held(&client, name[79]), "a refusal changes nothing");
	down(true);
}

Test(restart, a_second_start_is_refused_and_names_the_first)
{
	struct shm_case second = test;
	char pid[32];

	up();
	second.shared = NULL;
	cr_expect_eq(shm_case_try(&second), ERR_SYSTEM);
	snprintf(pid, sizeof pid, "served by pid %ld", (long)getpid());
	cr_expect(strstr(second.why, pid), "%s", second.why);
	cr_expect(strstr(second.why, test.segment), "%s", second.why);
	down(true);
	cr_expect_eq(shm_case_try(&second), ERR_OK);
	shm_case_kill(&second);
}

/* --- B29 ----------------------------------------------------------------------------------- */

static void garbage(int fd, size_t size)
{
	uint32_t word = 12345;

	for (size_t i = 0; i < size / sizeof word; i++) {
		word = word * 1664525 + 1013904223;
		cr_assert_eq(write(fd, &word, sizeof word), sizeof word);
	}
}

static void serves_anew(void)
{
	up();
	cr_expect_null(segcheck(&test.shared->map));
	cr_expect_not(shm_held(&client, "k"));
	token_of("k");
	down(true);
}

Test(restart, B29_leftovers_that_are_no_table_are_replaced)
{
	close(open_segment(O_RDWR | O_CREAT));
	serves_anew();
	shm_unlink(test.segment);
	garbage(open_segment(O_RDWR | O_CREAT), 1 << 16);
	test.grace_us = 0;
	serves_anew();
	cr_assert_eq(ftruncate(open_segment(O_RDWR), INT64_C(1) << 33), 0);
	serves_anew();
}

Test(restart, B29_every_word_of_the_header_may_be_wrong)
{
	test.grace_us = 0;
	for (size_t at = 0; at < offsetof(struct shm_header, seed); at += 4) {
		uint32_t word;
		int fd;

		up();
		down(false);
		fd = open_segment(O_RDWR);
		cr_assert_eq(pread(fd, &word, sizeof word, (off_t)at), sizeof word);
		word ^= 0x10000001;
		cr_assert_eq(pwrite(fd, &word, sizeof word, (off_t)at), sizeof word);
		close(fd);
		up();
		cr_expect_null(segcheck(&test.shared->map), "at %zu", at);
		down(false);
	}
}

Test(restart, B29_a_table_with_damaged_insides_is_replaced_not_believed)
{
	struct shm_stripe *stripe;
	struct shm_actor actor;

	test.grace_us = 0;
	up();
	token_of("k");
	shm_store(&test.shared->map.stripe[7].pending[0], 12345);
	down(false);
	serves_anew();
	up();
	shm_actor_init(&actor, &test.shared->map, SHM_SLOTS, 0);
	cr_expect_eq(shm_stripe_lock(&actor, 7, &stripe), ERR_OK);
	shm_stripe_unlock(stripe);
	down(true);
}

Test(restart, B29_a_link_is_never_followed)
{
	char path[160], target[160];
	struct stat status;
	int fd;

	snprintf(path, sizeof path, "/dev/shm%s", test.segment);
	snprintf(target, sizeof target, "%s/target", test.dir);
	fd = open(target, O_RDWR | O_CREAT, 0600);
	cr_assert_eq(write(fd, "precious", 8), 8);
	cr_assert_eq(symlink(target, path), 0);
	cr_expect_eq(shm_case_try(&test), ERR_SYSTEM);
	cr_expect(strstr(test.why, "symbolic link"), "%s", test.why);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_expect_eq(status.st_size, 8);
	close(fd);
	unlink(path);
}

Test(restart, B29_what_belongs_to_another_user_is_refused)
{
	int fd = open_segment(O_RDWR | O_CREAT);

	if (geteuid() != 0)
		cr_skip_test("needs the right to give files away");
	cr_assert_eq(fchown(fd, 65534, 65534), 0);
	cr_expect_eq(shm_case_try(&test), ERR_SYSTEM);
	cr_expect(strstr(test.why, "another user"), "%s", test.why);
	cr_expect(strstr(test.why, test.segment), "%s", test.why);
	close(fd);
}

/* --- tokens and grace ---------------------------------------------------------------------- */

/* A reboot: shared memory is gone, or its boot id is another one. */
static void reboot(bool gone)
{
	int fd;

	if (gone) {
		shm_unlink(test.segment);
		return;
	}
	fd = open_segment(O_RDWR);
	cr_assert_eq(pwrite(fd, "other", 5, offsetof(struct shm_header, boot_id)), 5);
	close(fd);
}

Test(restart, tokens_never_go_back_over_reboots)
{
	uint64_t token = 0;

	test.grace_us = 0;
	for (int i = 0; i < 6; i++) {
		uint64_t next;

		up();
		cr_expect_not(shm_held(&client, "k"), "a reboot ends all leases");
		next = token_of("k");
		cr_expect_gt(next, token);
		token = next;
		down(i % 2);
		reboot(i < 3);
	}
}

Test(restart, a_used_up_reserve_refuses_and_a_new_one_is_written_first)
{
	struct shm_header *header;
	struct shm_state state;
	struct shm_op one;

	up();
	header = test.shared->map.header;
	atomic_store(&header->fence_next, shm_load(&header->fence_limit));
	/* The chore thread may be faster than we are: then the grant is good. */
	if (shm_take(&client, &one, "k", SECOND) != ERR_OK)
		cr_expect_eq(one.op.answer.result, ERR_BACKEND_DOWN);
	while (shm_fence_low(&test.shared->map))
		shm_client_run(&client, NULL, 1000);
	cr_expect_eq(shm_take(&client, &one, "other", SECOND), ERR_OK);
	cr_assert_eq(shm_state_read(test.shared->state_path, &state, test.why, sizeof test.why),
		     ERR_OK);
	cr_expect_geq(state.fence_limit, shm_load(&header->fence_limit));
	down(true);
}

static enum err first_grant(void)
{
	struct shm_op one;
	enum err err = shm_take(&client, &one, "k", SECOND);

	shm_op_free(&one);
	return err;
}

Test(restart, after_a_reboot_no_grant_while_an_old_lease_may_live)
{
	int64_t start;

	test.grace_us = SECOND / 2;
	up();
	cr_expect_eq(first_grant(), ERR_OK, "the first start of all has no grace");
	token_of("long");
	down(false);
	reboot(true);
	start = clock_boot_us();
	up();
	cr_expect_eq(first_grant(), ERR_RESTART_GRACE);
	/* A start within the grace does not end it. */
	down(false);
	up();
	cr_expect_eq(first_grant(), ERR_RESTART_GRACE);
	while (first_grant() == ERR_RESTART_GRACE)
		shm_client_run(&client, NULL, 5000);
	cr_expect_geq(clock_boot_us() - start, SECOND / 2);
	down(true);
}

Test(restart, a_clean_end_shortens_the_grace_to_the_last_lease)
{
	int64_t start;
	struct shm_op one;

	up();
	cr_assert_eq(shm_take(&client, &one, "k", SECOND / 5), ERR_OK);
	down(true);
	reboot(false);
	start = clock_boot_us();
	up();
	cr_expect_eq(first_grant(), ERR_RESTART_GRACE);
	while (first_grant() == ERR_RESTART_GRACE)
		shm_client_run(&client, NULL, 5000);
	cr_expect_lt(clock_boot_us() - start, 10 * SECOND, "30 s without the clean end");
	down(true);
}

Test(restart, a_damaged_state_file_is_an_error_and_a_missing_one_is_not)
{
	char path[1024];
	int fd;

	up();
	snprintf(path, sizeof path, "%s/%s.json", test.dir, test.segment + 1);
	down(true);
	fd = open(path, O_WRONLY | O_TRUNC);
	cr_assert_eq(write(fd, "{\"format\":1", 11), 11);
	close(fd);
	cr_expect_eq(shm_case_try(&test), ERR_SYSTEM);
	cr_expect(strstr(test.why, path), "%s", test.why);
	unlink(path);
	up();
	down(true);
}

Test(restart, B29_many_starts_do_not_grow_what_is_in_shared_memory)
{
	struct stat first = {0}, last = {0};
	struct shm_op one;
	char path[160];

	snprintf(path, sizeof path, "/dev/shm%s", test.segment);
	for (int i = 0; i < 50; i++) {
		up();
		cr_assert_eq(shm_release(&client, &one, "k", holder_make()), ERR_OK);
		down(i % 2);
		cr_assert_eq(stat(path, i ? &last : &first), 0);
	}
	cr_expect_eq(last.st_blocks, first.st_blocks);
}
