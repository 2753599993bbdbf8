/* SPDX-License-Identifier: Apache-2.0
 *
 * The postgres driver, one worker: grants, refusals, renewals, releases, lists, and what stands in
 * the table. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
#include "pg_case.h"
#include "pg_server.h"

#define MS CLOCK_MILLI

static struct pg_case test;
static struct pg_client client;
static PGconn *session;

static void set_up(void)
{
	pg_case_init(&test);
	pg_case_open(&test);
	pg_client_attach(&client, &test, 0);
	session = pg_case_session(&test);
	cr_assert(pg_client_health(&client, ERR_OK, 10 * CLOCK_SECOND));
}

static void tear_down(void)
{
	PQfinish(session);
	pg_client_detach(&client);
	pg_case_close(&test);
}

TestSuite(pg_basics, .init = set_up, .fini = tear_down, .timeout = 60);

Test(pg_basics, acquire_answers_with_the_lease_that_stands_in_the_table)
{
	struct pg_op one;
	struct lease *lease = &one.op.answer.lease;
	char holder[LEASE_HOLDER_TEXT + 1] = "";

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	cr_expect_gt(lease->remaining_us, 55000 * MS);
	cr_expect_leq(lease->remaining_us, 60000 * MS);
	cr_expect_eq(lease->expires_wall_us - lease->acquired_wall_us, 60000 * MS);
	cr_expect(!one.op.answer.repeated);
	holder_format(lease->holder, holder);
	cr_expect_str_eq(pg_case_sql(session, "SELECT holder_id FROM leases WHERE key = 'k'"),
			 holder);
	cr_expect_eq(
	    strtoull(pg_case_sql(session, "SELECT fence FROM leases WHERE key = 'k'"), NULL, 10),
	    lease->fencing_token);
	pg_op_free(&one);
}

Test(pg_basics, a_held_key_is_refused_and_says_by_whom)
{
	struct pg_op one, two;
	struct lease *lease = &two.op.answer.lease;

	pg_op_init(&one, OP_ACQUIRE, "n", "k");
	one.op.request.ttl_us = 5000 * MS;
	one.op.request.owner = bytes_of("acme/one");
	pg_op_submit(&client, &one);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_assert_eq(pg_take(&client, &two, "k", 1000 * MS), ERR_HELD);
	cr_expect(two.op.answer.held);
	cr_expect_eq(lease->fencing_token, one.op.answer.lease.fencing_token);
	cr_expect_eq(lease->acquired_wall_us, one.op.answer.lease.acquired_wall_us);
	cr_expect(bytes_equal(lease->owner, bytes_of("acme/one")));
	cr_expect(lease->remaining_us > 0 && lease->remaining_us <= 5000 * MS);
	pg_op_free(&one);
	pg_op_free(&two);
}

/* A row lock would be a new xmax, a record in the log and a commit. */
Test(pg_basics, a_refusal_writes_nothing)
{
	static const char row[] = "SELECT ctid || ' ' || xmin || ' ' || xmax FROM leases";
	struct pg_op one;
	char before[64];

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_op_free(&one);
	snprintf(before, sizeof before, "%s", pg_case_sql(session, row));
	for (int i = 0; i < 10; i++) {
		cr_assert_eq(pg_take(&client, &one, "k", 1000 * MS), ERR_HELD);
		pg_op_free(&one);
		cr_assert_eq(pg_renew(&client, &one, "k", holder_make(), 1000 * MS),
			     ERR_NOT_HOLDER);
		pg_op_free(&one);
		cr_assert_eq(pg_release(&client, &one, "k", holder_make()), ERR_NOT_HOLDER);
		pg_op_free(&one);
	}
	cr_expect_str_eq(pg_case_sql(session, row), before);
}

Test(pg_basics, renew_moves_the_deadline_and_nothing_else)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	cr_assert_eq(pg_renew(&client, &two, "k", one.op.answer.lease.holder, 10000 * MS), ERR_OK);
	cr_expect_leq(two.op.answer.lease.remaining_us, 10000 * MS);
	cr_expect_gt(two.op.answer.lease.remaining_us, 5000 * MS);
	cr_expect_eq(two.op.answer.lease.fencing_token, one.op.answer.lease.fencing_token);
	cr_expect_eq(two.op.answer.lease.acquired_wall_us, one.op.answer.lease.acquired_wall_us);
	cr_expect(holder_equal(two.op.answer.lease.holder, one.op.answer.lease.holder));
	pg_op_free(&two);
	cr_expect_eq(pg_renew(&client, &two, "k", holder_make(), 10000 * MS), ERR_NOT_HOLDER);
	pg_op_free(&two);
	cr_expect_eq(pg_renew(&client, &two, "other", one.op.answer.lease.holder, 10000 * MS),
		     ERR_NOT_HOLDER);
	pg_op_free(&two);
	pg_op_free(&one);
}

