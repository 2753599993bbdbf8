/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/hold.h - one lease that is taken, kept and given back, whatever the way to the server
 * does. A connection that failed is left and a new one made: the core's own back-off never stands
 * between a renewal and its deadline. Used by one thread; only hold_stop may come from another. */
#ifndef LEASED_LEASECTL_HOLD_H
#define LEASED_LEASECTL_HOLD_H

#include <pthread.h>

#include "leasectl/duration.h"
#include "leasectl/failure.h"
#include "leasectl/lease.h"
#include "leasectl/options.h"

enum hold_result {
	HOLD_OK,
	HOLD_LOST,    /* the server says so, or did not grant it: see failure */
	HOLD_AGAIN,   /* the server or the way to it is down: see failure */
	HOLD_STOPPED, /* hold_stop was called */
};

struct hold {
	const struct options *options;
	struct client *client; /* NULL: to be made */
	char request_id[LEASE_ID_ROOM];
	char holder[LEASE_ID_ROOM]; /* "": not held */
	char expires[DURATION_ROOM];
	uint64_t token;
	/* Until then nobody else can hold the lease: a reading from before the request was sent,
	 * plus what the server granted. */
	int64_t end_us;
	int64_t renewed_us; /* when the last request that was granted was sent */
	struct failure failure;
	pthread_mutex_t mutex; /* of the two below */
	struct call *flying;
	bool stopping;
	int bell; /* eventfd: readable once stopping */
};

/* False when no eventfd can be had. */
bool hold_init(struct hold *hold, const struct options *options);
void hold_fini(struct hold *hold);

/* One Acquire that waits at most `wait_us`, told on stderr when asked for. After HOLD_OK the lease
 * is ours, but end_us may have passed already: a lease that was waited for begins at some time
 * between. Renew before relying on it. */
enum hold_result hold_acquire(struct hold *hold, int64_t wait_us);

/* One Renew that ends at `deadline_us`. HOLD_LOST is final. */
enum hold_result hold_renew(struct hold *hold, int64_t deadline_us);

/* Release, tried again until `deadline_us`, stopping or not. HOLD_LOST: it was not ours any more.
 */
enum hold_result hold_release(struct hold *hold, int64_t deadline_us);

/* Sleeps until then or until stopped. */
void hold_sleep(struct hold *hold, int64_t until_us);

/* Ends what is in flight and all sleeps, now and later; releases still work. From any thread. */
void hold_stop(struct hold *hold);

bool hold_stopping(struct hold *hold);

#endif
