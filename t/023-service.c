/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <criterion/criterion.h>

#include "core/service.h"

#define BYTES(literal) ((struct bytes){(const uint8_t *)(literal), sizeof(literal) - 1})

static struct arena arena;
static const struct limits limits = {LIMITS_MAX_TTL_DEFAULT, LIMITS_MAX_WAIT_DEFAULT};

static struct op make(enum op_kind kind)
{
	struct op op = {.kind = kind, .arena = &arena};

	arena_init(&arena);
	op.request.name_space = BYTES("locks");
	op.request.key = BYTES("deploy");
	return op;
}

static struct service_input one_second(void)
{
	return (struct service_input){.ttl = {true, 1, 0}};
}

static void expect_refused(struct op *op, const struct service_input *input, const char *field,
			   const char *text)
{
	cr_expect_eq(service_check(op, input, &limits), ERR_INVALID_ARGUMENT, "%s", text);
	cr_expect_eq(op->answer.result, ERR_INVALID_ARGUMENT);
	cr_assert_not_null(op->answer.text, "%s", text);
	cr_expect_str_eq(op->answer.text, text);
	cr_expect_str_eq(op->answer.field, field);
}

Test(service, key_is_checked_before_ttl)
{
	struct op op = make(OP_ACQUIRE);
	struct service_input input = {0};

	op.request.key.len = 0;
	expect_refused(&op, &input, "key", "key required");
}

Test(service, a_ttl_that_is_absent_malformed_or_not_positive_is_refused)
{
	static const struct wire_duration wrong[] = {
	    {false, 0, 0},
	    {true, 0, 0},
	    {true, 1, -1},
	    {true, 0, -1},
	    {true, -1, 0},
	    {true, -1, 1},
	    {true, 0, 1000000000},
	    {true, 1, INT32_MAX},
	    {true, INT64_MIN, 0},
	    {true, 0, INT32_MIN},
	    {true, INT64_MIN, INT32_MIN},
	    {true, INT64_MAX, 0},
	    {true, INT64_C(315576000001), 0},
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct op acquire = make(OP_ACQUIRE), renew = make(OP_RENEW);
		struct service_input input = {.ttl = wrong[i], .holder_text = BYTES("h")};

		expect_refused(&acquire, &input, "ttl", "ttl required and must be > 0");
		expect_refused(&renew, &input, "ttl", "ttl required and must be > 0");
	}
}

Test(service, ttl_rounds_up_to_microseconds_and_to_one_millisecond_at_least)
{
	static const struct {
		int64_t seconds;
		int32_t nanos;
		int64_t us;
	} table[] = {
	    {0, 1, 1000},
	    {0, 999999, 1000},
	    {0, 1000000, 1000},
	    {0, 1000001, 1001},
	    {1, 0, 1000000},
	    {1, 999999999, 2000000},
	    {604800, 0, LIMITS_MAX_TTL_DEFAULT},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct op op = make(OP_ACQUIRE);
		struct service_input input = {.ttl = {true, table[i].seconds, table[i].nanos}};

		cr_expect_eq(service_check(&op, &input, &limits), ERR_OK, "row %zu", i);
		cr_expect_eq(op.request.ttl_us, table[i].us, "row %zu", i);
		cr_expect_eq(op.request.wait_us, 0);
	}
}

Test(service, a_ttl_or_wait_above_the_maximum_names_it)
{
	struct op op = make(OP_ACQUIRE);
	struct service_input input = {.ttl = {true, 604800, 1}};

	expect_refused(&op, &input, "ttl", "ttl exceeds the maximum of 604800.000s");
	op = make(OP_ACQUIRE);
	input = one_second();
	input.wait_for = (struct wire_duration){true, INT64_C(315576000000), 0};
	expect_refused(&op, &input, "wait_for", "wait_for exceeds the maximum of 3600.000s");
}

Test(service, a_negative_or_malformed_wait_is_refused)
{
	static const struct wire_duration wrong[] = {
	    {true, -1, 0}, {true, 0, -1}, {true, 1, -1}, {true, 0, 1000000000}};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct op op = make(OP_ACQUIRE);
		struct service_input input = one_second();

		input.wait_for = wrong[i];
		expect_refused(&op, &input, "wait_for", "wait_for must be a valid duration >= 0");
	}
}

