/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "pg/board.h"
#include "pg/engine.h"

static void grow(struct pg_keys *keys)
{
	size_t buckets = keys->buckets ? 2 * keys->buckets : 64;
	struct pg_key **bucket = calloc(buckets, sizeof(struct pg_key *));

	CHECK(bucket);
	for (struct pg_key *key = keys->newest; key; key = key->earlier) {
		struct pg_key **place = &bucket[key->hash % buckets];

		key->next = *place;
		*place = key;
	}
	free(keys->bucket);
	keys->bucket = bucket;
	keys->buckets = buckets;
}

static struct pg_key *find(const struct pg_keys *keys, uint64_t hash, struct bytes name_space,
			   struct bytes key)
{
	struct pg_key *at = keys->buckets ? keys->bucket[hash % keys->buckets] : NULL;

	while (at && !(at->hash == hash && bytes_equal(at->key, key) &&
		       bytes_equal(at->name_space, name_space)))
		at = at->next;
	return at;
}

struct pg_key *pg_keys_find(struct pg_engine *engine, struct bytes name_space, struct bytes key)
{
	if (engine->keys.count == 0)
		return NULL;
	return find(&engine->keys, pg_board_hash(engine->shared->board, name_space, key),
		    name_space, key);
}

static struct pg_key *make(struct bytes name_space, struct bytes key)
{
	struct pg_key *made = calloc(1, sizeof *made + name_space.len + key.len);
	uint8_t *text = (uint8_t *)(made + 1);

	CHECK(made);
	memcpy(text, name_space.data, name_space.len);
	memcpy(text + name_space.len, key.data, key.len);
	made->name_space = (struct bytes){text, name_space.len};
	made->key = (struct bytes){text + name_space.len, key.len};
	return made;
}

struct pg_key *pg_keys_get(struct pg_engine *engine, struct bytes name_space, struct bytes key)
{
	struct pg_keys *keys = &engine->keys;
	uint64_t hash = pg_board_hash(engine->shared->board, name_space, key);
	struct pg_key *made = find(keys, hash, name_space, key);

	if (made)
		return made;
	if (keys->count >= keys->buckets)
		grow(keys);
	made = make(name_space, key);
	made->hash = hash;
	made->next = keys->bucket[hash % keys->buckets];
	keys->bucket[hash % keys->buckets] = made;
	made->earlier = keys->newest;
	if (keys->newest)
		keys->newest->later = made;
	keys->newest = made;
	keys->count++;
	return made;
}

void pg_keys_leave(struct pg_engine *engine, struct pg_key *key)
{
	struct pg_keys *keys = &engine->keys;
	struct pg_key **link = &keys->bucket[key->hash % keys->buckets];

	if (key->waiters || key->trying || key->looked)
		return;
	pg_timers_clear(&engine->timers, &key->timer);
	while (*link != key)
		link = &(*link)->next;
	*link = key->next;
	if (key->later)
		key->later->earlier = key->earlier;
	else
		keys->newest = key->earlier;
	if (key->earlier)
		key->earlier->later = key->later;
	keys->count--;
	free((void *)(uintptr_t)key->seen.owner.data);
	free(key);
}

void pg_keys_free(struct pg_keys *keys)
{
	while (keys->newest) {
		struct pg_key *key = keys->newest;

		keys->newest = key->earlier;
		free((void *)(uintptr_t)key->seen.owner.data);
		free(key);
	}
	free(keys->bucket);
	*keys = (struct pg_keys){NULL, 0, 0, NULL};
}
