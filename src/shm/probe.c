/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/chain.h"
#include "shm/probe.h"

enum sight { SEEN, OTHER, CHANGED };

enum { STEPS_MOST = 100000 }; /* a reader gone astray may walk in a circle: start again */

static bool unchanged(struct shm_record *record, uint32_t seq)
{
	return shm_load(&record->seq) == seq;
}

static enum sight look_at(const struct shm_map *map, uint32_t index, const struct shm_name *name,
			  struct shm_snapshot *snapshot, uint64_t *payload)
{
	struct shm_record *record = shm_record_at(map, index);
	uint32_t seq = shm_load(&record->seq), size;
	bool matches, copied;

	if (!(seq & SHM_SEQ_LIVE))
		return OTHER;
	matches = shm_record_matches(map, record, name);
	if (!matches)
		return unchanged(record, seq) ? OTHER : CHANGED;
	shm_body_read(shm_body_of(record, seq), &snapshot->grant);
	snapshot->waiters = shm_load(&record->count);
	size = snapshot->grant.chain_size;
	copied =
	    size <= SHM_PAYLOAD_MAX && shm_chain_copy(map, snapshot->grant.chain, size, payload);
	return unchanged(record, seq) && copied ? SEEN : CHANGED;
}

bool shm_probe_name(const struct shm_map *map, const struct shm_name *name,
		    struct shm_snapshot *snapshot, uint64_t *payload)
{
	const struct shm_stripe *stripe = &map->stripe[shm_hash_stripe(name->hash)];

	for (;;) {
		uint32_t version = shm_load(&stripe->version), steps = 0;
		uint32_t index = shm_load(&map->bucket[shm_hash_bucket(map, name->hash)]);
		enum sight sight = OTHER;

		while (index && sight == OTHER && ++steps < STEPS_MOST) {
			sight = look_at(map, index, name, snapshot, payload);
			index = shm_load(&shm_record_at(map, index)->next);
		}
		if (sight == SEEN)
			return true;
		if (sight == OTHER && !index && shm_load(&stripe->version) == version)
			return false;
	}
}

bool shm_probe_record(const struct shm_map *map, uint32_t index, const struct shm_name *name,
		      struct shm_snapshot *snapshot, uint64_t *payload)
{
	enum sight sight;

	do
		sight = look_at(map, index, name, snapshot, payload);
	while (sight == CHANGED);
	return sight == SEEN;
}

bool shm_probe_label(const struct shm_map *map, uint32_t index, uint32_t *lens, uint64_t *words,
		     int64_t *deadline)
{
	struct shm_record *record = shm_record_at(map, index);

	for (;;) {
		uint32_t seq = shm_load(&record->seq), size;
		bool whole = true;

		if (!(seq & SHM_SEQ_LIVE))
			return false;
		*lens = shm_load(&record->lens);
		*deadline = shm_load(&shm_body_of(record, seq)->deadline);
		size = (*lens >> 16) + (*lens & 0xffff);
		if (size > SHM_NAME_MAX)
			whole = false;
		else if (size > SHM_NAME_INLINE)
			whole = shm_chain_copy(map, shm_load(&record->name_chain), size, words);
		else
			for (uint32_t i = 0; i < (size + 7) / 8; i++)
				words[i] = shm_load(&record->name[i]);
		if (unchanged(record, seq) && whole)
			return true;
	}
}
