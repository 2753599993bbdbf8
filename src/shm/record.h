/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/record.h - one key in the table: find, insert, new grant, erase. All with the lock of the
 * stripe that the name hashes to, but shm_body_read and shm_record_matches, which readers without
 * lock use too. */
#ifndef LEASED_SHM_RECORD_H
#define LEASED_SHM_RECORD_H

#include "core/holder.h"
#include "shm/name.h"
#include "shm/stripe.h"

/* A body, copied out. */
struct shm_grant {
	struct holder_id holder;
	uint64_t token;
	int64_t acquired_wall;
	int64_t deadline;
	uint32_t chain, chain_size;
	uint32_t node, word; /* waiter it was handed to, or 0 */
};

void shm_holder_load(const _Atomic uint64_t from[2], struct holder_id *holder);
void shm_holder_store(_Atomic uint64_t to[2], const struct holder_id *holder);

/* The body that `seq` names. */
static inline struct shm_body *shm_body_of(struct shm_record *record, uint32_t seq)
{
	return &record->body[seq & SHM_SEQ_BODY];
}

/* seq of the next grant in place, and of the dead record. */
static inline uint32_t shm_seq_next(uint32_t seq)
{
	return ((seq ^ SHM_SEQ_BODY) + SHM_SEQ_STEP) | SHM_SEQ_LIVE;
}

static inline uint32_t shm_seq_dead(uint32_t seq)
{
	return (seq + SHM_SEQ_STEP) & ~(uint32_t)SHM_SEQ_LIVE;
}

void shm_body_read(const struct shm_body *body, struct shm_grant *grant);

/* Only to a body that does not count. */
void shm_body_write(struct shm_body *body, const struct shm_grant *grant);

/* Same name, byte for byte. Without lock it may be wrong while the record changes. */
bool shm_record_matches(const struct shm_map *map, struct shm_record *record,
			const struct shm_name *name);

/* 0 = not there. */
uint32_t shm_record_find(const struct shm_map *map, const struct shm_name *name);

/* The grant that counts. */
void shm_record_grant(const struct shm_map *map, uint32_t index, struct shm_grant *grant);

/* Replaces the grant in one step. grant->chain: when `fresh`, it is stripe->pending[payload] and
 * the old chain is freed; else it is the old one. */
void shm_record_replace(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
			const struct shm_grant *grant, bool fresh);

/* Takes a record for shm_record_insert. False: none is free (grow or reclaim, then try again). */
bool shm_record_reserve(struct shm_actor *actor, struct shm_stripe *stripe);

/* Adds a key that is not there. The record reserved and the chains pending (payload, long name)
 * become its own. */
void shm_record_insert(struct shm_actor *actor, struct shm_stripe *stripe,
		       const struct shm_name *name, const struct shm_grant *grant);

/* Takes the key out and frees record and chains. Its queue must be empty. */
void shm_record_erase(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index);

/* Erases what expired and has no queue: in the bucket of `hash`; in the whole stripe, which also
 * finds its soonest deadline anew. Returns how many were erased. */
unsigned shm_record_tidy_bucket(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t bucket,
				int64_t now);
unsigned shm_record_tidy(struct shm_actor *actor, struct shm_stripe *stripe, int64_t now);

/* Says that a lease of this stripe ends at `deadline`, before it is so. */
void shm_record_soonest(struct shm_actor *actor, struct shm_stripe *stripe, int64_t deadline);

#endif
