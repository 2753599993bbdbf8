/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory driver through its interface, in one process: what each call answers. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
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
	shm_client_detach(&other);
	shm_client_detach(&client);
	shm_case_close(&test);
	shm_case_remove(&test);
}

TestSuite(memory, .init = set_up, .fini = tear_down, .timeout = 30);

Test(memory, a_lease_is_taken_shown_renewed_and_released)
{
	struct shm_op take, show, renew, release;
	const struct lease *lease = &take.op.answer.lease;

	cr_assert_eq(shm_take(&client, &take, "k", 60 * CLOCK_SECOND), ERR_OK);
	cr_expect_eq(lease->expires_wall_us - lease->acquired_wall_us, 60 * CLOCK_SECOND);
	cr_expect(lease->remaining_us > 59 * CLOCK_SECOND &&
		  lease->remaining_us <= 60 * CLOCK_SECOND);
	cr_assert_eq(shm_inspect(&other, &show, "k"), ERR_OK);
	cr_expect(show.op.answer.held);
	cr_expect(holder_equal(show.op.answer.lease.holder, lease->holder));
	cr_expect_eq(show.op.answer.lease.fencing_token, lease->fencing_token);
	cr_assert_eq(shm_renew(&other, &renew, "k", lease->holder, 10 * CLOCK_SECOND), ERR_OK);
	cr_expect_eq(renew.op.answer.lease.fencing_token, lease->fencing_token);
	cr_expect_eq(renew.op.answer.lease.acquired_wall_us, lease->acquired_wall_us);
	cr_expect(renew.op.answer.lease.remaining_us <= 10 * CLOCK_SECOND, "renew shortens");
	cr_assert_eq(shm_release(&client, &release, "k", lease->holder), ERR_OK);
	cr_expect(release.op.answer.existed);
	cr_expect_not(shm_held(&client, "k"));
	cr_assert_eq(shm_release(&client, &release, "k", lease->holder), ERR_OK);
	cr_expect_not(release.op.answer.existed, "a repeated release is harmless");
	cr_assert_eq(shm_renew(&client, &renew, "k", lease->holder, CLOCK_SECOND), ERR_NOT_HOLDER);
}

Test(memory, a_held_key_is_refused_with_the_lease_in_the_way)
{
	struct shm_op first, second, release;

	shm_op_init(&first, OP_ACQUIRE, "n", "k");
	first.op.request.ttl_us = CLOCK_SECOND;
	first.op.request.owner = bytes_of("acme/builder");
	cr_assert_eq(shm_op_submit(&client, &first), ERR_OK);
	cr_assert_eq(shm_take(&other, &second, "k", CLOCK_SECOND), ERR_HELD);
	cr_expect(second.op.answer.held);
	cr_expect(bytes_equal(second.op.answer.lease.owner, bytes_of("acme/builder")));
	cr_expect_eq(second.op.answer.lease.fencing_token, first.op.answer.lease.fencing_token);
	cr_expect(second.op.answer.lease.remaining_us > 0);
	cr_expect_eq(shm_release(&other, &release, "k", holder_make()), ERR_NOT_HOLDER);
	cr_expect_eq(shm_release(&other, &release, "k", first.op.answer.lease.holder),
		     ERR_NOT_HOLDER, "another owner knows the holder id");
	release.op.request.may_break = true;
	release.done = false;
	cr_expect_eq(shm_op_submit(&other, &release), ERR_OK);
	shm_op_free(&second);
}

Test(memory, B01_an_expired_lease_is_never_revived)
{
	struct shm_op take, late, next;

	cr_assert_eq(shm_take(&client, &take, "k", 20 * MS), ERR_OK);
	shm_client_run(&client, NULL, 21 * MS);
	cr_expect_not(shm_held(&client, "k"));
	cr_expect_eq(shm_renew(&client, &late, "k", take.op.answer.lease.holder, CLOCK_SECOND),
		     ERR_NOT_HOLDER);
	cr_expect_not(shm_held(&client, "k"));
	cr_assert_eq(shm_take(&other, &next, "k", CLOCK_SECOND), ERR_OK);
	cr_expect_gt(next.op.answer.lease.fencing_token, take.op.answer.lease.fencing_token);
	cr_expect_eq(shm_renew(&client, &late, "k", take.op.answer.lease.holder, CLOCK_SECOND),
		     ERR_NOT_HOLDER);
	cr_expect_eq(shm_release(&client, &late, "k", take.op.answer.lease.holder), ERR_NOT_HOLDER);
	cr_expect(shm_held(&client, "k"));
}

