/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/waiter.h - the tool lease_acquire: the only one that may stand in line. */
#ifndef LEASED_LEASECTL_WAITER_H
#define LEASED_LEASECTL_WAITER_H

#include "leasectl/mcp.h"

/* The arguments of one call; texts are borrowed from its params. */
struct given {
	const char *name_space, *key, *note, *holder, *prefix;
	int64_t ttl_us, wait_us;
};

/* The request of such a call; borrows. */
struct lease_request waiter_request(const struct given *given);

/* Answers now, or later from waiter_work. Takes over `id`, keeps `params` while it needs `given`.
 */
void waiter_acquire(struct mcp *mcp, json_t *id, json_t *params, const struct given *given);

/* Ends what stands in line for request `id`, without an answer. */
void waiter_cancel(struct mcp *mcp, json_t *id);

/* Looks after those that stand in line. Does not block for long. */
void waiter_work(struct mcp *mcp);

/* All that stand in line leave it. */
void waiter_end(struct mcp *mcp);

#endif
