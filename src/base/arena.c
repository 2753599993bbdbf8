/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { BLOCK_SIZE = 16 * 1024 };

#define SIZE_MOST ((size_t)1 << 40) /* no call needs so much; a wrapped size does */

struct arena_block {
	struct arena_block *older;
	size_t size;
	_Alignas(max_align_t) unsigned char memory[];
};

void arena_init(struct arena *arena)
{
	arena->blocks = NULL;
	arena->used = 0;
}

void arena_reset(struct arena *arena)
{
	while (arena->blocks) {
		struct arena_block *block = arena->blocks;

		arena->blocks = block->older;
		free(block);
	}
	arena->used = 0;
}

static struct arena_block *add_block(struct arena *arena, size_t size)
{
	struct arena_block *block = malloc(sizeof *block + size);

	if (!block)
		return NULL;
	block->older = arena->blocks;
	block->size = size;
	arena->blocks = block;
	arena->used = 0;
	return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	const size_t align = _Alignof(max_align_t);
	size_t room = arena->blocks ? arena->blocks->size : sizeof arena->first;
	unsigned char *memory;

	if (size > SIZE_MOST)
		return NULL;
	size = (size + align - 1) & ~(align - 1);
	if (size > room - arena->used && !add_block(arena, size > BLOCK_SIZE ? size : BLOCK_SIZE))
		return NULL;
	memory = arena->blocks ? arena->blocks->memory : arena->first;
	memory += arena->used;
	arena->used += size;
	return memory;
}

struct bytes arena_copy(struct arena *arena, struct bytes bytes)
{
	uint8_t *copy = arena_alloc(arena, bytes.len ? bytes.len : 1);

	if (copy && bytes.len)
		memcpy(copy, bytes.data, bytes.len);
	return (struct bytes){copy, bytes.len};
}