Test(pg_basics, B01_an_expired_lease_is_never_renewed)
{
	struct pg_op one, two;

	for (int i = 0; i < 20; i++) {
		cr_assert_eq(pg_take(&client, &one, "k", 30 * MS), ERR_OK);
		pg_client_run(&client, NULL, 31 * MS);
		cr_expect_eq(pg_renew(&client, &two, "k", one.op.answer.lease.holder, 5000 * MS),
			     ERR_NOT_HOLDER);
		pg_op_free(&two);
		cr_assert_eq(pg_inspect(&client, &two, "k"), ERR_OK);
		cr_expect(!two.op.answer.held);
		pg_op_free(&two);
		pg_op_free(&one);
	}
}

Test(pg_basics, release_frees_once_and_only_for_the_holder)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	cr_expect_eq(pg_release(&client, &two, "k", holder_make()), ERR_NOT_HOLDER);
	pg_op_free(&two);
	cr_expect_eq(pg_release(&client, &two, "k", one.op.answer.lease.holder), ERR_OK);
	cr_expect(two.op.answer.existed);
	pg_op_free(&two);
	cr_expect_eq(pg_release(&client, &two, "k", one.op.answer.lease.holder), ERR_OK);
	cr_expect(!two.op.answer.existed);
	pg_op_free(&two);
	cr_expect_eq(pg_release(&client, &two, "never", holder_make()), ERR_OK);
	cr_expect(!two.op.answer.existed);
	pg_op_free(&two);
	pg_op_free(&one);
}

Test(pg_basics, a_holder_text_that_is_no_uuid_is_nobody)
{
	struct pg_op one, two;

	cr_assert_eq(pg_take(&client, &one, "k", 60000 * MS), ERR_OK);
	pg_op_init(&two, OP_RENEW, "n", "k");
	two.op.request.ttl_us = 1000 * MS;
	pg_op_submit(&client, &two);
	cr_expect_eq(pg_op_finish(&client, &two), ERR_NOT_HOLDER);
	pg_op_free(&two);
	pg_op_init(&two, OP_RELEASE, "n", "k");
	pg_op_submit(&client, &two);
	cr_expect_eq(pg_op_finish(&client, &two), ERR_NOT_HOLDER);
	pg_op_free(&two);
	pg_op_init(&two, OP_RELEASE, "n", "free");
	pg_op_submit(&client, &two);
	cr_expect_eq(pg_op_finish(&client, &two), ERR_OK);
	pg_op_free(&two);
	pg_op_free(&one);
}

static enum err as(const char *owner, bool may_break, struct holder_id holder, enum op_kind kind)
{
	struct pg_op one;
	enum err err;

	pg_op_init(&one, kind, "n", "k");
	one.op.request.ttl_us = 1000 * MS;
	one.op.request.owner = bytes_of(owner);
	one.op.request.may_break = may_break;
	one.op.request.holder = holder;
	one.op.request.holder_known = true;
	pg_op_submit(&client, &one);
	err = pg_op_finish(&client, &one);
	pg_op_free(&one);
	return err;
}

Test(pg_basics, renew_and_release_are_bound_to_the_owner)
{
	struct pg_op one;
	struct holder_id holder;

	pg_op_init(&one, OP_ACQUIRE, "n", "k");
	one.op.request.ttl_us = 60000 * MS;
	one.op.request.owner = bytes_of("acme/one");
	pg_op_submit(&client, &one);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	holder = one.op.answer.lease.holder;
	cr_expect_eq(as("acme/two", false, holder, OP_RENEW), ERR_NOT_HOLDER);
	cr_expect_eq(as("acme/two", false, holder, OP_RELEASE), ERR_NOT_HOLDER);
	cr_expect_eq(as("acme/one", false, holder, OP_RENEW), ERR_OK);
	cr_expect_eq(as("acme/two", true, holder, OP_RELEASE), ERR_OK);
	pg_op_free(&one);
}

