/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/table.h - the operations on leases, each one critical section of one stripe. What they decide
 * comes from core/rules.h; the time is read inside the section, so that nobody acts on an old
 * "now". Each may block for a stripe lock (microseconds, a second at worst) and leaves slots to be
 * rung in actor->ring. Results: besides those named, ERR_BACKEND_DOWN when the stripe is not to be
 * had. */
#ifndef LEASED_SHM_TABLE_H
#define LEASED_SHM_TABLE_H

#include "core/op.h"
#include "shm/record.h"

struct shm_call {
	const struct shm_name *name;
	const struct op_request *request;
	const uint64_t *payload; /* encoded, for acquire */
	uint32_t payload_size;
	struct holder_id holder; /* acquire: of the lease to be made */
	int64_t wait_deadline;	 /* acquire: boot clock; 0 = do not wait */
	uint32_t node;		 /* acquire: an idle waiter of this slot, or 0: none is left */
};

struct shm_result {
	struct shm_grant grant; /* the lease the answer speaks of, when `known` */
	bool known;
	bool fresh;	       /* acquire: made now, from the request */
	bool existed;	       /* release */
	uint32_t payload_size; /* of what stands in actor->scratch: all of it, or, with ERR_HELD, */
			       /* at least the identity */
	uint32_t waiters;
	uint32_t record; /* ERR_PENDING */
	int64_t now;
};

/* ERR_OK; ERR_HELD; ERR_PENDING: call->node stands in line; ERR_TABLE_FULL; ERR_WAITERS_FULL;
 * ERR_RESTART_GRACE. May commit memory (a system call) when the table grows. */
enum err shm_table_acquire(struct shm_actor *actor, const struct shm_call *call,
			   struct shm_result *result);
/* ERR_OK or ERR_NOT_HOLDER. */
enum err shm_table_renew(struct shm_actor *actor, const struct shm_call *call,
			 struct shm_result *result);
enum err shm_table_release(struct shm_actor *actor, const struct shm_call *call,
			   struct shm_result *result);

/* Takes `node`, of this slot, out of whatever it is in and leaves it idle: a queued one leaves the
 * queue, a grant that was not taken goes to the next. `number`: the stripe of its key. ERR_OK. */
enum err shm_table_withdraw(struct shm_actor *actor, unsigned number, uint32_t node);

/* When the lease of `record` is over, or was handed to a waiter that cannot take it, hands it on.
 * The record may have become another key's: then nothing is wrong with doing the same there. */
enum err shm_table_look(struct shm_actor *actor, uint64_t hash, uint32_t record);

/* Without lock: the deadline of `record`, and whether its taker has not taken it yet and is dead or
 * stopped. A guess, for deciding when to call shm_table_look. */
int64_t shm_table_peek(const struct shm_map *map, uint32_t record, int64_t now, bool *suspect);

/* Erases the expired leases of one stripe that has any. False: there are none. */
bool shm_table_reclaim(struct shm_actor *actor);

#endif
