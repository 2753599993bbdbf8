/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/queue.h"
#include "shm/sweep.h"
#include "shm/table.h"

static void idle(struct shm_waiter *waiter)
{
	shm_store(&waiter->state, shm_word_with(shm_load(&waiter->state), SHM_IDLE));
}

/* A record that is free has no grant of this waiter any more, and no queue. */
static enum err withdraw(struct shm_actor *actor, uint32_t node, struct shm_waiter *waiter)
{
	const struct shm_map *map = actor->map;
	uint32_t index = shm_load(&waiter->record), owner = 0;

	if (index && index <= shm_load(&map->pool[SHM_RECORDS].head->committed))
		owner = shm_load(&shm_record_at(map, index)->owner);
	if (owner)
		return shm_table_withdraw(actor, owner - 1, node);
	idle(waiter);
	return ERR_OK;
}

enum err shm_sweep_slot(struct shm_actor *actor, unsigned slot)
{
	struct shm_map *map = actor->map;
	uint32_t first = (uint32_t)(slot * map->shape.waiters) + 1;
	uint32_t high = shm_load(&map->slot[slot].node_high);

	for (uint32_t node = first; node < first + high; node++) {
		struct shm_waiter *waiter = shm_node_at(map, node);
		enum err err = ERR_OK;

		switch (shm_word_state(shm_load(&waiter->state))) {
		case SHM_IDLE:
			break;
		case SHM_TAKEN:
		case SHM_EXPIRED:
			idle(waiter);
			break;
		case SHM_QUEUED:
		case SHM_GRANTED:
		case SHM_REVOKED:
			err = withdraw(actor, node, waiter);
			break;
		}
		if (err != ERR_OK)
			return err;
	}
	return ERR_OK;
}
