/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

bool rules_live(bool granted, int64_t deadline_us, int64_t now_us)
{
	return granted && deadline_us > now_us;
}

enum rules_acquire rules_acquire(const struct rules_state *state, int64_t wait_us, int64_t now_us)
{
	bool live = rules_live(state->granted, state->deadline_us, now_us);

	if (live && state->request_matches && state->owner_matches)
		return RULES_REPEAT;
	if (!live && !state->queued)
		return RULES_GRANT;
	return wait_us > 0 ? RULES_QUEUE : RULES_HELD;
}

enum err rules_renew(const struct rules_state *state, int64_t now_us)
{
	bool live = rules_live(state->granted, state->deadline_us, now_us);

	return live && state->holder_matches && state->owner_matches ? ERR_OK : ERR_NOT_HOLDER;
}

enum err rules_release(const struct rules_state *state, bool may_break, int64_t now_us,
		       bool *existed)
{
	bool mine = state->holder_matches && (state->owner_matches || may_break);

	*existed = rules_live(state->granted, state->deadline_us, now_us);
	if (!*existed)
		return ERR_OK;
	if (mine)
		return ERR_OK;
	*existed = false;
	return ERR_NOT_HOLDER;
}