Test(memory, a_repeated_request_gets_the_same_lease)
{
	struct shm_op one, same, stranger;
	struct op_request *request = &one.op.request;

	shm_op_init(&one, OP_ACQUIRE, "n", "k");
	request->ttl_us = 60 * CLOCK_SECOND;
	request->request_id = bytes_of("r-1");
	request->owner = bytes_of("me");
	one.entry[0] = (struct metadata_entry){bytes_of("a"), bytes_of("b")};
	request->metadata.count = 1;
	cr_assert_eq(shm_op_submit(&client, &one), ERR_OK);
	shm_op_init(&same, OP_ACQUIRE, "n", "k");
	same.op.request = *request;
	same.op.request.wait_us = CLOCK_SECOND;
	same.op.request.ttl_us = 999 * CLOCK_SECOND;
	cr_assert_eq(shm_op_submit(&other, &same), ERR_OK);
	cr_expect(holder_equal(same.op.answer.lease.holder, one.op.answer.lease.holder));
	cr_expect_eq(same.op.answer.lease.fencing_token, one.op.answer.lease.fencing_token);
	cr_expect(same.op.answer.lease.remaining_us <= 60 * CLOCK_SECOND, "ttl is not extended");
	cr_expect_eq(same.op.answer.lease.metadata.count, 1);
	cr_expect(same.op.answer.repeated, "whose undoing would take the lease from its holder");
	cr_expect_not(one.op.answer.repeated);
	shm_op_init(&stranger, OP_ACQUIRE, "n", "k");
	stranger.op.request = *request;
	stranger.op.request.owner = bytes_of("you");
	cr_expect_eq(shm_op_submit(&other, &stranger), ERR_HELD);
	shm_op_free(&same);
	shm_op_free(&stranger);
}

Test(memory, long_names_and_large_metadata_come_back_byte_for_byte)
{
	static const size_t lens[] = {1, 63, 64, 65, 103, 104, 105, 255, 256, 257, 511, 512};
	static char key[13][513], value[LEASE_METADATA_BYTES_MAX + 1];

	memset(value, 'v', LEASE_METADATA_BYTES_MAX - 1);
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		struct shm_op one, show;

		memset(key[i], 'k', lens[i]);
		shm_op_init(&one, OP_ACQUIRE, "n", key[i]);
		one.op.request.ttl_us = CLOCK_SECOND * 60;
		one.op.request.owner = bytes_of(key[11]);
		one.entry[0] = (struct metadata_entry){bytes_of("m"), bytes_of(value)};
		one.op.request.metadata.count = 1;
		cr_assert_eq(shm_op_submit(&client, &one), ERR_OK, "%zu", lens[i]);
		cr_assert_eq(shm_inspect(&other, &show, key[i]), ERR_OK);
		cr_assert(show.op.answer.held);
		cr_expect(bytes_equal(show.op.answer.lease.owner, one.op.request.owner));
		cr_assert_eq(show.op.answer.lease.metadata.count, 1);
		cr_expect(
		    bytes_equal(show.op.answer.lease.metadata.entry[0].value, bytes_of(value)));
		shm_op_free(&show);
	}
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		key[i][lens[i] - 1] = 'x';
		cr_expect_not(shm_held(&client, key[i]), "differs in the last byte only");
	}
}

