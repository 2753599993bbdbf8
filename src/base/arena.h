/* SPDX-License-Identifier: Apache-2.0
 *
 * base/arena.h - memory that lives exactly as long as one call and is freed as a whole.
 * Not thread-safe: one owner. Never used for shared memory. */
#ifndef LEASED_BASE_ARENA_H
#define LEASED_BASE_ARENA_H

#include <stddef.h>

#include "base/bytes.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first; NULL while everything fits `first` */
	size_t used;		    /* of the newest block, or of `first` */
	_Alignas(max_align_t) unsigned char first[1024];
};

/* An empty arena; no allocation. */
void arena_init(struct arena *arena);

/* Frees all blocks; the arena is empty again and can be used again. */
void arena_reset(struct arena *arena);

/* `size` bytes aligned for any type, not cleared. NULL when memory is exhausted. O(1). */
void *arena_alloc(struct arena *arena, size_t size);

/* A copy of `bytes` in the arena; data is NULL with len > 0 only when memory is exhausted. */
struct bytes arena_copy(struct arena *arena, struct bytes bytes);

#endif
