/* SPDX-License-Identifier: Apache-2.0
 *
 * Acquires that wait: from the free node to done. */
#include "base/check.h"
#include "shm/answer.h"
#include "shm/queue.h"
#include "shm/worker.h"

#define RETRY_US  INT64_C(100000)  /* the stripe was not to be had */
#define PATROL_US INT64_C(2000000) /* a key is looked at so often whatever happens */

enum { NODES_EXTENT = 1024 };

static uint32_t node_of(const struct driver_worker *worker, const struct shm_parked *parked)
{
	return (uint32_t)(worker->host.slot * worker->map.shape.waiters) +
	       (uint32_t)(parked - worker->parked) + 1;
}

static struct shm_parked *parked_of(const struct driver_worker *worker, uint32_t node)
{
	return &worker->parked[(node - 1) % worker->map.shape.waiters];
}

/* Memory for the next nodes, before the first is touched. */
static bool commit_nodes(struct driver_worker *worker)
{
	const struct shm_shape *shape = &worker->map.shape;
	uint64_t first = worker->host.slot * shape->waiters + worker->committed;
	uint32_t more = NODES_EXTENT;

	if (more > shape->waiters - worker->committed)
		more = (uint32_t)(shape->waiters - worker->committed);
	if (more == 0 ||
	    shm_map_commit(&worker->map, shape->nodes + first * sizeof(struct shm_waiter),
			   more * sizeof(struct shm_waiter)) != ERR_OK)
		return false;
	worker->committed += more;
	return true;
}

/* An idle node and room for all that a wait needs here; 0 = too many wait. */
static uint32_t take_node(struct driver_worker *worker)
{
	if (worker->draining || !shm_timers_reserve(&worker->timers, 2) ||
	    !shm_watches_reserve(&worker->watches))
		return 0;
	if (worker->idle_count > 0)
		return worker->idle[--worker->idle_count];
	if (worker->high == worker->committed && !commit_nodes(worker))
		return 0;
	worker->high++;
	if (worker->high > shm_load(&worker->slot->node_high))
		shm_store(&worker->slot->node_high, worker->high);
	return (uint32_t)(worker->host.slot * worker->map.shape.waiters) + worker->high;
}

static void give_node(struct driver_worker *worker, uint32_t node)
{
	if (node)
		worker->idle[worker->idle_count++] = node;
}

static void park(struct driver_worker *worker, struct op *op, uint32_t node,
		 const struct shm_call *call, const struct shm_result *result)
{
	struct shm_parked *parked = parked_of(worker, node);
	int64_t look = result->grant.deadline;

	*parked = (struct shm_parked){.op = op,
				      .hash = call->name->hash,
				      .wait_deadline = call->wait_deadline,
				      .next = worker->active};
	parked->timer.kind = SHM_TIMER_WAIT;
	if (worker->active)
		worker->active->prev = parked;
	worker->active = parked;
	op->driver_data = parked;
	shm_timers_set(&worker->timers, &parked->timer, call->wait_deadline);
	parked->watch = shm_watches_join(&worker->watches, result->record, call->name->hash);
	if (look > result->now + PATROL_US)
		look = result->now + PATROL_US;
	if (!parked->watch->timer.place || parked->watch->timer.when > look)
		shm_timers_set(&worker->timers, &parked->watch->timer, look);
}

/* From here on the node's state is the caller's to settle; it is not idle yet. */
static struct op *unpark(struct driver_worker *worker, struct shm_parked *parked)
{
	struct op *op = parked->op;

	if (parked->watch->waiters == 1)
		shm_timers_clear(&worker->timers, &parked->watch->timer);
	shm_watches_leave(&worker->watches, parked->watch);
	parked->watch = NULL;
	shm_timers_clear(&worker->timers, &parked->timer);
	if (parked->prev)
		parked->prev->next = parked->next;
	else
		worker->active = parked->next;
	if (parked->next)
		parked->next->prev = parked->prev;
	parked->op = NULL;
	if (op)
		op->driver_data = NULL;
	return op;
}

static enum err acquire(struct driver_worker *worker, struct op *op, int64_t wait_deadline,
			uint32_t node)
{
	uint64_t payload[SHM_PAYLOAD_WORDS];
	struct shm_result result;
	struct shm_name name;
	struct shm_call call = {.name = &name,
				.request = &op->request,
				.payload = payload,
				.holder = holder_make(),
				.wait_deadline = wait_deadline,
				.node = node};
	enum err err;

	shm_worker_name(worker, op, &name);
	call.payload_size = shm_payload_encode(payload, op->request.owner, op->request.request_id,
					       &op->request.metadata);
	result.now = 0;
	err = shm_table_acquire(&worker->actor, &call, &result);
	shm_worker_ring(worker);
	if (err == ERR_PENDING) {
		park(worker, op, node, &call, &result);
		return err;
	}
	give_node(worker, node);
	if (err == ERR_WAITERS_FULL && worker->draining)
		err = ERR_DRAINING;
	if (err != ERR_OK && err != ERR_HELD)
		return op->answer.result = err;
	return shm_answer(&worker->map, op, err, &result, worker->actor.scratch);
}

enum err shm_worker_acquire(struct driver_worker *worker, struct op *op)
{
	int64_t wait = op->request.wait_us;

	if (wait <= 0)
		return acquire(worker, op, 0, 0);
	return acquire(worker, op, worker->map.clock() + wait, take_node(worker));
}

