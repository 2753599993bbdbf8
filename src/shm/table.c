/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/rules.h"
#include "shm/chain.h"
#include "shm/fence.h"
#include "shm/pool.h"
#include "shm/queue.h"
#include "shm/slot.h"
#include "shm/table.h"

static bool over(const struct shm_grant *grant, int64_t now)
{
	return !rules_live(true, grant->deadline, now);
}

/* Locks the name's stripe, finds its record and passes on a lease that is over but waited for.
 * Nothing is locked unless ERR_OK. */
static enum err enter(struct shm_actor *actor, const struct shm_name *name,
		      struct shm_stripe **stripe, struct shm_result *result)
{
	enum err err = shm_stripe_lock(actor, shm_hash_stripe(name->hash), stripe);
	struct shm_map *map = actor->map;

	if (err != ERR_OK)
		return err;
	memset(result, 0, sizeof *result);
	result->now = map->clock();
	result->record = shm_record_find(map, name);
	if (!result->record)
		return ERR_OK;
	shm_record_grant(map, result->record, &result->grant);
	if (over(&result->grant, result->now) &&
	    shm_load(&shm_record_at(map, result->record)->head)) {
		if (shm_queue_hand_over(actor, *stripe, result->record, result->now))
			result->record = 0;
		else
			shm_record_grant(map, result->record, &result->grant);
	}
	if (result->record)
		result->waiters = shm_load(&shm_record_at(map, result->record)->count);
	return ERR_OK;
}

/* Copies payload into the scratch, at most `most` bytes of it. */
static void copy_payload(struct shm_actor *actor, struct shm_result *result, uint32_t most)
{
	uint32_t size = result->grant.chain_size < most ? result->grant.chain_size : most;

	if (size && !shm_chain_copy(actor->map, result->grant.chain, size, actor->scratch))
		size = 0;
	result->payload_size = size;
}

static void judge(struct shm_actor *actor, const struct op_request *request,
		  struct shm_result *result, struct rules_state *state)
{
	struct bytes owner, request_id;

	*state = (struct rules_state){.granted = result->record != 0};
	if (!state->granted)
		return;
	shm_payload_identity(actor->scratch, result->payload_size, &owner, &request_id);
	state->deadline_us = result->grant.deadline;
	state->queued = result->waiters > 0;
	state->owner_matches = bytes_equal(owner, request->owner);
	state->request_matches =
	    request->request_id.len > 0 && bytes_equal(request_id, request->request_id);
	state->holder_matches =
	    request->holder_known && holder_equal(result->grant.holder, request->holder);
	result->known = !over(&result->grant, result->now);
}

enum need { NEED_NOTHING, NEED_RECORD, NEED_CHUNK, NEED_CHUNK_TO_WAIT };

struct shortage {
	enum need what;
	bool freed; /* somebody freed an element since we searched in vain */
};

static enum shm_pool_kind pool_of(enum need what)
{
	return what == NEED_RECORD ? SHM_RECORDS : SHM_CHUNKS;
}

/* Looked at before our own part of a chain goes back: that must not pass for somebody else's. */
static enum err short_of(struct shm_actor *actor, struct shm_stripe *stripe,
			 struct shortage *shortage, enum need what)
{
	*shortage = (struct shortage){
	    .what = what,
	    .freed = !atomic_load(&actor->map->pool[pool_of(what)].head->tight),
	};
	shm_stripe_abandon(actor, stripe);
	return ERR_TABLE_FULL;
}

static void new_grant(struct shm_actor *actor, const struct shm_call *call,
		      const struct shm_stripe *stripe, struct shm_result *result)
{
	result->grant = (struct shm_grant){
	    .holder = call->holder,
	    .token = result->grant.token,
	    .acquired_wall = result->now + shm_load(&actor->map->header->wall_offset),
	    .deadline = result->now + call->request->ttl_us,
	    .chain = shm_load(&stripe->pending[SHM_PENDING_PAYLOAD]),
	    .chain_size = call->payload_size,
	};
	result->known = result->fresh = true;
}

/* Free, or expired with nobody in line. */
static enum err take(struct shm_actor *actor, const struct shm_call *call,
		     struct shm_stripe *stripe, struct shm_result *result,
		     struct shortage *shortage)
{
	const struct shm_name *name = call->name;
	struct shm_map *map = actor->map;

	if (result->now < shm_load(&map->header->grace_until))
		return ERR_RESTART_GRACE;
	if (!shm_chain_build(actor, stripe, SHM_PENDING_PAYLOAD, call->payload, call->payload_size))
		return short_of(actor, stripe, shortage, NEED_CHUNK);
	if (!result->record) {
		shm_record_tidy_bucket(actor, stripe, shm_hash_bucket(map, name->hash),
				       result->now);
		if (!shm_record_reserve(actor, stripe))
			return short_of(actor, stripe, shortage, NEED_RECORD);
		if (name->size > SHM_NAME_INLINE &&
		    !shm_chain_build(actor, stripe, SHM_PENDING_NAME, name->word, name->size))
			return short_of(actor, stripe, shortage, NEED_CHUNK);
	}
	result->grant.token = shm_fence_take(map);
	if (!result->grant.token) {
		shm_stripe_abandon(actor, stripe);
		return ERR_BACKEND_DOWN;
	}
	new_grant(actor, call, stripe, result);
	if (result->record)
		shm_record_replace(actor, stripe, result->record, &result->grant, true);
	else
		shm_record_insert(actor, stripe, name, &result->grant);
	return ERR_OK;
}

