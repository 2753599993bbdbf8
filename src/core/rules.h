/* SPDX-License-Identifier: Apache-2.0
 *
 * core/rules.h - the decisions, as pure functions of what the store knows, the request and the
 * time. No I/O, no clock, no memory. The memory driver calls them under its stripe lock; the SQL of
 * the postgres driver says the same and is tested against the same table (t/). */
#ifndef LEASED_CORE_RULES_H
#define LEASED_CORE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/lease.h"

/* What the store knows of a key at the moment of decision. */
struct rules_state {
	bool granted;	      /* somebody was granted it and it was not released since */
	int64_t deadline_us;  /* end of that grant, in the clock of `now_us` */
	bool queued;	      /* live waiters stand in line */
	bool owner_matches;   /* the lease's owner is the caller's */
	bool request_matches; /* the lease's request_id is set and is the request's */
	bool holder_matches;  /* the lease's holder id is the one presented */
};

enum rules_acquire {
	RULES_GRANT,  /* free, or expired and nobody in line: take it, in one step */
	RULES_REPEAT, /* the same request again: answer with the lease it made, unchanged */
	RULES_HELD,   /* refuse: already held */
	RULES_QUEUE,  /* stand in line */
};

/* A lease is over from the microsecond of its deadline on. */
bool rules_live(bool granted, int64_t deadline_us, int64_t now_us);

/* A plain acquire never overtakes waiters: with a queue it is refused or queued even when the key
 * is free at this instant (the caller hands over to the head first, then asks again). */
enum rules_acquire rules_acquire(const struct rules_state *state, int64_t wait_us, int64_t now_us);

/* ERR_OK or ERR_NOT_HOLDER. Never revives an expired lease, taken over or not. */
enum err rules_renew(const struct rules_state *state, int64_t now_us);

/* ERR_OK with *existed, or ERR_NOT_HOLDER. A key nobody holds: ERR_OK and not existed. */
enum err rules_release(const struct rules_state *state, bool may_break, int64_t now_us,
		       bool *existed);

#endif
