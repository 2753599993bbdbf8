/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/allocator.h"

static void *allocate(void *arena, size_t size)
{
	return arena_alloc(arena, size);
}

static void keep(void *arena, void *memory)
{
	(void)arena;
	(void)memory;
}

ProtobufCAllocator allocator_of(struct arena *arena)
{
	return (ProtobufCAllocator){allocate, keep, arena};
}
