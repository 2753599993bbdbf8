/* SPDX-License-Identifier: Apache-2.0
 *
 * auth/cache.h - signed tokens that were verified, by their hash, so that a signature is checked
 * once. Bounded; only good tokens get in, so forged ones push nobody out. One thread. */
#ifndef LEASED_AUTH_CACHE_H
#define LEASED_AUTH_CACHE_H

#include "core/verifier.h"

struct cache;

/* A place in the cache: fill both, then cache_keep it. */
struct cache_entry {
	uint8_t hash[AUTH_HASH];
	bool used;
	struct capability capability;
	struct arena arena;
};

/* NULL when memory is exhausted. */
struct cache *cache_open(void);
void cache_close(struct cache *cache);

/* The capability kept under `hash`, expired or not, or NULL. Borrowed until cache_clear_entry. */
const struct capability *cache_find(const struct cache *cache,
				    const uint8_t hash[static AUTH_HASH]);

/* Empties a place for `hash`: a free one, else an expired one, else any. */
struct cache_entry *cache_clear_entry(struct cache *cache, const uint8_t hash[static AUTH_HASH],
				      int64_t wall_us);
void cache_keep(struct cache_entry *entry, const uint8_t hash[static AUTH_HASH]);

#endif