static enum err request(struct pg_op *one, const char *owner, const char *id)
{
	pg_op_init(one, OP_ACQUIRE, "n", "k");
	one->op.request.ttl_us = 60000 * MS;
	one->op.request.owner = bytes_of(owner);
	one->op.request.request_id = bytes_of(id);
	pg_op_submit(&client, one);
	return pg_op_finish(&client, one);
}

Test(pg_basics, the_same_request_gets_the_same_lease)
{
	struct pg_op one, two;

	cr_assert_eq(request(&one, "o", "r1"), ERR_OK);
	cr_assert_eq(request(&two, "o", "r1"), ERR_OK);
	cr_expect(two.op.answer.repeated);
	cr_expect(holder_equal(one.op.answer.lease.holder, two.op.answer.lease.holder));
	cr_expect_eq(one.op.answer.lease.fencing_token, two.op.answer.lease.fencing_token);
	cr_expect_eq(one.op.answer.lease.expires_wall_us, two.op.answer.lease.expires_wall_us);
	pg_op_free(&two);
	cr_expect_eq(request(&two, "o", "r2"), ERR_HELD);
	pg_op_free(&two);
	cr_expect_eq(request(&two, "p", "r1"), ERR_HELD);
	pg_op_free(&two);
	cr_expect_eq(request(&two, "o", ""), ERR_HELD);
	pg_op_free(&two);
	pg_op_free(&one);
}

Test(pg_basics, fencing_tokens_grow_over_release_expiry_and_removal)
{
	struct pg_op one, two;
	uint64_t last = 0;

	for (int i = 0; i < 12; i++) {
		cr_assert_eq(pg_take(&client, &one, "k", i % 3 == 1 ? 5 * MS : 60000 * MS), ERR_OK);
		cr_expect_gt(one.op.answer.lease.fencing_token, last);
		last = one.op.answer.lease.fencing_token;
		if (i % 3 == 0) {
			cr_assert_eq(pg_release(&client, &two, "k", one.op.answer.lease.holder),
				     ERR_OK);
			pg_op_free(&two);
		} else if (i % 3 == 1) {
			pg_until_held(&client, "k", false);
		} else {
			/* As the reaper does, with a database whose clock stepped back since. */
			pg_case_sql(session,
				    "WITH x AS (DELETE FROM leases RETURNING fence)"
				    " INSERT INTO leases (namespace, key, holder_id, fence,"
				    " acquired_at, expires_at) SELECT '', '',"
				    " gen_random_uuid(), max(fence) + 1000000000,"
				    " '-infinity', '-infinity' FROM x");
			last += 1000000000;
		}
		pg_op_free(&one);
	}
}

Test(pg_basics, metadata_comes_back_byte_for_byte)
{
	static const char *const text[] = {"a",		 "",	 "\x01\n\t\"\\/",
					   "\xc3\xa9",	 "%_$1", "\xf0\x9f\x98\x80",
					   "';-- {}[]:", " ",	 "\xef\xbf\xbf"};
	enum { COUNT = sizeof text / sizeof *text };
	struct pg_op one, two;
	size_t count = 0;

	pg_op_init(&one, OP_ACQUIRE, "n", "k");
	one.op.request.ttl_us = 60000 * MS;
	/* Keys in byte order, as the service hands them over. */
	for (int key = 0; key < 9; key++) {
		one.entry[count].key =
		    bytes_of((const char *[]){"\x01", " ", "%", "';", "a", "b\"\\", "\xc3\xa9",
					      "\xef\xbf\xbf", "\xf0\x9f\x98\x80"}[key]);
		one.entry[count++].value = bytes_of(text[key % COUNT]);
	}
	one.op.request.metadata.count = count;
	pg_op_submit(&client, &one);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_assert_eq(pg_inspect(&client, &two, "k"), ERR_OK);
	cr_assert_eq(two.op.answer.lease.metadata.count, count);
	for (size_t i = 0; i < count; i++) {
		struct metadata_entry *got = &two.op.answer.lease.metadata.entry[i];

		cr_expect(bytes_equal(got->key, one.entry[i].key));
		cr_expect(bytes_equal(got->value, one.entry[i].value));
	}
	cr_expect_str_eq(
	    pg_case_sql(session, "SELECT metadata::json ->> 'a' FROM leases WHERE key = 'k'"),
	    "%_$1");
	pg_op_free(&one);
	pg_op_free(&two);
}

