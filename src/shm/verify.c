/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "shm/payload.h"
#include "shm/queue.h"
#include "shm/slot.h"
#include "shm/verify.h"

struct walk {
	const struct shm_map *map;
	uint8_t *record, *chunk, *node; /* seen, by index */
	uint32_t records, chunks, nodes;
	uint32_t linked;
};

static const char *check_chain(struct walk *walk, uint32_t mark, uint32_t head, uint32_t size)
{
	uint32_t want = ((size + 7) / 8 + SHM_CHUNK_WORDS - 1) / SHM_CHUNK_WORDS;

	for (; head; head = shm_load(&shm_chunk_at(walk->map, head)->next)) {
		if (head > walk->chunks)
			return "chunk index beyond the pool";
		if (walk->chunk[head]++)
			return "chunk linked twice";
		if (shm_load(&shm_chunk_at(walk->map, head)->owner) != mark)
			return "chunk of another stripe";
		if (want-- == 0)
			return "chain longer than its size";
	}
	return want ? "chain shorter than its size" : NULL;
}

static const char *check_node(struct walk *walk, uint32_t node, uint32_t record, uint32_t prev)
{
	struct shm_waiter *waiter;

	if (node > walk->nodes)
		return "waiter index beyond the array";
	waiter = shm_node_at(walk->map, node);
	if (walk->node[node]++)
		return "waiter linked twice";
	if (shm_load(&waiter->prev) != prev)
		return "waiter's prev";
	if (shm_load(&waiter->record) != record)
		return "waiter of another record";
	if (shm_word_state(shm_load(&waiter->state)) != SHM_QUEUED)
		return "linked waiter is not queued";
	return NULL;
}

static const char *check_queue(struct walk *walk, uint32_t index, uint32_t mark)
{
	struct shm_record *record = shm_record_at(walk->map, index);
	uint32_t node = shm_load(&record->head), prev = 0, count = 0;
	const char *wrong = NULL;

	for (; node && !wrong; node = shm_load(&shm_node_at(walk->map, node)->next)) {
		struct shm_waiter *waiter = shm_node_at(walk->map, node);

		wrong = check_node(walk, node, index, prev);
		if (!wrong)
			wrong = check_chain(walk, mark, shm_load(&waiter->chain),
					    shm_load(&waiter->chain_size));
		prev = node;
		count++;
	}
	if (wrong)
		return wrong;
	if (shm_load(&record->tail) != prev)
		return "queue's tail";
	return shm_load(&record->count) == count ? NULL : "queue's count";
}

static const char *check_body(struct walk *walk, uint32_t index, unsigned stripe)
{
	struct shm_record *record = shm_record_at(walk->map, index);
	uint32_t lens = shm_load(&record->lens), size = (lens >> 16) + (lens & 0xffff);
	const char *wrong;
	struct shm_grant grant;

	shm_record_grant(walk->map, index, &grant);
	if (grant.token == 0 || grant.token >= shm_load(&walk->map->header->fence_next))
		return "token that was never given out";
	if (grant.deadline < shm_load(&walk->map->soonest[stripe]) && !shm_load(&record->head))
		return "lease ends before its stripe's soonest";
	if (size > SHM_NAME_MAX || grant.chain_size > SHM_PAYLOAD_MAX)
		return "length";
	wrong = check_chain(walk, stripe + 1, grant.chain, grant.chain_size);
	if (!wrong)
		wrong = check_chain(walk, stripe + 1, shm_load(&record->name_chain),
				    size > SHM_NAME_INLINE ? size : 0);
	return wrong;
}

static const char *check_record(struct walk *walk, uint32_t index, uint32_t bucket)
{
	struct shm_record *record;
	unsigned stripe = (unsigned)(bucket / walk->map->shape.buckets_each);
	const char *wrong;

	if (index > walk->records)
		return "record index beyond the pool";
	record = shm_record_at(walk->map, index);
	if (walk->record[index]++)
		return "record linked twice";
	walk->linked++;
	if (shm_load(&record->owner) != stripe + 1)
		return "record of another stripe";
	if (shm_hash_bucket(walk->map, shm_load(&record->hash)) != bucket)
		return "record in another bucket";
	if (!(shm_load(&record->seq) & SHM_SEQ_LIVE))
		return "dead record linked";
	wrong = check_body(walk, index, stripe);
	return wrong ? wrong : check_queue(walk, index, stripe + 1);
}

