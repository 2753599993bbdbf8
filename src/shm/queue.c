/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "shm/chain.h"
#include "shm/fence.h"
#include "shm/queue.h"
#include "shm/slot.h"

enum { PASS_OVER_MOST = 1024 }; /* stopped waiters looked past in one go */

void shm_queue_add(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
		   uint32_t node)
{
	struct shm_map *map = actor->map;
	struct shm_record *record = shm_record_at(map, index);
	struct shm_waiter *waiter = shm_node_at(map, node);
	uint32_t tail = shm_load(&record->tail);

	shm_store(&waiter->record, index);
	shm_store(&waiter->chain, shm_load(&stripe->pending[SHM_PENDING_PAYLOAD]));
	shm_store(&waiter->next, 0);
	shm_store(&waiter->prev, tail);
	shm_stripe_set(map, stripe, tail ? &shm_node_at(map, tail)->next : &record->head, node);
	shm_stripe_set(map, stripe, &record->tail, node);
	shm_stripe_set(map, stripe, &record->count, shm_load(&record->count) + 1);
	shm_stripe_set(map, stripe, &stripe->pending[SHM_PENDING_PAYLOAD], 0);
	shm_stripe_set(map, stripe, &waiter->state,
		       shm_word_with(shm_load(&waiter->state), SHM_QUEUED));
	shm_stripe_commit(actor, stripe);
}

static void unlink_node(struct shm_map *map, struct shm_stripe *stripe, struct shm_waiter *waiter)
{
	struct shm_record *record = shm_record_at(map, shm_load(&waiter->record));
	uint32_t prev = shm_load(&waiter->prev), next = shm_load(&waiter->next);

	shm_stripe_set(map, stripe, prev ? &shm_node_at(map, prev)->next : &record->head, next);
	shm_stripe_set(map, stripe, next ? &shm_node_at(map, next)->prev : &record->tail, prev);
	shm_stripe_set(map, stripe, &record->count, shm_load(&record->count) - 1);
}

void shm_queue_drop(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t node,
		    enum shm_waiter_state state)
{
	struct shm_map *map = actor->map;
	struct shm_waiter *waiter = shm_node_at(map, node);
	struct shm_record *record = shm_record_at(map, shm_load(&waiter->record));

	if (shm_load(&record->count) == 1) /* from now on it may be reclaimed */
		shm_record_soonest(
		    actor, stripe,
		    shm_load(&shm_body_of(record, shm_load(&record->seq))->deadline));
	unlink_node(map, stripe, waiter);
	shm_stripe_set(map, stripe, &stripe->freeing[0], shm_load(&waiter->chain));
	shm_stripe_set(map, stripe, &waiter->state, shm_word_with(shm_load(&waiter->state), state));
	shm_stripe_commit(actor, stripe);
}

/* The first who can take the lease now; 0 = nobody is left. */
static uint32_t choose(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
		       int64_t now)
{
	struct shm_map *map = actor->map;
	uint32_t node = shm_load(&shm_record_at(map, index)->head), first = 0, passed = 0;

	while (node && passed < PASS_OVER_MOST) {
		struct shm_waiter *waiter = shm_node_at(map, node);
		uint32_t next = shm_load(&waiter->next);
		unsigned slot = shm_node_slot(map, node);

		if (!shm_slot_alive(map, slot, shm_load(&waiter->generation))) {
			shm_queue_drop(actor, stripe, node, SHM_IDLE);
		} else if (shm_load(&waiter->wait_deadline) <= now) {
			shm_queue_drop(actor, stripe, node, SHM_EXPIRED);
			shm_slot_post(actor, node);
		} else if (shm_slot_responsive(map, slot, now)) {
			return node;
		} else {
			first = first ? first : node;
			passed++;
		}
		node = next;
	}
	return first;
}

static void results_write(struct shm_waiter *waiter, const struct shm_grant *grant)
{
	shm_store(&waiter->token, grant->token);
	shm_store(&waiter->acquired_wall, grant->acquired_wall);
	shm_store(&waiter->deadline, grant->deadline);
}

static void give(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
		 const struct shm_grant *grant)
{
	struct shm_map *map = actor->map;
	struct shm_record *record = shm_record_at(map, index);
	struct shm_waiter *waiter = shm_node_at(map, grant->node);
	uint32_t seq = shm_load(&record->seq), queued = shm_load(&waiter->state);
	struct shm_body *old = shm_body_of(record, seq);
	bool sooner = grant->deadline < shm_load(&old->deadline);

	shm_record_soonest(actor, stripe, grant->deadline);
	results_write(waiter, grant);
	shm_body_write(shm_body_of(record, seq ^ SHM_SEQ_BODY), grant);
	unlink_node(map, stripe, waiter);
	shm_stripe_set(map, stripe, &waiter->chain, 0);
	shm_stripe_set(map, stripe, &stripe->freeing[0], shm_load(&old->chain));
	shm_stripe_todo_seq(map, stripe, index, shm_seq_next(seq), false);
	shm_stripe_todo_grant(map, stripe, grant->node, queued);
	shm_stripe_commit(actor, stripe);
	if (sooner)
		shm_queue_nudge(actor, index);
}

/* No token to be had: the lease ends without a successor, who will ask again by its timer. */
static void end_in_place(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index)
{
	struct shm_grant grant;

	shm_record_grant(actor->map, index, &grant);
	grant.deadline = 0;
	grant.node = grant.word = 0;
	shm_record_replace(actor, stripe, index, &grant, false);
}

bool shm_queue_hand_over(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index,
			 int64_t now)
{
	struct shm_map *map = actor->map;
	struct shm_grant grant = {.node = choose(actor, stripe, index, now)};
	struct shm_waiter *waiter;

	if (!grant.node) {
		shm_record_erase(actor, stripe, index);
		return true;
	}
	grant.token = shm_fence_take(map);
	if (!grant.token) {
		end_in_place(actor, stripe, index);
		return false;
	}
	waiter = shm_node_at(map, grant.node);
	shm_holder_load(waiter->holder, &grant.holder);
	grant.acquired_wall = now + shm_load(&map->header->wall_offset);
	grant.deadline = now + shm_load(&waiter->ttl);
	grant.chain = shm_load(&waiter->chain);
	grant.chain_size = shm_load(&waiter->chain_size);
	grant.word = shm_word_with(shm_load(&waiter->state), SHM_GRANTED);
	give(actor, stripe, index, &grant);
	return false;
}

bool shm_queue_revoke(struct shm_actor *actor, const struct shm_grant *grant, int64_t now)
{
	struct shm_map *map = actor->map;
	uint32_t word = grant->word;
	struct shm_waiter *waiter;
	unsigned slot;

	if (!grant->node)
		return false;
	waiter = shm_node_at(map, grant->node);
	slot = shm_node_slot(map, grant->node);
	if (shm_load(&waiter->state) == shm_word_with(word, SHM_REVOKED))
		return true; /* who revoked it died before the hand-over */
	if (shm_load(&waiter->state) != word ||
	    (shm_slot_alive(map, slot, shm_load(&waiter->generation)) &&
	     shm_slot_responsive(map, slot, now)))
		return false;
	if (!atomic_compare_exchange_strong(&waiter->state, &word,
					    shm_word_with(word, SHM_REVOKED)))
		return false;
	shm_slot_post(actor, grant->node);
	return true;
}

void shm_queue_nudge(struct shm_actor *actor, uint32_t index)
{
	uint32_t head = shm_load(&shm_record_at(actor->map, index)->head);

	if (head)
		shm_slot_post(actor, head);
}
