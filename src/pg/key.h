/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/key.h - the keys that acquires of this worker wait for, each with its queue. */
#ifndef LEASED_PG_KEY_H
#define LEASED_PG_KEY_H

#include <stdbool.h>

#include "base/bytes.h"
#include "pg/timer.h"

struct pg_call;

/* The lease in the way, as it was seen last. */
struct pg_seen {
	bool known;
	uint64_t fence;
	int64_t acquired_us, expires_us; /* of the database's clock */
	int64_t until_us;		 /* of this host's: not before it is over */
	struct bytes owner;		 /* allocated */
};

struct pg_key {
	struct pg_key *next;		/* of the same bucket */
	struct pg_key *later, *earlier; /* of all keys */
	uint64_t hash;
	struct bytes name_space, key; /* in the same allocation */
	struct pg_call *first, *last; /* the queue, oldest first */
	uint32_t waiters;
	struct pg_call *trying; /* whose attempt is on its way; it may have left the queue */
	bool again;		/* something changed since that attempt was sent */
	bool looked;		/* part of the look in flight */
	int64_t looked_us;	/* when it was part of one last */
	struct pg_timer timer;	/* next attempt without any news */
	struct pg_seen seen;
};

struct pg_keys {
	struct pg_key **bucket;
	size_t buckets, count;
	struct pg_key *newest;
};

/* NULL when nobody waits for it. */
struct pg_key *pg_keys_find(struct pg_engine *engine, struct bytes name_space, struct bytes key);
/* Made when missing. */
struct pg_key *pg_keys_get(struct pg_engine *engine, struct bytes name_space, struct bytes key);
/* Frees it when nothing refers to it. */
void pg_keys_leave(struct pg_engine *engine, struct pg_key *key);
void pg_keys_free(struct pg_keys *keys);

#endif
