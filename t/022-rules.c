/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "core/rules.h"

enum { NOW = 1000 };

Test(rules, a_lease_is_over_from_its_deadline_on)
{
	cr_expect(rules_live(true, NOW + 1, NOW));
	cr_expect_not(rules_live(true, NOW, NOW));
	cr_expect_not(rules_live(true, NOW - 1, NOW));
	cr_expect_not(rules_live(false, NOW + 1, NOW));
}

Test(rules, acquire_decides_by_this_table)
{
	static const struct {
		const char *name;
		struct rules_state state;
		int64_t wait;
		enum rules_acquire expect;
	} table[] = {
	    {"free", {0}, 0, RULES_GRANT},
	    {"free, would wait", {0}, 5, RULES_GRANT},
	    {"expired", {.granted = true, .deadline_us = NOW}, 0, RULES_GRANT},
	    {"held", {.granted = true, .deadline_us = NOW + 1}, 0, RULES_HELD},
	    {"held, waits", {.granted = true, .deadline_us = NOW + 1}, 5, RULES_QUEUE},
	    {"free but others wait", {.queued = true}, 0, RULES_HELD},
	    {"free but others wait, waits", {.queued = true}, 5, RULES_QUEUE},
	    {"expired but others wait",
	     {.granted = true, .deadline_us = NOW, .queued = true},
	     0,
	     RULES_HELD},
	    {"own lease again", /* no re-entrance */
	     {.granted = true,
	      .deadline_us = NOW + 1,
	      .owner_matches = true,
	      .holder_matches = true},
	     0,
	     RULES_HELD},
	    {"same request",
	     {.granted = true,
	      .deadline_us = NOW + 1,
	      .owner_matches = true,
	      .request_matches = true},
	     0,
	     RULES_REPEAT},
	    {"same request, would wait",
	     {.granted = true,
	      .deadline_us = NOW + 1,
	      .owner_matches = true,
	      .request_matches = true,
	      .queued = true},
	     5,
	     RULES_REPEAT},
	    {"same request of another owner",
	     {.granted = true, .deadline_us = NOW + 1, .request_matches = true},
	     0,
	     RULES_HELD},
	    {"same request, expired",
	     {.granted = true, .deadline_us = NOW, .owner_matches = true, .request_matches = true},
	     0,
	     RULES_GRANT},
	};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		cr_expect_eq(rules_acquire(&table[i].state, table[i].wait, NOW), table[i].expect,
			     "%s", table[i].name);
}

/* All eight combinations of live, holder and owner: only one may renew. */
Test(rules, renew_is_for_the_live_holder_only)
{
	for (int bits = 0; bits < 8; bits++) {
		struct rules_state state = {.granted = true,
					    .deadline_us = bits & 1 ? NOW + 1 : NOW,
					    .holder_matches = bits & 2,
					    .owner_matches = bits & 4};

		cr_expect_eq(rules_renew(&state, NOW), bits == 7 ? ERR_OK : ERR_NOT_HOLDER,
			     "bits %d", bits);
	}
}

Test(rules, release_of_a_key_nobody_holds_is_harmless_and_says_so)
{
	struct rules_state expired = {.granted = true, .deadline_us = NOW, .holder_matches = true};
	struct rules_state free_key = {0};
	bool existed = true;

	cr_expect_eq(rules_release(&expired, false, NOW, &existed), ERR_OK);
	cr_expect_not(existed);
	existed = true;
	cr_expect_eq(rules_release(&free_key, true, NOW, &existed), ERR_OK);
	cr_expect_not(existed);
}

Test(rules, release_of_a_held_key_needs_holder_and_owner_or_the_right_to_break)
{
	for (int bits = 0; bits < 8; bits++) {
		struct rules_state state = {.granted = true,
					    .deadline_us = NOW + 1,
					    .holder_matches = bits & 1,
					    .owner_matches = bits & 2};
		bool may_break = bits & 4, existed = false;
		bool allowed = (bits & 1) && ((bits & 2) || may_break);

		cr_expect_eq(rules_release(&state, may_break, NOW, &existed),
			     allowed ? ERR_OK : ERR_NOT_HOLDER, "bits %d", bits);
		cr_expect_eq(existed, allowed, "bits %d", bits);
	}
}
