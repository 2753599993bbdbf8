/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>

#include "base/check.h"
#include "shm/mutex.h"
#include "shm/pool.h"
#include "shm/slot.h"
#include "shm/stripe.h"

#define LOCK_US INT64_C(1000000) /* not to be had for so long: its owner is stopped, not slow */

enum err shm_stripe_lock(struct shm_actor *actor, unsigned number, struct shm_stripe **stripe)
{
	struct shm_stripe *one = &actor->map->stripe[number];
	int result = shm_mutex_lock(&one->mutex, LOCK_US);

	if (result == EOWNERDEAD) {
		if (!shm_stripe_repair(actor, one)) {
			/* Unmarked: from now on nobody gets it, until a start makes a new table. */
			shm_store(&actor->map->header->damaged, 1);
			pthread_mutex_unlock(&one->mutex);
			return ERR_BACKEND_DOWN;
		}
		CHECK(pthread_mutex_consistent(&one->mutex) == 0);
		result = 0;
	}
	if (result != 0)
		return ERR_BACKEND_DOWN;
	*stripe = one;
	return ERR_OK;
}

void shm_stripe_unlock(struct shm_stripe *stripe)
{
	CHECK(pthread_mutex_unlock(&stripe->mutex) == 0);
}

void shm_stripe_set(const struct shm_map *map, struct shm_stripe *stripe, _Atomic uint32_t *word,
		    uint32_t value)
{
	uint32_t count = shm_load(&stripe->undo_count);
	struct shm_undo *undo = &stripe->undo[count];

	CHECK(count < SHM_UNDO);
	shm_store(&undo->where, (uint64_t)((uint8_t *)word - map->base));
	shm_store(&undo->old, shm_load(word));
#ifndef SHM_BREAK_UNDO /* the test of the tests: without the log the kill tests must fail */
	shm_store(&stripe->undo_count, count + 1);
#endif
	shm_store(word, value);
}

void shm_stripe_todo_seq(const struct shm_map *map, struct shm_stripe *stripe, uint32_t record,
			 uint32_t seq, bool erase)
{
	shm_store(&stripe->todo_record, record);
	shm_store(&stripe->todo_seq, seq);
	shm_stripe_set(map, stripe, &stripe->armed, SHM_TODO_SEQ | (erase ? SHM_TODO_ERASE : 0));
}

void shm_stripe_todo_grant(const struct shm_map *map, struct shm_stripe *stripe, uint32_t node,
			   uint32_t word)
{
	shm_store(&stripe->todo_node, node);
	shm_store(&stripe->todo_word, word);
	shm_stripe_set(map, stripe, &stripe->armed, shm_load(&stripe->armed) | SHM_TODO_GRANT);
}

/* The node may have been granted, taken and queued anew since: then its word is another one. */
static void grant(struct shm_actor *actor, struct shm_stripe *stripe)
{
	uint32_t node = shm_load(&stripe->todo_node), word = shm_load(&stripe->todo_word);
	uint32_t granted = (word & ~(uint32_t)SHM_STATE_MASK) | SHM_GRANTED;

	atomic_compare_exchange_strong(&shm_node_at(actor->map, node)->state, &word, granted);
	shm_slot_post(actor, node);
}

/* The version moves before the record is free: a reader that went astray on it will notice. */
static void erase(struct shm_actor *actor, struct shm_stripe *stripe)
{
	const struct shm_map *map = actor->map;
	uint32_t index = shm_load(&stripe->todo_record);
	struct shm_record *record = shm_record_at(map, index);

	if (shm_load(&record->owner) == shm_stripe_mark(map, stripe)) {
		_Atomic uint32_t *link =
		    &map->bucket[shm_hash_bucket(map, shm_load(&record->hash))];
		uint32_t at;

		while ((at = shm_load(link)) != 0 && at != index)
			link = &shm_record_at(map, at)->next;
		if (at)
			shm_store(link, shm_load(&record->next));
		shm_store(&stripe->version, shm_load(&stripe->version) + 1);
	}
	shm_pool_give(actor, SHM_RECORDS, shm_stripe_mark(map, stripe), index);
}

void shm_stripe_finish(struct shm_actor *actor, struct shm_stripe *stripe)
{
	uint32_t armed = shm_load(&stripe->armed);
	uint32_t index = shm_load(&stripe->todo_record);

	/* With ERASE the record may be free again, and another stripe's, when this runs again. */
	if ((armed & SHM_TODO_SEQ) && shm_load(&shm_record_at(actor->map, index)->owner) ==
					  shm_stripe_mark(actor->map, stripe))
		shm_store(&shm_record_at(actor->map, index)->seq, shm_load(&stripe->todo_seq));
	if (armed & SHM_TODO_GRANT)
		grant(actor, stripe);
	if (armed & SHM_TODO_ERASE)
		erase(actor, stripe);
	shm_store(&stripe->armed, 0);
}

void shm_stripe_drain(struct shm_actor *actor, struct shm_stripe *stripe, _Atomic uint32_t *list)
{
	uint32_t mark = shm_stripe_mark(actor->map, stripe);
	uint32_t index;

	while ((index = shm_load(list)) != 0) {
		uint32_t next = shm_load(&shm_chunk_at(actor->map, index)->next);

		shm_store(&stripe->claim_free, index);
		shm_store(list, next);
		shm_pool_give(actor, SHM_CHUNKS, mark, index);
		shm_store(&stripe->claim_free, 0);
	}
}

void shm_stripe_commit(struct shm_actor *actor, struct shm_stripe *stripe)
{
	shm_store(&stripe->undo_count, 0);
	if (shm_load(&stripe->armed))
		shm_stripe_finish(actor, stripe);
	shm_stripe_drain(actor, stripe, &stripe->freeing[0]);
	shm_stripe_drain(actor, stripe, &stripe->freeing[1]);
}

void shm_stripe_abandon(struct shm_actor *actor, struct shm_stripe *stripe)
{
	uint32_t record = shm_load(&stripe->claim_record);

	CHECK(shm_load(&stripe->undo_count) == 0 && shm_load(&stripe->armed) == 0);
	shm_stripe_drain(actor, stripe, &stripe->pending[0]);
	shm_stripe_drain(actor, stripe, &stripe->pending[1]);
	if (record) {
		shm_pool_give(actor, SHM_RECORDS, shm_stripe_mark(actor->map, stripe), record);
		shm_store(&stripe->claim_record, 0);
	}
}
