/* SPDX-License-Identifier: Apache-2.0 */
#include "segcheck.h"
#include "shm/queue.h"
#include "shm/verify.h"

static bool bit(_Atomic uint64_t *words, uint32_t number)
{
	return atomic_load(&words[number / 64]) >> (number % 64) & 1;
}

static const char *check_mail(const struct shm_map *map, unsigned slot, uint32_t number)
{
	struct shm_slot *box = &map->slot[slot];

	if (!bit(shm_map_bottom(map, slot), number) || !bit(box->middle, number / 64) ||
	    !bit(box->top, number / 64 / 64))
		return "a grant is not in the mailbox";
	return NULL;
}

/* A grant may also be over and its record gone or another's. */
static const char *check_grant(const struct shm_map *map, uint32_t node)
{
	struct shm_waiter *waiter = shm_node_at(map, node);
	uint32_t index = shm_load(&waiter->record);
	struct shm_grant grant;

	if (!index || !(shm_load(&shm_record_at(map, index)->seq) & SHM_SEQ_LIVE))
		return NULL;
	shm_record_grant(map, index, &grant);
	if (grant.node != node || grant.word != shm_load(&waiter->state))
		return NULL;
	if (grant.token != shm_load(&waiter->token) ||
	    grant.deadline != shm_load(&waiter->deadline))
		return "waiter was told of another grant";
	return NULL;
}

const char *segcheck(const struct shm_map *map)
{
	const char *wrong = shm_verify(map, NULL);

	for (unsigned slot = 0; slot < shm_load(&map->header->slots) && !wrong; slot++)
		for (uint32_t n = 0; n < shm_load(&map->slot[slot].node_high) && !wrong; n++) {
			uint32_t node = (uint32_t)(slot * map->shape.waiters) + n + 1;

			if (shm_word_state(shm_load(&shm_node_at(map, node)->state)) != SHM_GRANTED)
				continue;
			wrong = check_mail(map, slot, n);
			if (!wrong)
				wrong = check_grant(map, node);
		}
	return wrong;
}