Test(service, names_may_be_any_utf8_without_nul_up_to_their_limit)
{
	static char key[LEASE_KEY_MAX + 1];
	struct service_input input = one_second();
	struct op op = make(OP_ACQUIRE);

	memset(key, 'k', sizeof key);
	op.request.key = (struct bytes){(uint8_t *)key, LEASE_KEY_MAX};
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	op.request.key.len++;
	expect_refused(&op, &input, "key", "key is longer than 512 bytes");
	op = make(OP_ACQUIRE);
	op.request.key = BYTES("%s \n'; -- \xf0\x9f\x98\x80");
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	op.request.key = BYTES("a\0b");
	expect_refused(&op, &input, "key", "key must not contain NUL");
	op = make(OP_ACQUIRE);
	op.request.name_space = BYTES("\xc0\x80");
	expect_refused(&op, &input, "namespace", "namespace is not valid UTF-8");
	op = make(OP_ACQUIRE);
	op.request.key = BYTES("\xed\xa0\x80");
	expect_refused(&op, &input, "key", "key is not valid UTF-8");
}

Test(service, metadata_is_sorted_and_the_last_of_equal_keys_stays)
{
	struct metadata_entry entries[] = {{BYTES("b"), BYTES("1")},
					   {BYTES("a"), BYTES("2")},
					   {BYTES("b"), BYTES("3")},
					   {BYTES("a"), BYTES("4")}};
	struct service_input input = one_second();
	struct op op = make(OP_ACQUIRE);

	op.request.metadata = (struct metadata){entries, 4};
	cr_assert_eq(service_check(&op, &input, &limits), ERR_OK);
	cr_assert_eq(op.request.metadata.count, 2);
	cr_expect(bytes_equal(entries[0].key, BYTES("a")));
	cr_expect(bytes_equal(entries[0].value, BYTES("4")));
	cr_expect(bytes_equal(entries[1].value, BYTES("3")));
}

Test(service, metadata_beyond_its_limits_is_refused_by_name)
{
	static uint8_t big[LEASE_METADATA_BYTES_MAX];
	static char names[LEASE_METADATA_ENTRIES_MAX + 1];
	struct metadata_entry entries[LEASE_METADATA_ENTRIES_MAX + 1];
	struct service_input input = one_second();
	struct op op = make(OP_ACQUIRE);

	memset(big, 'x', sizeof big);
	entries[0] = (struct metadata_entry){BYTES("k"), {big, sizeof big - 1}};
	op.request.metadata = (struct metadata){entries, 1};
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	entries[0].value.len++;
	expect_refused(&op, &input, "metadata", "metadata is larger than 8192 bytes");
	for (size_t i = 0; i < sizeof names; i++) {
		names[i] = (char)('!' + i);
		entries[i] = (struct metadata_entry){{(uint8_t *)&names[i], 1}, {NULL, 0}};
	}
	op = make(OP_ACQUIRE);
	op.request.metadata = (struct metadata){entries, 64};
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	op.request.metadata.count = 65;
	expect_refused(&op, &input, "metadata", "metadata has more than 64 entries");
	op = make(OP_ACQUIRE);
	entries[3].key.len = 0;
	op.request.metadata = (struct metadata){entries, 4};
	expect_refused(&op, &input, "metadata", "metadata key must not be empty");
}

Test(service, renew_and_release_need_key_and_holder_but_any_text_may_be_one)
{
	struct service_input input = {.ttl = {true, 1, 0}};
	struct op op = make(OP_RELEASE);

	expect_refused(&op, &input, "holder_id", "key and holder_id required");
	op = make(OP_RENEW);
	op.request.key.len = 0;
	input.holder_text = BYTES("x");
	expect_refused(&op, &input, "key", "key and holder_id required");
	op = make(OP_RELEASE);
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	cr_expect_not(op.request.holder_known);
	input.holder_text = BYTES("01234567-89ab-4def-8123-456789abcdef");
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	cr_expect(op.request.holder_known);
}

Test(service, a_page_token_leads_back_to_its_key_and_others_are_refused)
{
	struct service_input input = {0};
	struct op op = make(OP_LIST);

	op.request.key.len = 0;
	input.page_token = service_page_token(&arena, BYTES("k\n1"));
	cr_expect_eq(service_check(&op, &input, &limits), ERR_OK);
	cr_expect(op.request.after_set);
	cr_expect(bytes_equal(op.request.after, BYTES("k\n1")));
	input.page_token = BYTES("zzz");
	expect_refused(&op, &input, "page_token", "page_token is not one of this server's");
}

Test(service, an_unknown_namespace_is_named_in_the_answer)
{
	struct namespace_settings known[] = {{BYTES("a"), 0}, {BYTES("locks"), 1}};
	struct settings settings = {.name_space = known, .namespace_count = 2};
	struct op op = make(OP_INSPECT);
	size_t backend = 9;

	cr_expect_eq(service_route(&op, &settings, &backend), ERR_OK);
	cr_expect_eq(backend, 1);
	op.request.name_space = BYTES("Locks");
	cr_expect_eq(service_route(&op, &settings, &backend), ERR_NAMESPACE_UNKNOWN);
	cr_expect_str_eq(op.answer.text, "namespace \"Locks\" not configured");
}
