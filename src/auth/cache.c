/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "auth/cache.h"

enum { SETS = 512, WAYS = 4 };

struct cache {
	unsigned turn; /* whose place is taken next in a full set */
	struct cache_entry entry[SETS][WAYS];
};

struct cache *cache_open(void)
{
	return calloc(1, sizeof(struct cache)); /* pages that are not used cost nothing */
}

void cache_close(struct cache *cache)
{
	for (size_t i = 0; cache && i < SETS; i++)
		for (size_t j = 0; j < WAYS; j++)
			if (cache->entry[i][j].arena.blocks)
				arena_reset(&cache->entry[i][j].arena);
	free(cache);
}

static size_t set_of(const uint8_t *hash)
{
	return ((size_t)hash[0] << 8 | hash[1]) % SETS;
}

const struct capability *cache_find(const struct cache *cache, const uint8_t hash[static AUTH_HASH])
{
	const struct cache_entry *set = cache->entry[set_of(hash)];

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].used && sodium_memcmp(set[i].hash, hash, AUTH_HASH) == 0)
			return &set[i].capability;
	return NULL;
}

static struct cache_entry *choose(struct cache *cache, struct cache_entry *set, int64_t wall_us)
{
	for (size_t i = 0; i < WAYS; i++)
		if (!set[i].used)
			return &set[i];
	for (size_t i = 0; i < WAYS; i++)
		if (wall_us >= set[i].capability.expires_us)
			return &set[i];
	return &set[cache->turn++ % WAYS];
}

struct cache_entry *cache_clear_entry(struct cache *cache, const uint8_t hash[static AUTH_HASH],
				      int64_t wall_us)
{
	struct cache_entry *entry = choose(cache, cache->entry[set_of(hash)], wall_us);

	if (entry->arena.blocks)
		arena_reset(&entry->arena);
	arena_init(&entry->arena);
	entry->used = false;
	return entry;
}

void cache_keep(struct cache_entry *entry, const uint8_t hash[static AUTH_HASH])
{
	memcpy(entry->hash, hash, AUTH_HASH);
	entry->used = true;
}
