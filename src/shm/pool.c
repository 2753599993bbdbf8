/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/pool.h"

enum {
	EXTENT = 1024, /* elements: 256 KiB, some tens of microseconds to clear */
	ELEMENT = 256,
	WORD_BITS = 64,
};

/* Records and chunks both begin with their owner. */
static _Atomic uint32_t *owner_of(const struct shm_map *map, const struct shm_pool *pool,
				  uint32_t index)
{
	return (void *)(map->base + pool->base_at + (uint64_t)(index - 1) * ELEMENT);
}

static void set_busy(const struct shm_pool *pool, uint32_t index)
{
	uint32_t bit = index - 1;

	atomic_fetch_or(&pool->busy[bit / WORD_BITS], UINT64_C(1) << (bit % WORD_BITS));
}

/* True when it was free and is now the stripe's. Only its own stripe, whose lock we hold, could
 * give it back, so the bit cannot be set behind a later owner's back. */
static bool take(const struct shm_map *map, const struct shm_pool *pool, uint32_t mark,
		 uint32_t index, _Atomic uint32_t *claim)
{
	_Atomic uint32_t *owner = owner_of(map, pool, index);
	uint32_t none = 0;

	if (shm_load(owner) != 0)
		return false;
	shm_store(claim, index);
	if (!atomic_compare_exchange_strong(owner, &none, mark))
		return false;
	set_busy(pool, index);
	return true;
}

static uint32_t search_word(const struct shm_map *map, const struct shm_pool *pool, uint32_t mark,
			    uint32_t word, _Atomic uint32_t *claim)
{
	uint32_t committed = shm_load(&pool->head->committed);
	uint64_t open = ~atomic_load(&pool->busy[word]);

	for (; open; open &= open - 1) {
		uint32_t index = word * WORD_BITS + (uint32_t)__builtin_ctzll(open) + 1;

		if (index > committed)
			break;
		if (take(map, pool, mark, index, claim))
			return index;
	}
	return 0;
}

static uint32_t search(struct shm_actor *actor, const struct shm_pool *pool,
		       struct shm_finder *finder, uint32_t mark, _Atomic uint32_t *claim)
{
	uint32_t words = (shm_load(&pool->head->committed) + WORD_BITS - 1) / WORD_BITS;

	/* "Tight" is set before the search and taken away after an element is free and visible:
	 * whoever finds it set knows that nothing was freed since somebody searched in vain. */
	if (words == 0 || atomic_load(&pool->head->tight))
		return 0;
	if (finder->cursor >= words)
		finder->cursor = 0;
	for (uint32_t i = 0; i < words; i++) {
		uint32_t word =
		    finder->cursor + i < words ? finder->cursor + i : finder->cursor + i - words;
		uint32_t index = search_word(actor->map, pool, mark, word, claim);

		if (index) {
			finder->cursor = word;
			return index;
		}
	}
	return 0;
}

uint32_t shm_pool_claim(struct shm_actor *actor, enum shm_pool_kind kind, uint32_t mark,
			_Atomic uint32_t *claim)
{
	const struct shm_pool *pool = &actor->map->pool[kind];
	struct shm_finder *finder = &actor->finder[kind];
	uint32_t index;

	while (finder->recent_count > 0) {
		index = finder->recent[--finder->recent_count];
		if (take(actor->map, pool, mark, index, claim))
			return index;
	}
	index = search(actor, pool, finder, mark, claim);
	if (!index && !atomic_load(&pool->head->tight)) {
		atomic_store(&pool->head->tight, 1);
		for (uint32_t word = 0, n = (shm_load(&pool->head->committed) + 63) / 64;
		     word < n && !index; word++)
			index = search_word(actor->map, pool, mark, word, claim);
		if (index)
			atomic_store(&pool->head->tight, 0);
	}
	if (!index)
		shm_store(claim, 0);
	return index;
}

void shm_pool_give(struct shm_actor *actor, enum shm_pool_kind kind, uint32_t mark, uint32_t index)
{
	const struct shm_pool *pool = &actor->map->pool[kind];
	struct shm_finder *finder = &actor->finder[kind];
	uint32_t bit = index - 1, mine = mark;

	atomic_compare_exchange_strong(owner_of(actor->map, pool, index), &mine, 0);
	atomic_fetch_and(&pool->busy[bit / WORD_BITS], ~(UINT64_C(1) << (bit % WORD_BITS)));
	if (atomic_load(&pool->head->tight))
		atomic_store(&pool->head->tight, 0);
	if (finder->recent_count < SHM_RECENT)
		finder->recent[finder->recent_count++] = index;
}

enum err shm_pool_grow(struct shm_actor *actor, enum shm_pool_kind kind)
{
	const struct shm_pool *pool = &actor->map->pool[kind];
	uint32_t from = shm_load(&pool->head->committed);
	uint32_t to = pool->most - from > EXTENT ? from + EXTENT : pool->most;
	enum err err;

	if (from >= pool->most)
		return ERR_TABLE_FULL;
	err = shm_map_commit(actor->map, pool->busy_at + from / 8, (to - from) / 8 + 8);
	if (err == ERR_OK)
		err = shm_map_commit(actor->map, pool->base_at + (uint64_t)from * ELEMENT,
				     (uint64_t)(to - from) * ELEMENT);
	if (err != ERR_OK)
		return ERR_TABLE_FULL;
	/* Two may have grown at once: both have committed the same extent. */
	if (atomic_compare_exchange_strong(&pool->head->committed, &from, to))
		atomic_store(&pool->head->tight, 0);
	return ERR_OK;
}