Test(memory, B43_names_that_others_confuse_are_different_keys)
{
	static const struct {
		const char *name_space, *key;
	} name[] = {
	    {"n", "plumless"},
	    {"n", "buckeroo"},
	    {"n", "costarring"},
	    {"n", "liquid"},
	    {"n", "declinate"},
	    {"n", "macallums"},
	    {"n", "altarage"},
	    {"n", "zinke"},
	    {"n", "creamwove"},
	    {"n", "quists"},
	    {"n", "hetairas"},
	    {"n", "mentioner"},
	    {"n", "k48136"},
	    {"n", "k127628"},
	    {"n", "k34391"},
	    {"n", "k37751"},
	    {"a", "b/c"},
	    {"a/b", "c"},
	    {"a:b", "c"},
	    {"a", "b:c"},
	    {"a.b", "c"},
	    {"a", "b.c"},
	    {"a\x1f"
	     "b",
	     "c"},
	    {"a", "b\x1f"
		  "c"},
	    {"ab", "c"},
	    {"a", "bc"},
	};
	enum { COUNT = sizeof name / sizeof *name };
	static struct shm_op one[COUNT];
	struct shm_op release, show;

	for (size_t i = 0; i < COUNT; i++) {
		shm_op_init(&one[i], OP_ACQUIRE, name[i].name_space, name[i].key);
		one[i].op.request.ttl_us = 60 * CLOCK_SECOND;
		cr_expect_eq(shm_op_submit(&client, &one[i]), ERR_OK, "%s", name[i].key);
	}
	for (size_t i = 0; i < COUNT; i += 2) {
		shm_op_init(&release, OP_RELEASE, name[i].name_space, name[i].key);
		release.op.request.holder = one[i].op.answer.lease.holder;
		release.op.request.holder_known = true;
		cr_expect_eq(shm_op_submit(&client, &release), ERR_OK);
	}
	for (size_t i = 0; i < COUNT; i++) {
		shm_op_init(&show, OP_INSPECT, name[i].name_space, name[i].key);
		cr_expect_eq(shm_op_submit(&client, &show), ERR_OK);
		cr_expect_eq(show.op.answer.held, i % 2 == 1, "%s", name[i].key);
	}
}

Test(memory, a_list_is_in_byte_order_and_in_pages)
{
	static const char *const sorted[] = {"10",
					     "9",
					     "A",
					     "B",
					     "Z",
					     "_x",
					     "a",
					     "a-b",
					     "a_z",
					     "ab",
					     "b",
					     "z",
					     "~",
					     "\xc3\xa9",
					     "\xef\xbf\xbf",
					     "\xf0\x9f\x98\x80"};
	enum { COUNT = sizeof sorted / sizeof *sorted };
	struct shm_op one, list;

	for (size_t i = 0; i < COUNT; i++)
		cr_assert_eq(shm_take(&client, &one, sorted[i * 7 % COUNT], 60 * CLOCK_SECOND),
			     ERR_OK);
	shm_op_init(&one, OP_ACQUIRE, "other", "elsewhere");
	one.op.request.ttl_us = CLOCK_SECOND;
	cr_assert_eq(shm_op_submit(&client, &one), ERR_OK);
	cr_assert_eq(shm_list(&other, &list), ERR_OK);
	cr_assert_eq(list.op.answer.lease_count, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		cr_expect(bytes_equal(list.op.answer.leases[i].key, bytes_of(sorted[i])));
	for (size_t i = 0; i < COUNT; i += 3) {
		struct shm_op page;
		size_t want = COUNT - i < 3 ? COUNT - i : 3;

		shm_op_init(&page, OP_LIST, "n", "");
		page.op.request.page_size = 3;
		page.op.request.after_set = i > 0;
		page.op.request.after = i ? bytes_of(sorted[i - 1]) : bytes_of("");
		shm_op_submit(&client, &page);
		cr_assert_eq(shm_op_finish(&client, &page), ERR_OK);
		cr_assert_eq(page.op.answer.lease_count, want);
		cr_expect_eq(page.op.answer.more, i + 3 < COUNT);
		cr_expect(bytes_equal(page.op.answer.leases[0].key, bytes_of(sorted[i])));
		shm_op_free(&page);
	}
	shm_op_free(&list);
}