/* The lease that is in the way, as far as it is still there. */
static void answer_held(struct driver_worker *worker, struct op *op)
{
	struct shm_result result = {.known = false};
	struct shm_snapshot snapshot;
	struct shm_name name;

	shm_worker_name(worker, op, &name);
	if (shm_probe_name(&worker->map, &name, &snapshot, worker->actor.scratch)) {
		result.grant = snapshot.grant;
		result.now = worker->map.clock();
		result.known = result.grant.deadline > result.now;
		result.waiters = snapshot.waiters;
		result.payload_size = snapshot.grant.chain_size;
	}
	shm_answer(&worker->map, op, ERR_HELD, &result, worker->actor.scratch);
}

/* The node leaves whatever it is in. When its stripe is not to be had, the op ends all the same and
 * the node is tried again later. False: then. */
static bool withdraw(struct driver_worker *worker, struct shm_parked *parked)
{
	enum err err = shm_table_withdraw(&worker->actor, shm_hash_stripe(parked->hash),
					  node_of(worker, parked));

	shm_worker_ring(worker);
	if (err == ERR_OK)
		return true;
	parked->op = NULL;
	shm_timers_set(&worker->timers, &parked->timer, worker->map.clock() + RETRY_US);
	return false;
}

static void end(struct driver_worker *worker, struct shm_parked *parked, enum err result)
{
	struct op *op = parked->op;

	if (withdraw(worker, parked)) {
		unpark(worker, parked);
		give_node(worker, node_of(worker, parked));
	}
	if (!op)
		return;
	op->driver_data = NULL;
	if (result == ERR_HELD)
		answer_held(worker, op);
	else
		op->answer.result = result;
	op->done(op);
}

void shm_worker_end(struct driver_worker *worker, struct op *op, enum err result)
{
	if (op->driver_data)
		end(worker, op->driver_data, result);
}

static void hand_out(struct driver_worker *worker, struct shm_parked *parked, int64_t now)
{
	uint32_t node = node_of(worker, parked);
	struct shm_waiter *waiter = shm_node_at(&worker->map, node);
	struct shm_record *record = shm_record_at(&worker->map, parked->watch->record);
	struct shm_result result = {.known = true, .fresh = true, .now = now};
	struct op *op = unpark(worker, parked);

	result.waiters = shm_load(&record->count);
	shm_holder_load(waiter->holder, &result.grant.holder);
	result.grant.token = shm_load(&waiter->token);
	result.grant.acquired_wall = shm_load(&waiter->acquired_wall);
	result.grant.deadline = shm_load(&waiter->deadline);
	shm_answer(&worker->map, op, ERR_OK, &result, worker->actor.scratch);
	op->done(op);
	/* Only now: a death before may not make the lease somebody else's. */
	shm_store(&waiter->state, shm_word_with(shm_load(&waiter->state), SHM_IDLE));
	give_node(worker, node);
}

/* It was granted, but too late for us: taken away again, or over already. The wait goes on. */
static void again(struct driver_worker *worker, struct shm_parked *parked)
{
	int64_t wait_deadline = parked->wait_deadline;
	uint32_t node = node_of(worker, parked);
	struct op *op = parked->op;
	enum err err;

	if (worker->draining || wait_deadline <= worker->map.clock()) {
		end(worker, parked, worker->draining ? ERR_DRAINING : ERR_HELD);
		return;
	}
	if (!withdraw(worker, parked)) {
		op->driver_data = NULL;
		op->answer.result = ERR_BACKEND_DOWN;
		op->done(op);
		return;
	}
	unpark(worker, parked);
	if (!shm_timers_reserve(&worker->timers, 2) || !shm_watches_reserve(&worker->watches)) {
		give_node(worker, node);
		node = 0;
	}
	err = acquire(worker, op, wait_deadline, node);
	if (err != ERR_PENDING)
		op->done(op);
}

static void granted(struct driver_worker *worker, struct shm_parked *parked,
		    struct shm_waiter *waiter, uint32_t word)
{
	int64_t now = worker->map.clock();

	if (!parked->op) {
		end(worker, parked, ERR_CANCELLED);
		return;
	}
	if (shm_load(&waiter->deadline) > now &&
	    atomic_compare_exchange_strong(&waiter->state, &word, shm_word_with(word, SHM_TAKEN)))
		hand_out(worker, parked, now);
	else
		again(worker, parked);
}

void shm_worker_mail(struct driver_worker *worker, uint32_t node)
{
	struct shm_parked *parked = parked_of(worker, node);
	struct shm_waiter *waiter = shm_node_at(&worker->map, node);
	uint32_t word = shm_load(&waiter->state);

	if (!parked->watch) /* old mail */
		return;
	switch (shm_word_state(word)) {
	case SHM_QUEUED: /* a nudge */
		shm_worker_look(worker, parked->watch);
		break;
	case SHM_GRANTED:
		granted(worker, parked, waiter, word);
		break;
	case SHM_REVOKED:
		if (parked->op)
			again(worker, parked);
		else
			end(worker, parked, ERR_CANCELLED);
		break;
	case SHM_EXPIRED:
		end(worker, parked, ERR_HELD);
		break;
	case SHM_IDLE:
	case SHM_TAKEN:
		break;
	}
}

void shm_worker_wait_over(struct driver_worker *worker, struct shm_parked *parked)
{
	uint32_t node = node_of(worker, parked);
	enum shm_waiter_state state =
	    shm_word_state(shm_load(&shm_node_at(&worker->map, node)->state));

	if (state == SHM_GRANTED && parked->op)
		shm_worker_mail(worker, node);
	else
		end(worker, parked, ERR_HELD);
}