static enum err stand_in_line(struct shm_actor *actor, const struct shm_call *call,
			      struct shm_stripe *stripe, struct shm_result *result,
			      struct shortage *shortage)
{
	struct shm_waiter *waiter;
	uint32_t word;

	if (!call->node)
		return ERR_WAITERS_FULL;
	if (!shm_chain_build(actor, stripe, SHM_PENDING_PAYLOAD, call->payload, call->payload_size))
		return short_of(actor, stripe, shortage, NEED_CHUNK_TO_WAIT);
	waiter = shm_node_at(actor->map, call->node);
	word = shm_word_with(shm_load(&waiter->state), SHM_IDLE);
	shm_store(&waiter->state, word + (1 << SHM_STATE_BITS));
	shm_store(&waiter->generation, actor->generation);
	shm_store(&waiter->chain_size, call->payload_size);
	shm_holder_store(waiter->holder, &call->holder);
	shm_store(&waiter->ttl, call->request->ttl_us);
	shm_store(&waiter->wait_deadline, call->wait_deadline);
	shm_queue_add(actor, stripe, result->record, call->node);
	return ERR_PENDING;
}

static enum err acquire_locked(struct shm_actor *actor, const struct shm_call *call,
			       struct shm_stripe *stripe, struct shm_result *result,
			       struct shortage *shortage)
{
	int64_t wait = call->wait_deadline - result->now;
	struct rules_state state;

	if (result->record)
		copy_payload(actor, result, SHM_PAYLOAD_IDENTITY);
	judge(actor, call->request, result, &state);
	switch (rules_acquire(&state, wait, result->now)) {
	case RULES_GRANT:
		return take(actor, call, stripe, result, shortage);
	case RULES_REPEAT:
		copy_payload(actor, result, SHM_PAYLOAD_MAX);
		return ERR_OK;
	case RULES_HELD:
		/* Not over, or the head of the queue could not be given a token. */
		return result->known ? ERR_HELD : ERR_BACKEND_DOWN;
	case RULES_QUEUE:
		return stand_in_line(actor, call, stripe, result, shortage);
	}
	return ERR_BUG;
}

/* Nothing is locked here. ERR_OK: try again. */
static enum err make_room(struct shm_actor *actor, const struct shortage *shortage)
{
	if (shm_pool_grow(actor, pool_of(shortage->what)) == ERR_OK || shm_table_reclaim(actor) ||
	    shortage->freed)
		return ERR_OK;
	return shortage->what == NEED_CHUNK_TO_WAIT ? ERR_WAITERS_FULL : ERR_TABLE_FULL;
}

enum err shm_table_acquire(struct shm_actor *actor, const struct shm_call *call,
			   struct shm_result *result)
{
	enum { TRIES = 100 }; /* others may be faster to what was freed, but not for ever */
	enum err err = ERR_TABLE_FULL;

	for (int i = 0; i < TRIES; i++) {
		struct shortage shortage = {NEED_NOTHING, false};
		struct shm_stripe *stripe;

		err = enter(actor, call->name, &stripe, result);
		if (err != ERR_OK)
			return err;
		err = acquire_locked(actor, call, stripe, result, &shortage);
		shm_stripe_unlock(stripe);
		if (shortage.what == NEED_NOTHING)
			return err;
		err = make_room(actor, &shortage);
		if (err != ERR_OK)
			return err;
	}
	return ERR_TABLE_FULL;
}

enum err shm_table_renew(struct shm_actor *actor, const struct shm_call *call,
			 struct shm_result *result)
{
	struct rules_state state;
	struct shm_stripe *stripe;
	enum err err = enter(actor, call->name, &stripe, result);
	int64_t before;

	if (err != ERR_OK)
		return err;
	if (result->record)
		copy_payload(actor, result, SHM_PAYLOAD_MAX);
	judge(actor, call->request, result, &state);
	err = rules_renew(&state, result->now);
	if (err == ERR_OK) {
		before = result->grant.deadline;
		result->grant.deadline = result->now + call->request->ttl_us;
		result->grant.node = result->grant.word = 0;
		shm_record_replace(actor, stripe, result->record, &result->grant, false);
		if (result->grant.deadline < before)
			shm_queue_nudge(actor, result->record);
	}
	shm_stripe_unlock(stripe);
	return err;
}

/* The lease ends: to the first in line, or gone. */
static void end(struct shm_actor *actor, struct shm_stripe *stripe, uint32_t index, int64_t now)
{
	if (shm_load(&shm_record_at(actor->map, index)->head))
		shm_queue_hand_over(actor, stripe, index, now);
	else
		shm_record_erase(actor, stripe, index);
}

