/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/chain.h"
#include "shm/pool.h"

static uint32_t words_of(uint32_t size)
{
	return (size + 7) / 8;
}

/* Back to front, so that each chunk is pushed before those that follow it. */
bool shm_chain_build(struct shm_actor *actor, struct shm_stripe *stripe, unsigned which,
		     const uint64_t *words, uint32_t size)
{
	uint32_t mark = shm_stripe_mark(actor->map, stripe);
	uint32_t count = words_of(size);

	while (count > 0) {
		uint32_t last = (count - 1) % SHM_CHUNK_WORDS + 1;
		uint32_t index = shm_pool_claim(actor, SHM_CHUNKS, mark, &stripe->claim_chunk);
		struct shm_chunk *chunk;

		if (!index)
			return false;
		chunk = shm_chunk_at(actor->map, index);
		count -= last;
		for (uint32_t i = 0; i < last; i++)
			shm_store(&chunk->data[i], words[count + i]);
		shm_store(&chunk->next, shm_load(&stripe->pending[which]));
		shm_store(&stripe->pending[which], index);
		shm_store(&stripe->claim_chunk, 0);
	}
	return true;
}

/* NULL when the index lies outside: then the chain changed while it was read. */
static struct shm_chunk *look(const struct shm_map *map, uint32_t index)
{
	if (index == 0 || index > shm_load(&map->pool[SHM_CHUNKS].head->committed))
		return NULL;
	return shm_chunk_at(map, index);
}

bool shm_chain_copy(const struct shm_map *map, uint32_t head, uint32_t size, uint64_t *words)
{
	uint32_t count = words_of(size);

	for (uint32_t at = 0; at < count;) {
		struct shm_chunk *chunk = look(map, head);

		if (!chunk)
			return false;
		for (uint32_t i = 0; i < SHM_CHUNK_WORDS && at < count; i++)
			words[at++] = shm_load(&chunk->data[i]);
		head = shm_load(&chunk->next);
	}
	return true;
}

bool shm_chain_equal(const struct shm_map *map, uint32_t head, uint32_t size, const uint64_t *words)
{
	uint32_t count = words_of(size);

	for (uint32_t at = 0; at < count;) {
		struct shm_chunk *chunk = look(map, head);

		if (!chunk)
			return false;
		for (uint32_t i = 0; i < SHM_CHUNK_WORDS && at < count; i++)
			if (shm_load(&chunk->data[i]) != words[at++])
				return false;
		head = shm_load(&chunk->next);
	}
	return true;
}