static const char *check_stripe(const struct shm_stripe *stripe)
{
	if (shm_load(&stripe->undo_count) || shm_load(&stripe->armed))
		return "change left half made";
	if (shm_load(&stripe->claim_record) || shm_load(&stripe->claim_chunk) ||
	    shm_load(&stripe->claim_free))
		return "claim left behind";
	if (shm_load(&stripe->pending[0]) || shm_load(&stripe->pending[1]) ||
	    shm_load(&stripe->freeing[0]) || shm_load(&stripe->freeing[1]))
		return "chain left behind";
	return NULL;
}

static bool marked_busy(const struct shm_map *map, enum shm_pool_kind kind, uint32_t index)
{
	return atomic_load(&map->pool[kind].busy[(index - 1) / 64]) >> ((index - 1) % 64) & 1;
}

static const char *check_pools(const struct walk *walk)
{
	const struct shm_map *map = walk->map;

	for (uint32_t i = 1; i <= walk->records; i++) {
		if ((shm_load(&shm_record_at(map, i)->owner) != 0) != walk->record[i])
			return walk->record[i] ? "free record linked" : "record leaked";
		if (!walk->record[i] && marked_busy(map, SHM_RECORDS, i))
			return "free record cannot be found";
		if (!walk->record[i] && (shm_load(&shm_record_at(map, i)->seq) & SHM_SEQ_LIVE))
			return "free record looks live";
	}
	for (uint32_t i = 1; i <= walk->chunks; i++) {
		if ((shm_load(&shm_chunk_at(map, i)->owner) != 0) != walk->chunk[i])
			return walk->chunk[i] ? "free chunk linked" : "chunk leaked";
		if (!walk->chunk[i] && marked_busy(map, SHM_CHUNKS, i))
			return "free chunk cannot be found";
	}
	return NULL;
}

static const char *check_slots(const struct walk *walk)
{
	const struct shm_map *map = walk->map;

	for (unsigned slot = 0; slot < shm_load(&map->header->slots); slot++) {
		uint32_t first = (uint32_t)(slot * map->shape.waiters) + 1;

		for (uint32_t n = first; n < first + shm_load(&map->slot[slot].node_high); n++)
			if (shm_word_state(shm_load(&shm_node_at(map, n)->state)) == SHM_QUEUED &&
			    !walk->node[n])
				return "queued waiter in no queue";
	}
	return NULL;
}

static const char *check_all(struct walk *walk)
{
	const struct shm_map *map = walk->map;
	const char *wrong = NULL;

	for (unsigned i = 0; i < SHM_STRIPES && !wrong; i++)
		wrong = check_stripe(&map->stripe[i]);
	for (uint32_t bucket = 0; bucket < SHM_STRIPES * map->shape.buckets_each && !wrong;
	     bucket++)
		for (uint32_t i = shm_load(&map->bucket[bucket]); i && !wrong;
		     i = shm_load(&shm_record_at(map, i)->next))
			wrong = check_record(walk, i, bucket);
	if (!wrong)
		wrong = check_pools(walk);
	return wrong ? wrong : check_slots(walk);
}

const char *shm_verify(const struct shm_map *map, uint32_t *records)
{
	struct walk walk = {.map = map,
			    .records = shm_load(&map->pool[SHM_RECORDS].head->committed),
			    .chunks = shm_load(&map->pool[SHM_CHUNKS].head->committed),
			    .nodes =
				(uint32_t)(map->shape.waiters * shm_load(&map->header->slots))};
	const char *wrong = "no memory";

	if (walk.records > map->pool[SHM_RECORDS].most || walk.chunks > map->pool[SHM_CHUNKS].most)
		return "pool larger than it can be";
	walk.record = calloc(walk.records + 1u, 1);
	walk.chunk = calloc(walk.chunks + 1u, 1);
	walk.node = calloc(walk.nodes + 1u, 1);
	if (walk.record && walk.chunk && walk.node)
		wrong = check_all(&walk);
	if (records)
		*records = walk.linked;
	free(walk.record);
	free(walk.chunk);
	free(walk.node);
	return wrong;
}
