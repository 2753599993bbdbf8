/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "shm/map.h"

enum {
	PAGE = 4096,
	/* Longest payload and name together, so that the table never lacks chunks for its leases.
	 */
	CHUNKS_PER_LEASE = 40,
	CHUNKS_FOR_WAITERS = 65536,
};

static uint64_t round_up(uint64_t size, uint64_t unit)
{
	return (size + unit - 1) / unit * unit;
}

static uint64_t place(uint64_t *at, uint64_t size)
{
	uint64_t here = *at;

	*at += round_up(size, PAGE);
	return here;
}

static uint64_t bucket_count(uint64_t capacity)
{
	uint64_t each = 4;

	while (each * SHM_STRIPES < capacity)
		each *= 2;
	return each;
}

struct shm_shape shm_shape_of(uint64_t capacity, uint64_t waiters)
{
	struct shm_shape shape = {.capacity = capacity, .waiters = waiters};
	uint64_t at = round_up(sizeof(struct shm_header), PAGE);

	shape.chunks = capacity * CHUNKS_PER_LEASE + CHUNKS_FOR_WAITERS;
	shape.buckets_each = bucket_count(capacity);
	shape.stripes = place(&at, sizeof(struct shm_stripe) * SHM_STRIPES);
	shape.soonest = place(&at, sizeof(_Atomic int64_t) * SHM_STRIPES);
	shape.buckets = place(&at, sizeof(_Atomic uint32_t) * SHM_STRIPES * shape.buckets_each);
	shape.slots = place(&at, sizeof(struct shm_slot) * SHM_SLOTS);
	shape.record_busy = place(&at, round_up(capacity, 64) / 8);
	shape.chunk_busy = place(&at, round_up(shape.chunks, 64) / 8);
	shape.bottom_each = round_up(round_up(waiters, 64) / 8, PAGE);
	shape.bottoms = place(&at, shape.bottom_each * SHM_SLOTS);
	shape.nodes = place(&at, sizeof(struct shm_waiter) * waiters * SHM_SLOTS);
	shape.records = place(&at, sizeof(struct shm_record) * capacity);
	shape.chunk_base = place(&at, sizeof(struct shm_chunk) * shape.chunks);
	shape.size = at;
	return shape;
}

static struct shm_pool pool_of(struct shm_map *map, enum shm_pool_kind kind)
{
	const struct shm_shape *shape = &map->shape;
	bool records = kind == SHM_RECORDS;
	uint64_t busy_at = records ? shape->record_busy : shape->chunk_busy;

	return (struct shm_pool){
	    .head = &map->header->pool[kind],
	    .busy = (_Atomic uint64_t *)(void *)(map->base + busy_at),
	    .busy_at = busy_at,
	    .base_at = records ? shape->records : shape->chunk_base,
	    .most = (uint32_t)(records ? shape->capacity : shape->chunks),
	};
}

enum err shm_map_open(struct shm_map *map, int fd, const struct shm_shape *shape)
{
	void *base =
	    mmap(NULL, shape->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (base == MAP_FAILED)
		return ERR_SYSTEM;
	madvise(base, shape->size, MADV_DONTDUMP);
	*map = (struct shm_map){.fd = fd, .base = base, .shape = *shape, .clock = clock_boot_us};
	map->header = base;
	map->stripe = (void *)(map->base + shape->stripes);
	map->soonest = (void *)(map->base + shape->soonest);
	map->bucket = (void *)(map->base + shape->buckets);
	map->slot = (void *)(map->base + shape->slots);
	map->node = (void *)(map->base + shape->nodes);
	map->record = (void *)(map->base + shape->records);
	map->chunk = (void *)(map->base + shape->chunk_base);
	map->pool[SHM_RECORDS] = pool_of(map, SHM_RECORDS);
	map->pool[SHM_CHUNKS] = pool_of(map, SHM_CHUNKS);
	return ERR_OK;
}

void shm_map_close(struct shm_map *map)
{
	if (map->base)
		munmap(map->base, map->shape.size);
	map->base = NULL;
}

enum err shm_map_commit(const struct shm_map *map, uint64_t at, uint64_t size)
{
	uint64_t from = at / PAGE * PAGE, to = round_up(at + size, PAGE);
	int result;

	do
		result = fallocate(map->fd, 0, (off_t)from, (off_t)(to - from));
	while (result != 0 && errno == EINTR);
	if (result == 0)
		return ERR_OK;
	return errno == ENOSPC || errno == EFBIG || errno == ENOMEM ? ERR_TABLE_FULL : ERR_SYSTEM;
}

enum err shm_map_commit_start(const struct shm_map *map, unsigned slots)
{
	const struct shm_shape *shape = &map->shape;
	enum err err = shm_map_commit(map, 0, shape->slots);

	if (err == ERR_OK)
		err = shm_map_commit(map, shape->slots, slots * sizeof(struct shm_slot));
	if (err == ERR_OK)
		err = shm_map_commit(map, shape->bottoms, slots * shape->bottom_each);
	return err;
}

_Atomic uint64_t *shm_map_bottom(const struct shm_map *map, unsigned slot)
{
	return (void *)(map->base + map->shape.bottoms + slot * map->shape.bottom_each);
}