enum err shm_table_release(struct shm_actor *actor, const struct shm_call *call,
			   struct shm_result *result)
{
	struct rules_state state;
	struct shm_stripe *stripe;
	enum err err = enter(actor, call->name, &stripe, result);

	if (err != ERR_OK)
		return err;
	if (result->record)
		copy_payload(actor, result, SHM_PAYLOAD_IDENTITY);
	judge(actor, call->request, result, &state);
	err = rules_release(&state, call->request->may_break, result->now, &result->existed);
	if (err == ERR_OK && result->existed)
		end(actor, stripe, result->record, result->now);
	shm_stripe_unlock(stripe);
	return err;
}

/* The record that `waiter` was granted, when the grant still stands; 0 = it does not. */
static uint32_t granted_record(struct shm_actor *actor, const struct shm_stripe *stripe,
			       uint32_t node)
{
	const struct shm_map *map = actor->map;
	struct shm_waiter *waiter = shm_node_at(map, node);
	uint32_t index = shm_load(&waiter->record);
	struct shm_record *record;
	struct shm_grant grant;

	if (index == 0 || index > shm_load(&map->pool[SHM_RECORDS].head->committed))
		return 0;
	record = shm_record_at(map, index);
	if (shm_load(&record->owner) != shm_stripe_mark(map, stripe) ||
	    !(shm_load(&record->seq) & SHM_SEQ_LIVE))
		return 0;
	shm_record_grant(map, index, &grant);
	return grant.node == node &&
		       grant.word == shm_word_with(shm_load(&waiter->state), SHM_GRANTED)
		   ? index
		   : 0;
}

enum err shm_table_withdraw(struct shm_actor *actor, unsigned number, uint32_t node)
{
	struct shm_waiter *waiter = shm_node_at(actor->map, node);
	struct shm_stripe *stripe;
	enum err err = shm_stripe_lock(actor, number, &stripe);
	enum shm_waiter_state state;
	uint32_t index;

	if (err != ERR_OK)
		return err;
	state = shm_word_state(shm_load(&waiter->state));
	if (state == SHM_QUEUED) {
		bool first = shm_load(&waiter->prev) == 0;

		index = shm_load(&waiter->record);
		shm_queue_drop(actor, stripe, node, SHM_IDLE);
		if (first) /* it alone may have been told of a nearer deadline */
			shm_queue_nudge(actor, index);
	} else if (state == SHM_GRANTED || state == SHM_REVOKED) {
		index = granted_record(actor, stripe, node);
		if (index)
			end(actor, stripe, index, actor->map->clock());
	}
	shm_store(&waiter->state, shm_word_with(shm_load(&waiter->state), SHM_IDLE));
	shm_stripe_unlock(stripe);
	return ERR_OK;
}

enum err shm_table_look(struct shm_actor *actor, uint64_t hash, uint32_t index)
{
	struct shm_map *map = actor->map;
	struct shm_record *record = shm_record_at(map, index);
	struct shm_stripe *stripe;
	struct shm_grant grant;
	enum err err = shm_stripe_lock(actor, shm_hash_stripe(hash), &stripe);
	int64_t now;

	if (err != ERR_OK)
		return err;
	now = map->clock();
	if (shm_load(&record->owner) == shm_stripe_mark(map, stripe) &&
	    (shm_load(&record->seq) & SHM_SEQ_LIVE) && shm_load(&record->head)) {
		shm_record_grant(map, index, &grant);
		if (over(&grant, now) || shm_queue_revoke(actor, &grant, now))
			shm_queue_hand_over(actor, stripe, index, now);
	}
	shm_stripe_unlock(stripe);
	return ERR_OK;
}

int64_t shm_table_peek(const struct shm_map *map, uint32_t index, int64_t now, bool *suspect)
{
	struct shm_record *record = shm_record_at(map, index);
	struct shm_body *body = shm_body_of(record, shm_load(&record->seq));
	uint32_t node = shm_load(&body->grant_node), word = shm_load(&body->grant_word);

	*suspect = false;
	if (node && node <= map->shape.waiters * SHM_SLOTS) {
		struct shm_waiter *waiter = shm_node_at(map, node);
		unsigned slot = shm_node_slot(map, node);
		uint32_t state = shm_load(&waiter->state);

		*suspect =
		    state == shm_word_with(word, SHM_REVOKED) ||
		    (state == word && (!shm_slot_alive(map, slot, shm_load(&waiter->generation)) ||
				       !shm_slot_responsive(map, slot, now)));
	}
	return shm_load(&body->deadline);
}

bool shm_table_reclaim(struct shm_actor *actor)
{
	struct shm_map *map = actor->map;
	int64_t now = map->clock();

	for (unsigned number = 0; number < SHM_STRIPES; number++) {
		struct shm_stripe *stripe;
		unsigned erased;

		if (shm_load(&map->soonest[number]) > now ||
		    shm_stripe_lock(actor, number, &stripe) != ERR_OK)
			continue;
		erased = shm_record_tidy(actor, stripe, now);
		shm_stripe_unlock(stripe);
		if (erased)
			return true;
	}
	return false;
}
