/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "shm/watch.h"

static struct shm_watch **bucket_of(const struct shm_watches *watches, uint32_t record)
{
	uint32_t mixed = record * UINT32_C(0x9e3779b1);

	return &watches->table[(mixed ^ mixed >> 16) & (watches->table_size - 1)];
}

static bool grow_table(struct shm_watches *watches)
{
	size_t size = watches->table_size ? watches->table_size * 2 : 64;
	struct shm_watch **table = calloc(size, sizeof *table);

	if (!table)
		return false;
	free(watches->table);
	watches->table = table;
	watches->table_size = size;
	for (size_t i = 0; i < watches->count; i++) {
		struct shm_watch **bucket = bucket_of(watches, watches->all[i]->record);

		watches->all[i]->next = *bucket;
		*bucket = watches->all[i];
	}
	return true;
}

static bool grow_all(struct shm_watches *watches)
{
	size_t room = watches->room ? watches->room * 2 : 64;
	struct shm_watch **all = realloc(watches->all, room * sizeof *all);

	if (!all)
		return false;
	watches->all = all;
	watches->room = room;
	return true;
}

bool shm_watches_reserve(struct shm_watches *watches)
{
	if (!watches->spare)
		watches->spare = calloc(1, sizeof *watches->spare);
	return watches->spare && (watches->count < watches->table_size || grow_table(watches)) &&
	       (watches->count < watches->room || grow_all(watches));
}

struct shm_watch *shm_watches_join(struct shm_watches *watches, uint32_t record, uint64_t hash)
{
	struct shm_watch **bucket = bucket_of(watches, record), *watch;

	for (watch = *bucket; watch; watch = watch->next)
		if (watch->record == record)
			break;
	if (!watch) {
		watch = watches->spare;
		watches->spare = NULL;
		*watch = (struct shm_watch){.record = record, .next = *bucket};
		watch->timer.kind = SHM_TIMER_WATCH;
		watch->place = watches->count;
		watches->all[watches->count++] = watch;
		*bucket = watch;
	}
	watch->hash = hash; /* the record may be another key's by now */
	watch->waiters++;
	return watch;
}

void shm_watches_leave(struct shm_watches *watches, struct shm_watch *watch)
{
	struct shm_watch **link = bucket_of(watches, watch->record);

	if (--watch->waiters > 0)
		return;
	while (*link != watch)
		link = &(*link)->next;
	*link = watch->next;
	watches->all[watch->place] = watches->all[--watches->count];
	watches->all[watch->place]->place = watch->place;
	if (watches->spare)
		free(watch);
	else
		watches->spare = watch;
}

void shm_watches_free(struct shm_watches *watches)
{
	for (size_t i = 0; i < watches->count; i++)
		free(watches->all[i]);
	free(watches->all);
	free(watches->table);
	free(watches->spare);
	*watches = (struct shm_watches){0};
}
