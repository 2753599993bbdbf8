/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "core/holder.h"

static struct bytes text_of(const char *text)
{
	return bytes_of(text);
}

Test(holder, text_and_id_agree_both_ways)
{
	for (int i = 0; i < 1000; i++) {
		struct holder_id id = holder_make(), back;
		char text[LEASE_HOLDER_TEXT + 1] = {0};

		holder_format(id, text);
		cr_assert_eq(text[14], '4', "version 4: %s", text);
		cr_assert(strchr("89ab", text[19]), "variant: %s", text);
		cr_assert(holder_parse(text_of(text), &back), "%s", text);
		cr_assert(holder_equal(id, back));
	}
}

Test(holder, only_the_canonical_form_is_read)
{
	static const char *const wrong[] = {
	    "",
	    "x",
	    "01234567-89ab-4def-8123-456789abcde",
	    "01234567-89ab-4def-8123-456789abcdef0",
	    "01234567-89AB-4def-8123-456789abcdef",
	    "0123456789ab-4def-8123-456789abcdef--",
	    "01234567_89ab-4def-8123-456789abcdef",
	    "{1234567-89ab-4def-8123-456789abcde}",
	    "01234567-89ab-4def-8123-456789abcdeg",
	};
	struct holder_id id;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_expect_not(holder_parse(text_of(wrong[i]), &id), "%s", wrong[i]);
	cr_expect(holder_parse(text_of("01234567-89ab-4def-8123-456789abcdef"), &id));
}

Test(holder, ids_of_parent_and_child_differ)
{
	struct holder_id child[64];
	int ends[2];
	pid_t pid;

	holder_make(); /* the store is filled before the fork */
	cr_assert_eq(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < 64; i++)
			child[i] = holder_make();
		_exit(write(ends[1], child, sizeof child) != (ssize_t)sizeof child);
	}
	cr_assert_eq(read(ends[0], child, sizeof child), (ssize_t)sizeof child);
	waitpid(pid, NULL, 0);
	for (size_t i = 0; i < 64; i++) {
		struct holder_id mine = holder_make();

		for (size_t j = 0; j < 64; j++)
			cr_assert_not(holder_equal(mine, child[j]));
	}
}
