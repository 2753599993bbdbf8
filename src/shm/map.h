/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/map.h - the mapped segment of one process: where things lie, and memory for them.
 * A fork inherits the mapping; threads share it. Nothing here changes after shm_map_open. */
#ifndef LEASED_SHM_MAP_H
#define LEASED_SHM_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "shm/layout.h"

/* Byte offsets of the parts, from capacity and waiters alone. */
struct shm_shape {
	uint64_t capacity, waiters, chunks;
	uint64_t buckets_each; /* per stripe, a power of two */
	uint64_t stripes, soonest, buckets, slots, record_busy, chunk_busy;
	uint64_t bottoms, bottom_each, nodes, records, chunk_base;
	uint64_t size;
};

enum shm_pool_kind { SHM_RECORDS, SHM_CHUNKS };

/* A pool of 256-byte elements whose first word is the owner. */
struct shm_pool {
	struct shm_pool_head *head;
	_Atomic uint64_t
	    *busy; /* bit set = not free. May be clear for a busy one, never set for a free one */
	uint64_t busy_at, base_at; /* offsets */
	uint32_t most;
};

struct shm_map {
	int fd;
	uint8_t *base;
	struct shm_shape shape;
	struct shm_header *header;
	struct shm_stripe *stripe;
	_Atomic int64_t *soonest; /* per stripe: no lease in it ends before; [mtx/free] */
	_Atomic uint32_t *bucket;
	struct shm_record *record; /* [0] is not there: use shm_record_at */
	struct shm_chunk *chunk;
	struct shm_waiter *node;
	struct shm_slot *slot;
	struct shm_pool pool[2];
	int64_t (*clock)(void); /* clock_boot_us; tests put their own */
};

struct shm_shape shm_shape_of(uint64_t capacity, uint64_t waiters);

/* Maps `fd` (not owned) with `shape`; the file must be shape->size long. ERR_SYSTEM with errno. */
enum err shm_map_open(struct shm_map *map, int fd, const struct shm_shape *shape);
void shm_map_close(struct shm_map *map);

/* Gives memory to [at, at + size), so that no access can end in SIGBUS. A system call; blocks for
 * its page clearing. ERR_TABLE_FULL when there is none (or ERR_SYSTEM). Idempotent. */
enum err shm_map_commit(const struct shm_map *map, uint64_t at, uint64_t size);

/* Commits all that is needed with an empty table and `slots` workers. */
enum err shm_map_commit_start(const struct shm_map *map, unsigned slots);

/* Lowest level of a slot's mailbox. */
_Atomic uint64_t *shm_map_bottom(const struct shm_map *map, unsigned slot);

static inline struct shm_record *shm_record_at(const struct shm_map *map, uint32_t index)
{
	return &map->record[index - 1];
}

static inline struct shm_chunk *shm_chunk_at(const struct shm_map *map, uint32_t index)
{
	return &map->chunk[index - 1];
}

static inline struct shm_waiter *shm_node_at(const struct shm_map *map, uint32_t index)
{
	return &map->node[index - 1];
}

static inline unsigned shm_node_slot(const struct shm_map *map, uint32_t index)
{
	return (unsigned)((index - 1) / map->shape.waiters);
}

static inline unsigned shm_hash_stripe(uint64_t hash)
{
	return (unsigned)(hash >> 54);
}
static_assert(SHM_STRIPES == 1 << 10, "shm_hash_stripe");

static inline uint32_t shm_hash_bucket(const struct shm_map *map, uint64_t hash)
{
	return (uint32_t)(shm_hash_stripe(hash) * map->shape.buckets_each +
			  (hash & (map->shape.buckets_each - 1)));
}

#endif
