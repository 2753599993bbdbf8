/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <jansson.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/log.h"

#define BYTES(literal) ((struct bytes){(const uint8_t *)(literal), sizeof(literal) - 1})

Test(bytes, compare_is_unsigned_byte_order_whatever_the_locale)
{
	const struct bytes order[] = {BYTES("10"),
				      BYTES("9"),
				      BYTES("A"),
				      BYTES("_x"),
				      BYTES("a"),
				      BYTES("a-b"),
				      BYTES("ab"),
				      BYTES("\xc3\xa9"),
				      BYTES("\xef\xbf\xbf"),
				      BYTES("\xf0\x9f\x98\x80")};

	for (size_t i = 0; i + 1 < sizeof order / sizeof *order; i++) {
		cr_expect_lt(bytes_compare(order[i], order[i + 1]), 0, "pair %zu", i);
		cr_expect_gt(bytes_compare(order[i + 1], order[i]), 0, "pair %zu", i);
	}
}

Test(bytes, a_nul_inside_is_a_byte_like_any_other)
{
	cr_expect_not(bytes_equal(BYTES("a"), BYTES("a\0b")));
	cr_expect_lt(bytes_compare(BYTES("a"), BYTES("a\0b")), 0);
	cr_expect(bytes_start_with(BYTES("a\0b"), BYTES("a\0")));
	cr_expect(bytes_start_with(BYTES("a"), (struct bytes){NULL, 0}));
	cr_expect_not(bytes_start_with(BYTES("a"), BYTES("ab")));
}

Test(arena, memory_is_aligned_and_distinct_and_reset_gives_it_back)
{
	struct arena arena;
	unsigned char *last = NULL;

	arena_init(&arena);
	for (size_t size = 1; size < 40000; size += 977) {
		unsigned char *memory = arena_alloc(&arena, size);

		cr_assert_not_null(memory);
		cr_assert_eq((uintptr_t)memory % _Alignof(max_align_t), 0);
		cr_assert_neq(memory, last);
		memset(memory, 0xa5, size);
		last = memory;
	}
	arena_reset(&arena);
	cr_expect_null(arena.blocks);
	cr_expect_eq(arena.used, 0);
}

Test(arena, an_impossible_size_is_refused_not_wrapped)
{
	struct arena arena;

	arena_init(&arena);
	cr_expect_null(arena_alloc(&arena, SIZE_MAX));
	cr_expect_null(arena_alloc(&arena, SIZE_MAX - 40));
}

/* Runs one log call with stderr in a pipe and gives back what was written. */
static size_t capture(char *text, size_t size, enum log_format format, struct bytes value)
{
	int ends[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	cr_assert_eq(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	log_configure(LEVEL_INFO, format, LOG_TARGET_STDERR);
	log_info("a line", LOG_BYTES("key", value), LOG_INT("n", -7));
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	n = read(ends[0], text, size - 1);
	close(ends[0]);
	cr_assert_gt(n, 0);
	text[n] = 0;
	return (size_t)n;
}

Test(log, a_name_with_newline_quote_and_escape_stays_one_line)
{
	char text[8192];
	size_t n = capture(text, sizeof text, LOG_FORMAT_TEXT, BYTES("x\n\"fatal\" \x1b[2J\xff"));

	cr_expect_eq(strchr(text, '\n'), text + n - 1);
	cr_expect(strstr(text, " key=\"x\\x0a\\\"fatal\\\" \\x1b[2J\\xff\" n=-7\n"), "%s", text);
}

Test(log, a_huge_value_is_cut_and_the_line_still_ends)
{
	static uint8_t huge[20000];
	char text[8192];
	size_t n;

	memset(huge, 'a', sizeof huge);
	huge[7] = ' ';
	n = capture(text, sizeof text, LOG_FORMAT_TEXT, (struct bytes){huge, sizeof huge});
	cr_expect_leq(n, 4096);
	cr_expect_eq(text[n - 1], '\n');
	cr_expect(strstr(text, "…"));
}

Test(log, a_json_line_is_one_object_whatever_the_bytes)
{
	char text[8192];
	json_t *object;

	capture(text, sizeof text, LOG_FORMAT_JSON, BYTES("x\n\xff"));
	object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(object, "%s", text);
	cr_expect_str_eq(json_string_value(json_object_get(object, "message")), "a line");
	cr_expect_eq(json_integer_value(json_object_get(object, "n")), -7);
	cr_expect_not_null(json_object_get(object, "key"));
	json_decref(object);
}

Test(err, every_reason_is_a_valid_error_info_reason)
{
	for (int err = 0; err <= ERR_BUG; err++) {
		const char *reason = err_reason((enum err)err);

		cr_expect_not_null(err_text((enum err)err));
		cr_expect_leq(strlen(reason), 63);
		cr_expect_eq(strspn(reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"),
			     strlen(reason));
	}
}
