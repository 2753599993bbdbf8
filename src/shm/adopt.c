/* SPDX-License-Identifier: Apache-2.0
 *
 * A table that the run before left, in this boot. Nobody else is there: the lock object says so. */
#include <string.h>

#include "shm/bell.h"
#include "shm/mutex.h"
#include "shm/queue.h"
#include "shm/segment.h"
#include "shm/stripe.h"
#include "shm/sweep.h"
#include "shm/verify.h"

/* Locking repairs. */
static const char *repair_all(struct shm_actor *actor)
{
	for (unsigned i = 0; i < SHM_STRIPES; i++) {
		struct shm_stripe *stripe;

		if (shm_stripe_lock(actor, i, &stripe) != ERR_OK)
			return "a stripe is beyond repair";
		shm_stripe_unlock(stripe);
	}
	return NULL;
}

/* All workers of the old run are dead: none of their waiters may be given anything. */
static void bury_all(struct shm_map *map)
{
	for (unsigned i = 0; i < shm_load(&map->header->slots); i++) {
		struct shm_slot *slot = &map->slot[i];

		shm_store(&slot->generation, shm_load(&slot->generation) + 1);
		shm_store(&slot->attached, 0);
		shm_store(&slot->heartbeat, 0);
	}
}

static const char *sweep_all(struct shm_actor *actor)
{
	for (unsigned i = 0; i < shm_load(&actor->map->header->slots); i++)
		if (shm_sweep_slot(actor, i) != ERR_OK)
			return "a slot cannot be swept";
	return NULL;
}

static void clear_mail(struct shm_map *map, unsigned slot)
{
	memset((void *)map->slot[slot].top, 0, sizeof map->slot[slot].top);
	memset((void *)map->slot[slot].middle, 0, sizeof map->slot[slot].middle);
	memset((void *)shm_map_bottom(map, slot), 0, map->shape.bottom_each);
}

const char *shm_segment_adopt(struct shm_map *map, unsigned workers)
{
	static struct shm_actor actor; /* too large for a stack; the master has one thread */
	unsigned slots = shm_load(&map->header->slots);
	const char *wrong;

	if (slots > SHM_SLOTS)
		return "number of slots";
	shm_actor_init(&actor, map, SHM_SLOTS, 0);
	bury_all(map);
	wrong = repair_all(&actor);
	if (!wrong)
		wrong = shm_verify(map, NULL);
	if (!wrong)
		wrong = sweep_all(&actor);
	if (wrong)
		return wrong;
	if (slots < workers)
		shm_store(&map->header->slots, workers);
	for (unsigned i = 0; i < shm_load(&map->header->slots); i++) {
		clear_mail(map, i);
		shm_bell_init(&map->slot[i].bell);
	}
	shm_mutex_init(&map->header->fence_mutex);
	shm_store(&map->header->damaged, 0);
	return NULL;
}
