/* SPDX-License-Identifier: Apache-2.0
 *
 * First the keys alone: all that match, or, for a page, the smallest ones; then each lease is read
 * again at its record. A lease held throughout stays at its record, so nothing is missed. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "shm/answer.h"
#include "shm/probe.h"
#include "shm/scan.h"

enum { STOP_EVERY = 4096, KEYS_START = 256 };

struct found {
	uint32_t record;
	uint32_t len;
	size_t at; /* of the key, in `text` */
};

struct scan {
	const struct shm_map *map;
	struct op *op;
	size_t most; /* keys worth keeping, SIZE_MAX = all */
	bool cut;    /* more matched than were kept */
	struct found *found;
	size_t count, room;
	uint8_t *text;
	size_t used, size;
};

static struct bytes key_of(const struct scan *scan, const struct found *found)
{
	return (struct bytes){scan->text + found->at, found->len};
}

static int by_key(const void *left, const void *right, void *arg)
{
	const struct scan *scan = arg;

	return bytes_compare(key_of(scan, left), key_of(scan, right));
}

static void sort(struct scan *scan)
{
	if (scan->count > 0)
		qsort_r(scan->found, scan->count, sizeof *scan->found, by_key, scan);
}

/* Keeps the smallest `most` keys, and their bytes. False: no memory. */
static bool shrink(struct scan *scan)
{
	uint8_t *text;
	size_t used = 0;

	sort(scan);
	if (scan->count <= scan->most)
		return true;
	scan->cut = true;
	scan->count = scan->most;
	text = malloc(scan->size);
	if (!text)
		return false;
	for (size_t i = 0; i < scan->count; i++) {
		struct found *found = &scan->found[i];

		memcpy(text + used, scan->text + found->at, found->len);
		found->at = used;
		used += found->len;
	}
	free(scan->text);
	scan->text = text;
	scan->used = used;
	return true;
}

static bool grow(struct scan *scan)
{
	size_t room = scan->room ? scan->room * 2 : KEYS_START;
	struct found *found;

	/* Twice what is wanted, then the larger half goes: linear in the number of matches. */
	if (scan->most < SIZE_MAX / 2 && scan->room && scan->count >= 2 * scan->most + KEYS_START)
		return shrink(scan);
	found = realloc(scan->found, room * sizeof *found);
	if (!found)
		return false;
	scan->found = found;
	scan->room = room;
	return true;
}

static bool keep(struct scan *scan, uint32_t record, struct bytes key)
{
	if (scan->count == scan->room && !grow(scan))
		return false;
	if (scan->size - scan->used < key.len) {
		size_t size = scan->size ? scan->size * 2 : (size_t)64 * KEYS_START;
		uint8_t *text = realloc(scan->text, size);

		if (!text)
			return false;
		scan->text = text;
		scan->size = size;
	}
	if (key.len)
		memcpy(scan->text + scan->used, key.data, key.len);
	scan->found[scan->count++] =
	    (struct found){.record = record, .len = (uint32_t)key.len, .at = scan->used};
	scan->used += key.len;
	return true;
}

static bool wanted(const struct op_request *request, struct bytes name_space, struct bytes key)
{
	return bytes_equal(name_space, request->name_space) &&
	       bytes_start_with(key, request->key_prefix) &&
	       (!request->after_set || bytes_compare(key, request->after) > 0);
}

static enum err collect(struct scan *scan, const atomic_bool *stop)
{
	const struct shm_map *map = scan->map;
	uint32_t count = shm_load(&map->pool[SHM_RECORDS].head->committed);
	uint64_t words[SHM_NAME_MAX_WORDS];

	for (uint32_t index = 1; index <= count; index++) {
		struct bytes name_space, key;
		int64_t deadline;
		uint32_t lens;

		if (index % STOP_EVERY == 0 && atomic_load(stop))
			return ERR_CANCELLED;
		if (!(shm_load(&shm_record_at(map, index)->seq) & SHM_SEQ_LIVE) ||
		    !shm_probe_label(map, index, &lens, words, &deadline) ||
		    deadline <= map->clock())
			continue;
		name_space = (struct bytes){(const uint8_t *)words, lens >> 16};
		key = (struct bytes){(const uint8_t *)words + name_space.len, lens & 0xffff};
		if (wanted(&scan->op->request, name_space, key) && !keep(scan, index, key))
			return ERR_BACKEND_DOWN;
	}
	return ERR_OK;
}

/* False: it is over, or its record is another key's. */
static bool read_lease(struct scan *scan, const struct found *found, struct lease *lease,
		       enum err *err)
{
	const struct op_request *request = &scan->op->request;
	uint64_t payload[SHM_PAYLOAD_WORDS];
	struct shm_snapshot snapshot;
	struct shm_name name;
	int64_t now;

	shm_name_make(&name, request->name_space, key_of(scan, found), scan->map->header->seed);
	if (!shm_probe_record(scan->map, found->record, &name, &snapshot, payload))
		return false;
	now = scan->map->clock();
	if (snapshot.grant.deadline <= now)
		return false;
	lease->name_space = request->name_space;
	lease->key = arena_copy(scan->op->arena, key_of(scan, found));
	shm_answer_times(scan->map, &snapshot.grant, now, snapshot.waiters, lease);
	*err = shm_payload_decode(payload, snapshot.grant.chain_size, scan->op->arena, lease);
	if (!lease->key.data)
		*err = ERR_SYSTEM;
	return true;
}

/* A key that was released and taken again while we looked may have been met at two records. */
static void add(struct op_answer *answer, const struct lease *lease)
{
	struct lease *last = answer->lease_count ? &answer->leases[answer->lease_count - 1] : NULL;

	if (!last || !bytes_equal(last->key, lease->key))
		answer->leases[answer->lease_count++] = *lease;
	else if (last->fencing_token < lease->fencing_token)
		*last = *lease;
}

static enum err fill(struct scan *scan, const atomic_bool *stop)
{
	struct op_answer *answer = &scan->op->answer;
	size_t page = scan->op->request.page_size;

	answer->leases = arena_alloc(scan->op->arena, (scan->count + 1) * sizeof(struct lease));
	if (!answer->leases)
		return ERR_BACKEND_DOWN;
	for (size_t i = 0; i < scan->count; i++) {
		struct lease lease = {0};
		enum err err = ERR_OK;

		if (i % STOP_EVERY == 0 && atomic_load(stop))
			return ERR_CANCELLED;
		if (!read_lease(scan, &scan->found[i], &lease, &err))
			continue;
		if (err != ERR_OK)
			return ERR_BACKEND_DOWN;
		add(answer, &lease);
		if (page && answer->lease_count > page) {
			answer->lease_count = page;
			answer->more = true;
			return ERR_OK;
		}
	}
	answer->more = scan->cut;
	return ERR_OK;
}

enum err shm_scan(const struct shm_map *map, struct op *op, const atomic_bool *stop)
{
	/* Some more than the page, since a few may be gone when they are read again. */
	struct scan scan = {.map = map,
			    .op = op,
			    .most = op->request.page_size ? op->request.page_size + (size_t)64
							  : SIZE_MAX};
	enum err err = collect(&scan, stop);

	if (err == ERR_OK && !shrink(&scan))
		err = ERR_BACKEND_DOWN;
	if (err == ERR_OK)
		err = fill(&scan, stop);
	free(scan.found);
	free(scan.text);
	return op->answer.result = err;
}
