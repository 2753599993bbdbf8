/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/keeper.h - the process of `run` that speaks to the server: takes the lease, renews it,
 * gives it back. It lives on when its supervisor is stopped or killed: then it ends the command's
 * group itself, and only then releases. */
#ifndef LEASED_LEASECTL_KEEPER_H
#define LEASED_LEASECTL_KEEPER_H

#include "leasectl/options.h"
#include "leasectl/post.h"

/* How `ttl` is divided. All in microseconds. */
struct keeper_plan {
	int64_t margin_us; /* the command is killed so long before the lease can pass on */
	int64_t grace_us;  /* between TERM and KILL */
	int64_t renew_us;  /* between two renewals */
	int64_t try_us;	   /* for one attempt at a renewal */
};

struct keeper_plan keeper_plan(const struct options *options);

/* Runs in the new process until the lease is given back or lost; `held` (POST_GRANTED) is the lease
 * of a keeper that died, else NULL. All signals are blocked. Does not return. */
_Noreturn void keeper_main(const struct options *options, int fd, const struct post *held);

#endif
