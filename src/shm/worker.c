/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/answer.h"
#include "shm/bell.h"
#include "shm/chore.h"
#include "shm/fence.h"
#include "shm/slot.h"
#include "shm/sweep.h"
#include "shm/waker.h"
#include "shm/worker.h"

#define POLL_AT_LEAST_US INT64_C(250000) /* while anybody waits here */

void shm_worker_ring(struct driver_worker *worker)
{
	if (worker->actor.ring && shm_bell_ring_all(&worker->actor) && !worker->mail_for_me) {
		worker->mail_for_me = true;
		worker->host.kick(worker->host.arg);
	}
}

void shm_worker_name(const struct driver_worker *worker, const struct op *op, struct shm_name *name)
{
	shm_name_make(name, op->request.name_space, op->request.key, worker->map.header->seed);
}

/* --- birth and end ------------------------------------------------------------------------- */

/* A new generation first: from then on nobody gives anything to the old one's waiters. */
static enum err take_slot(struct driver_worker *worker)
{
	struct shm_slot *slot = worker->slot;
	uint32_t generation = shm_load(&slot->generation) + 1;
	enum err err;

	shm_store(&slot->generation, generation);
	shm_store(&slot->heartbeat, worker->map.clock());
	shm_actor_init(&worker->actor, &worker->map, worker->host.slot, generation);
	for (unsigned i = 0; i < SHM_STRIPES; i++) {
		struct shm_stripe *stripe;

		/* The old one's half-made changes: a queued waiter may still be rolled back. */
		if (shm_stripe_lock(&worker->actor, i, &stripe) == ERR_OK)
			shm_stripe_unlock(stripe);
	}
	err = shm_sweep_slot(&worker->actor, worker->host.slot);
	while (shm_slot_take(&worker->map, worker->host.slot))
		continue;
	shm_bell_ring_all(&worker->actor);
	worker->high = 0;
	worker->committed = shm_load(&slot->node_high);
	shm_store(&slot->attached, 1);
	return err;
}

static enum err get_memory(struct driver_worker *worker)
{
	uint64_t waiters = worker->map.shape.waiters;

	worker->parked = calloc(waiters, sizeof *worker->parked);
	worker->idle = malloc(waiters * sizeof *worker->idle);
	return worker->parked && worker->idle ? ERR_OK : ERR_SYSTEM;
}

static void free_memory(struct driver_worker *worker)
{
	shm_timers_free(&worker->timers);
	shm_watches_free(&worker->watches);
	free(worker->parked);
	free(worker->idle);
	free(worker);
}

enum err shm_worker_attach(struct driver_shared *shared, const struct driver_host *host,
			   struct driver_worker **out)
{
	struct driver_worker *worker;
	enum err err;

	if (host->slot >= shm_load(&shared->map.header->slots))
		return ERR_SYSTEM;
	worker = calloc(1, sizeof *worker);
	if (!worker)
		return ERR_SYSTEM;
	worker->shared = shared;
	worker->host = *host;
	worker->map = shared->map;
	worker->slot = &worker->map.slot[host->slot];
	worker->burials = shm_load(&worker->map.header->burials);
	err = get_memory(worker);
	if (err == ERR_OK)
		err = take_slot(worker);
	if (err == ERR_OK) {
		worker->waker = shm_waker_start(&worker->map, host);
		worker->chore = worker->waker ? shm_chore_start(shared, &worker->map, host) : NULL;
		if (worker->chore) {
			*out = worker;
			return ERR_OK;
		}
		if (worker->waker)
			shm_waker_stop(worker->waker);
		err = ERR_SYSTEM;
	}
	free_memory(worker);
	return err;
}

void shm_worker_detach(struct driver_worker *worker)
{
	shm_store(&worker->slot->attached, 0);
	shm_store(&worker->slot->generation, worker->actor.generation + 1);
	shm_waker_stop(worker->waker);
	shm_chore_stop(worker->chore);
	free_memory(worker);
}

/* --- operations ---------------------------------------------------------------------------- */

