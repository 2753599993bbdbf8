/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "shm/chain.h"
#include "shm/pool.h"
#include "shm/record.h"

void shm_holder_load(const _Atomic uint64_t from[2], struct holder_id *holder)
{
	uint64_t word[2] = {shm_load(&from[0]), shm_load(&from[1])};

	memcpy(holder->byte, word, sizeof word);
}

void shm_holder_store(_Atomic uint64_t to[2], const struct holder_id *holder)
{
	uint64_t word[2];

	memcpy(word, holder->byte, sizeof word);
	shm_store(&to[0], word[0]);
	shm_store(&to[1], word[1]);
}

void shm_body_read(const struct shm_body *body, struct shm_grant *grant)
{
	shm_holder_load(body->holder, &grant->holder);
	grant->token = shm_load(&body->token);
	grant->acquired_wall = shm_load(&body->acquired_wall);
	grant->deadline = shm_load(&body->deadline);
	grant->chain = shm_load(&body->chain);
	grant->chain_size = shm_load(&body->chain_size);
	grant->node = shm_load(&body->grant_node);
	grant->word = shm_load(&body->grant_word);
}

void shm_body_write(struct shm_body *body, const struct shm_grant *grant)
{
	shm_holder_store(body->holder, &grant->holder);
	shm_store(&body->token, grant->token);
	shm_store(&body->acquired_wall, grant->acquired_wall);
	shm_store(&body->deadline, grant->deadline);
	shm_store(&body->chain, grant->chain);
	shm_store(&body->chain_size, grant->chain_size);
	shm_store(&body->grant_node, grant->node);
	shm_store(&body->grant_word, grant->word);
}

bool shm_record_matches(const struct shm_map *map, struct shm_record *record,
			const struct shm_name *name)
{
	uint32_t words = (name->size + 7) / 8;

	if (shm_load(&record->hash) != name->hash || shm_load(&record->lens) != name->lens)
		return false;
	if (name->size > SHM_NAME_INLINE)
		return shm_chain_equal(map, shm_load(&record->name_chain), name->size, name->word);
	for (uint32_t i = 0; i < words; i++)
		if (shm_load(&record->name[i]) != name->word[i])
			return false;
	return true;
}

uint32_t shm_record_find(const struct shm_map *map, const struct shm_name *name)
{
	uint32_t index = shm_load(&map->bucket[shm_hash_bucket(map, name->hash)]);

	while (index && !shm_record_matches(map, shm_record_at(map, index), name))
		index = shm_load(&shm_record_at(map, index)->next);
	return index;
}

void shm_record_grant(const struct shm_map *map, uint32_t index, struct shm_grant *grant)
{
	struct shm_record *record = shm_record_at(map, index);

	shm_body_read(shm_body_of(record, shm_load(&record->seq)), grant);
}

void shm_record_soonest(struct shm_actor *actor, struct shm_stripe *stripe, int64_t deadline)
{
	_Atomic int64_t *soonest = &actor->map->soonest[shm_stripe_number(actor->map, stripe)];

	if (deadline < shm_load(soonest))
		shm_store(soonest, deadline);
}

void shm_record_replace(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
			const struct shm_grant *grant, bool fresh)
{
	struct shm_map *map = actor->map;
	struct shm_record *record = shm_record_at(map, index);
	uint32_t seq = shm_load(&record->seq);

	shm_record_soonest(actor, stripe, grant->deadline);
	shm_body_write(shm_body_of(record, seq ^ SHM_SEQ_BODY), grant);
	if (fresh) {
		shm_stripe_set(map, stripe, &stripe->pending[SHM_PENDING_PAYLOAD], 0);
		shm_stripe_set(map, stripe, &stripe->freeing[0],
			       shm_load(&shm_body_of(record, seq)->chain));
	}
	shm_stripe_todo_seq(map, stripe, index, shm_seq_next(seq), false);
	shm_stripe_commit(actor, stripe);
}

static void fill(struct shm_map *map, struct shm_stripe *stripe, struct shm_record *record,
		 const struct shm_name *name)
{
	bool long_name = name->size > SHM_NAME_INLINE;

	shm_store(&record->hash, name->hash);
	shm_store(&record->lens, name->lens);
	shm_store(&record->name_chain,
		  long_name ? shm_load(&stripe->pending[SHM_PENDING_NAME]) : 0);
	for (uint32_t i = 0; !long_name && i < (name->size + 7) / 8; i++)
		shm_store(&record->name[i], name->word[i]);
	shm_store(&record->head, 0);
	shm_store(&record->tail, 0);
	shm_store(&record->count, 0);
	shm_store(&record->next, shm_load(&map->bucket[shm_hash_bucket(map, name->hash)]));
}

