/* SPDX-License-Identifier: Apache-2.0
 *
 * Lease by lease from a table of one size into one of another. The old one is adopted already, so
 * it has no waiters; the new one has no name yet, so a death in between costs nothing. */
#include "base/clock.h"
#include "shm/chain.h"
#include "shm/fence.h"
#include "shm/pool.h"
#include "shm/probe.h"
#include "shm/segment.h"

struct lease_copy {
	struct shm_name name;
	struct shm_snapshot snapshot;
	uint64_t payload[SHM_PAYLOAD_WORDS];
};

/* False: the record has no live lease. */
static bool read_lease(struct shm_map *from, struct shm_map *to, uint32_t index,
		       struct lease_copy *copy)
{
	uint64_t words[SHM_NAME_MAX_WORDS];
	const uint8_t *bytes = (const uint8_t *)words;
	struct bytes name_space, key;
	struct shm_name old;
	int64_t deadline;
	uint32_t lens;

	if (!shm_probe_label(from, index, &lens, words, &deadline) || deadline <= from->clock())
		return false;
	name_space = (struct bytes){bytes, lens >> 16};
	key = (struct bytes){bytes + name_space.len, lens & 0xffff};
	shm_name_make(&old, name_space, key, from->header->seed);
	shm_name_make(&copy->name, name_space, key, to->header->seed);
	return shm_probe_record(from, index, &old, &copy->snapshot, copy->payload);
}

static enum err insert(struct shm_actor *actor, struct lease_copy *copy)
{
	struct shm_grant grant = copy->snapshot.grant;
	const struct shm_name *name = &copy->name;
	struct shm_stripe *stripe;
	bool room;

	if (shm_stripe_lock(actor, shm_hash_stripe(name->hash), &stripe) != ERR_OK)
		return ERR_BACKEND_DOWN;
	room =
	    shm_record_reserve(actor, stripe) &&
	    shm_chain_build(actor, stripe, SHM_PENDING_PAYLOAD, copy->payload, grant.chain_size) &&
	    (name->size <= SHM_NAME_INLINE ||
	     shm_chain_build(actor, stripe, SHM_PENDING_NAME, name->word, name->size));
	if (room) {
		grant.chain = shm_load(&stripe->pending[SHM_PENDING_PAYLOAD]);
		grant.node = grant.word = 0;
		shm_record_insert(actor, stripe, name, &grant);
	} else {
		shm_stripe_abandon(actor, stripe);
	}
	shm_stripe_unlock(stripe);
	return room ? ERR_OK : ERR_TABLE_FULL;
}

static enum err copy_in(struct shm_actor *actor, struct lease_copy *copy)
{
	enum err err;

	while ((err = insert(actor, copy)) == ERR_TABLE_FULL) {
		bool records = shm_pool_grow(actor, SHM_RECORDS) == ERR_OK;
		bool chunks = shm_pool_grow(actor, SHM_CHUNKS) == ERR_OK;

		if (!records && !chunks)
			return ERR_TABLE_FULL;
	}
	return err;
}

enum err shm_segment_migrate(struct shm_map *from, struct shm_map *to)
{
	static struct shm_actor actor; /* too large for a stack; the master has one thread */
	static struct lease_copy copy;
	uint32_t count = shm_load(&from->pool[SHM_RECORDS].head->committed);
	enum err err = ERR_OK;

	shm_actor_init(&actor, to, SHM_SLOTS, 0);
	shm_store(&to->header->fence_next, shm_load(&from->header->fence_next));
	shm_store(&to->header->fence_limit, shm_load(&from->header->fence_limit));
	shm_store(&to->header->grace_until, shm_load(&from->header->grace_until));
	for (uint32_t index = 1; index <= count && err == ERR_OK; index++)
		if (read_lease(from, to, index, &copy))
			err = copy_in(&actor, &copy);
	return err;
}