static enum err change(struct driver_worker *worker, struct op *op)
{
	struct shm_result result = {.known = false};
	struct shm_name name;
	struct shm_call call = {.name = &name, .request = &op->request};
	enum err err;

	shm_worker_name(worker, op, &name);
	err = op->kind == OP_RENEW ? shm_table_renew(&worker->actor, &call, &result)
				   : shm_table_release(&worker->actor, &call, &result);
	shm_worker_ring(worker);
	return shm_answer(&worker->map, op, err, &result, worker->actor.scratch);
}

enum err shm_worker_submit(struct driver_worker *worker, struct op *op)
{
	struct shm_name name;
	enum err err;

	op->driver_data = NULL;
	memset(&op->answer, 0, sizeof op->answer);
	switch (op->kind) {
	case OP_ACQUIRE:
		err = shm_worker_acquire(worker, op);
		if (shm_fence_low(&worker->map))
			shm_chore_reserve(worker->chore);
		return err;
	case OP_RENEW:
	case OP_RELEASE:
		return change(worker, op);
	case OP_INSPECT:
		shm_worker_name(worker, op, &name);
		return shm_answer_inspect(&worker->map, op, &name, worker->actor.scratch);
	case OP_LIST:
		return shm_chore_list(worker->chore, op);
	}
	return op->answer.result = ERR_BUG;
}

void shm_worker_cancel(struct driver_worker *worker, struct op *op)
{
	if (op->kind == OP_ACQUIRE) {
		shm_worker_end(worker, op, ERR_CANCELLED);
	} else if (op->kind == OP_LIST && op->driver_data && shm_chore_cancel(worker->chore, op)) {
		op->answer.result = ERR_CANCELLED;
		op->done(op);
	}
}

/* --- the loop ------------------------------------------------------------------------------ */

static void take_mail(struct driver_worker *worker)
{
	uint32_t node;

	worker->mail_for_me = false;
	while ((node = shm_slot_take(&worker->map, worker->host.slot)) != 0)
		shm_worker_mail(worker, node);
}

static void fire_timers(struct driver_worker *worker, int64_t now)
{
	struct shm_timer *timer;

	while ((timer = shm_timers_first(&worker->timers)) && timer->when <= now) {
		switch (timer->kind) {
		case SHM_TIMER_WAIT:
			shm_worker_wait_over(worker, (struct shm_parked *)(void *)timer);
			break;
		case SHM_TIMER_WATCH:
			shm_worker_look(worker, (struct shm_watch *)(void *)timer);
			break;
		}
	}
}

void shm_worker_poll(struct driver_worker *worker)
{
	int64_t now = worker->map.clock();
	struct op *op;

	worker->polled = now;
	shm_store(&worker->slot->heartbeat, now);
	shm_waker_check(worker->waker);
	take_mail(worker);
	fire_timers(worker, now);
	shm_worker_patrol(worker, now);
	take_mail(worker);
	while ((op = shm_chore_finished(worker->chore)) != NULL)
		op->done(op);
}

int64_t shm_worker_next(struct driver_worker *worker)
{
	struct shm_timer *first = shm_timers_first(&worker->timers);
	int64_t next = first ? first->when : CLOCK_NEVER;

	if (shm_slot_mail(&worker->map, worker->host.slot) || worker->patrol_left > 0 ||
	    shm_chore_has_finished(worker->chore))
		return worker->map.clock();
	if (first && next > worker->polled + POLL_AT_LEAST_US)
		next = worker->polled + POLL_AT_LEAST_US;
	return next;
}

void shm_worker_drain(struct driver_worker *worker)
{
	struct shm_parked *parked;

	worker->draining = true;
	take_mail(worker); /* what was granted is granted */
	do {
		for (parked = worker->active; parked && !parked->op;)
			parked = parked->next;
		if (parked)
			shm_worker_end(worker, parked->op, ERR_DRAINING);
	} while (parked);
}

enum err shm_worker_health(struct driver_worker *worker)
{
	return shm_load(&worker->map.header->damaged) ? ERR_BACKEND_DOWN : ERR_OK;
}
