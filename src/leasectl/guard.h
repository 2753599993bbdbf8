/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/guard.h - the keeper's second thread: hears the supervisor's orders and its death, and
 * kills the command's group when a supervisor that is stopped has let the last moment pass. */
#ifndef LEASED_LEASECTL_GUARD_H
#define LEASED_LEASECTL_GUARD_H

#include "leasectl/hold.h"
#include "leasectl/post.h"

struct guard {
	struct hold *hold; /* stopped by an order to release, and by the supervisor's death */
	int fd;
	int64_t margin_us;
	bool kills;	       /* --on-lost kill */
	pthread_mutex_t mutex; /* of the rest */
	pid_t group;	       /* of the command; 0: none that is its own, or gone */
	int64_t end_us;	       /* of the lease; 0: no lease */
	bool orphan;	       /* the supervisor is dead, its command killed */
};

/* Starts the thread; `guard` is filled but for the mutex and stays in place for good. */
void guard_start(struct guard *guard);

/* Until then nobody else can hold the lease. */
void guard_set_end(struct guard *guard, int64_t end_us);

/* After the supervisor's death: waits for the end of the command's group. False when it is still
 * there after five seconds: then the lease must not be given back. Otherwise true at once. */
bool guard_group_gone(struct guard *guard);

#endif
