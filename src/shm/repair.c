/* SPDX-License-Identifier: Apache-2.0
 *
 * After a death: every step looks at what is there and may be done twice. The words of a stripe are
 * believed only after they were seen to lie inside the segment. */
#include "shm/pool.h"
#include "shm/stripe.h"

static bool index_sane(const struct shm_map *map, enum shm_pool_kind kind, uint32_t index)
{
	return index <= shm_load(&map->pool[kind].head->committed);
}

static bool undo_sane(const struct shm_map *map, const struct shm_undo *undo)
{
	uint64_t where = shm_load(&undo->where);

	return where % 4 == 0 && where >= map->shape.stripes && where < map->shape.size;
}

static bool chain_sane(const struct shm_map *map, uint32_t mark, uint32_t index)
{
	enum { LONGEST = 64 };

	for (unsigned i = 0; index && i <= LONGEST; i++) {
		if (i == LONGEST || !index_sane(map, SHM_CHUNKS, index) ||
		    shm_load(&shm_chunk_at(map, index)->owner) != mark)
			return false;
		index = shm_load(&shm_chunk_at(map, index)->next);
	}
	return true;
}

static bool words_sane(const struct shm_map *map, struct shm_stripe *stripe)
{
	uint32_t count = shm_load(&stripe->undo_count);

	if (count > SHM_UNDO)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!undo_sane(map, &stripe->undo[i]))
			return false;
	if (shm_load(&stripe->armed) &&
	    (!index_sane(map, SHM_RECORDS, shm_load(&stripe->todo_record)) ||
	     shm_load(&stripe->todo_record) == 0))
		return false;
	if ((shm_load(&stripe->armed) & SHM_TODO_GRANT) &&
	    (shm_load(&stripe->todo_node) == 0 ||
	     shm_load(&stripe->todo_node) > map->shape.waiters * SHM_SLOTS))
		return false;
	return index_sane(map, SHM_RECORDS, shm_load(&stripe->claim_record)) &&
	       index_sane(map, SHM_CHUNKS, shm_load(&stripe->claim_chunk)) &&
	       index_sane(map, SHM_CHUNKS, shm_load(&stripe->claim_free));
}

/* A chunk was on its way out of a list. Until it left the list it is still ours, so its `next` is
 * good; afterwards it may be anybody's. */
static void finish_free(struct shm_actor *actor, struct shm_stripe *stripe)
{
	_Atomic uint32_t *list[] = {&stripe->freeing[0], &stripe->freeing[1], &stripe->pending[0],
				    &stripe->pending[1]};
	uint32_t index = shm_load(&stripe->claim_free);

	if (!index)
		return;
	for (unsigned i = 0; i < 4; i++)
		if (shm_load(list[i]) == index)
			shm_store(list[i], shm_load(&shm_chunk_at(actor->map, index)->next));
	shm_pool_give(actor, SHM_CHUNKS, shm_stripe_mark(actor->map, stripe), index);
	shm_store(&stripe->claim_free, 0);
}

static void roll_back(const struct shm_map *map, struct shm_stripe *stripe)
{
	uint32_t count = shm_load(&stripe->undo_count);

	while (count > 0) {
		const struct shm_undo *undo = &stripe->undo[--count];
		_Atomic uint32_t *word =
		    (_Atomic uint32_t *)(void *)(map->base + shm_load(&undo->where));

		shm_store(word, shm_load(&undo->old));
		shm_store(&stripe->undo_count, count);
	}
}

/* The claim is written when the chunk was seen free, so "owned by us" means "by this claim". */
static void finish_claims(struct shm_actor *actor, struct shm_stripe *stripe)
{
	uint32_t mark = shm_stripe_mark(actor->map, stripe);
	uint32_t chunk = shm_load(&stripe->claim_chunk), record = shm_load(&stripe->claim_record);

	if (chunk && chunk != shm_load(&stripe->pending[0]) &&
	    chunk != shm_load(&stripe->pending[1]))
		shm_pool_give(actor, SHM_CHUNKS, mark, chunk);
	shm_store(&stripe->claim_chunk, 0);
	if (record)
		shm_pool_give(actor, SHM_RECORDS, mark, record);
	shm_store(&stripe->claim_record, 0);
}

bool shm_stripe_repair(struct shm_actor *actor, struct shm_stripe *stripe)
{
	const struct shm_map *map = actor->map;
	uint32_t mark = shm_stripe_mark(map, stripe);

	if (!words_sane(map, stripe))
		return false;
	finish_free(actor, stripe);
	roll_back(map, stripe);
	/* A link may have been taken back: readers that followed it must look again. */
	shm_store(&stripe->version, shm_load(&stripe->version) + 1);
	if (shm_load(&stripe->armed))
		shm_stripe_finish(actor, stripe);
	finish_claims(actor, stripe);
	for (unsigned i = 0; i < 2; i++) {
		if (!chain_sane(map, mark, shm_load(&stripe->pending[i])) ||
		    !chain_sane(map, mark, shm_load(&stripe->freeing[i])))
			return false;
		shm_stripe_drain(actor, stripe, &stripe->pending[i]);
		shm_stripe_drain(actor, stripe, &stripe->freeing[i]);
	}
	return true;
}