static void expect_list(const char *prefix, const char *const *keys, size_t count)
{
	struct pg_op one;

	cr_assert_eq(pg_list(&client, &one, prefix), ERR_OK);
	cr_assert_eq(one.op.answer.lease_count, count, "%zu leases", one.op.answer.lease_count);
	for (size_t i = 0; i < count; i++)
		cr_expect(bytes_equal(one.op.answer.leases[i].key, bytes_of(keys[i])), "%zu", i);
	cr_expect(!one.op.answer.more);
	pg_op_free(&one);
}

Test(pg_basics, B44_list_is_in_byte_order)
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

	for (int i = 0; i < COUNT; i++) {
		struct pg_op one;

		cr_assert_eq(pg_take(&client, &one, sorted[i * 7 % COUNT], 60000 * MS), ERR_OK);
		pg_op_free(&one);
	}
	expect_list("", sorted, COUNT);
	expect_list("a", sorted + 6, 4);
	expect_list("\xf0\x9f\x98\x80", sorted + COUNT - 1, 1);
	expect_list("%", NULL, 0);
}

Test(pg_basics, a_long_list_is_complete_and_pages_fit_together)
{
	char key[32];
	struct pg_op one;
	size_t seen = 0;
	bool more = true;

	pg_case_sql(session, "INSERT INTO leases (namespace, key, holder_id, fence, acquired_at,"
			     " expires_at) SELECT 'n', 'key-' || to_char(i, 'FM00000'),"
			     " gen_random_uuid(), 1, now(), now() + CASE WHEN i %% 2 = 0"
			     " THEN interval '1 h' ELSE interval '-1 s' END"
			     " FROM generate_series(1, 5000) i");
	cr_assert_eq(pg_list(&client, &one, ""), ERR_OK);
	cr_expect_eq(one.op.answer.lease_count, 2500);
	pg_op_free(&one);
	while (more) {
		pg_op_init(&one, OP_LIST, "n", "");
		one.op.request.page_size = 700;
		one.op.request.after_set = seen > 0;
		one.op.request.after = bytes_of(key);
		pg_op_submit(&client, &one);
		cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
		more = one.op.answer.more;
		cr_assert(one.op.answer.lease_count <= 700);
		for (size_t i = 0; i < one.op.answer.lease_count; i++) {
			snprintf(key, sizeof key, "key-%05zu", 2 * ++seen);
			cr_expect(bytes_equal(one.op.answer.leases[i].key, bytes_of(key)));
		}
		pg_op_free(&one);
	}
	cr_expect_eq(seen, 2500);
}

Test(pg_basics, many_at_once_have_one_winner_per_key)
{
	enum { OPS = 400, KEYS = 20 };
	static struct pg_op ops[OPS];
	char key[KEYS][32];
	int won[KEYS] = {0};

	for (int i = 0; i < OPS; i++) {
		snprintf(key[i % KEYS], sizeof key[0], "k%d", i % KEYS);
		pg_op_init(&ops[i], OP_ACQUIRE, "n", key[i % KEYS]);
		ops[i].op.request.ttl_us = 60000 * MS;
		pg_op_submit(&client, &ops[i]);
	}
	for (int i = 0; i < OPS; i++) {
		enum err err = pg_op_finish(&client, &ops[i]);

		cr_expect(err == ERR_OK || err == ERR_HELD, "%s", err_text(err));
		won[i % KEYS] += err == ERR_OK;
		pg_op_free(&ops[i]);
	}
	for (int i = 0; i < KEYS; i++)
		cr_expect_eq(won[i], 1);
}

Test(pg_basics, the_longest_names_work)
{
	static char name_space[LEASE_NAMESPACE_MAX + 1], key[LEASE_KEY_MAX + 1];
	struct pg_op one;

	for (int i = 0; i < LEASE_NAMESPACE_MAX; i += 4)
		memcpy(name_space + i, "\xf0\x9f\x98\x80", 4);
	for (int i = 0; i < LEASE_KEY_MAX; i++)
		key[i] = (char)('!' + (i * 31 + i / 7) % 90);
	pg_op_init(&one, OP_ACQUIRE, name_space, key);
	one.op.request.ttl_us = INT64_C(315360000000000);
	pg_op_submit(&client, &one);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_expect_gt(one.op.answer.lease.remaining_us, INT64_C(315359000000000));
	pg_op_free(&one);
	pg_op_init(&one, OP_LIST, name_space, "");
	one.op.request.key_prefix = bytes_of(key);
	pg_op_submit(&client, &one);
	cr_assert_eq(pg_op_finish(&client, &one), ERR_OK);
	cr_expect_eq(one.op.answer.lease_count, 1);
	pg_op_free(&one);
}