bool shm_record_reserve(struct shm_actor *actor, struct shm_stripe *stripe)
{
	return shm_pool_claim(actor, SHM_RECORDS, shm_stripe_mark(actor->map, stripe),
			      &stripe->claim_record) != 0;
}

/* Readers step over the record until its seq, the last store, says LIVE. */
void shm_record_insert(struct shm_actor *actor, struct shm_stripe *stripe,
		       const struct shm_name *name, const struct shm_grant *grant)
{
	struct shm_map *map = actor->map;
	uint32_t index = shm_load(&stripe->claim_record), seq;
	struct shm_record *record;

	record = shm_record_at(map, index);
	seq = shm_seq_next(shm_load(&record->seq));
	fill(map, stripe, record, name);
	shm_body_write(shm_body_of(record, seq), grant);
	shm_record_soonest(actor, stripe, grant->deadline);
	shm_stripe_set(map, stripe, &map->bucket[shm_hash_bucket(map, name->hash)], index);
	shm_stripe_set(map, stripe, &stripe->claim_record, 0);
	shm_stripe_set(map, stripe, &stripe->pending[SHM_PENDING_PAYLOAD], 0);
	shm_stripe_set(map, stripe, &stripe->pending[SHM_PENDING_NAME], 0);
	shm_stripe_todo_seq(map, stripe, index, seq, false);
	shm_stripe_commit(actor, stripe);
}

void shm_record_erase(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index)
{
	struct shm_map *map = actor->map;
	struct shm_record *record = shm_record_at(map, index);
	uint32_t seq = shm_load(&record->seq);

	shm_stripe_set(map, stripe, &stripe->freeing[0],
		       shm_load(&shm_body_of(record, seq)->chain));
	shm_stripe_set(map, stripe, &stripe->freeing[1], shm_load(&record->name_chain));
	shm_stripe_todo_seq(map, stripe, index, shm_seq_dead(seq), true);
	shm_stripe_commit(actor, stripe);
}

static int64_t deadline_of(struct shm_record *record)
{
	return shm_load(&shm_body_of(record, shm_load(&record->seq))->deadline);
}

unsigned shm_record_tidy_bucket(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t bucket,
				int64_t now)
{
	uint32_t index = shm_load(&actor->map->bucket[bucket]);
	unsigned erased = 0;

	while (index) {
		struct shm_record *record = shm_record_at(actor->map, index);
		uint32_t next = shm_load(&record->next);

		if (!shm_load(&record->head) && deadline_of(record) <= now) {
			shm_record_erase(actor, stripe, index);
			erased++;
		}
		index = next;
	}
	return erased;
}

/* A key that expired but has a queue is about to be handed on: look at it again soon. */
static int64_t bucket_soonest(const struct shm_map *map, uint32_t bucket, int64_t now)
{
	int64_t soonest = CLOCK_NEVER;

	for (uint32_t index = shm_load(&map->bucket[bucket]); index;
	     index = shm_load(&shm_record_at(map, index)->next)) {
		int64_t deadline = deadline_of(shm_record_at(map, index));

		if (deadline <= now)
			deadline = now + CLOCK_SECOND;
		if (deadline < soonest)
			soonest = deadline;
	}
	return soonest;
}

unsigned shm_record_tidy(struct shm_actor *actor, struct shm_stripe *stripe, int64_t now)
{
	const struct shm_map *map = actor->map;
	unsigned number = shm_stripe_number(map, stripe), erased = 0;
	uint32_t first = (uint32_t)(number * map->shape.buckets_each);
	int64_t soonest = CLOCK_NEVER;

	for (uint32_t bucket = first; bucket < first + map->shape.buckets_each; bucket++) {
		int64_t left;

		erased += shm_record_tidy_bucket(actor, stripe, bucket, now);
		left = bucket_soonest(map, bucket, now);
		if (left < soonest)
			soonest = left;
	}
	shm_store(&map->soonest[number], soonest);
	return erased;
}
