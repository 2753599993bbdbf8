/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
#include "core/rules.h"
#include "plain_driver.h"

/* One key that was ever used; never removed. */
struct entry {
	struct entry *next;
	struct op *head, **tail; /* waiting acquires, linked through driver_data */
	struct arena arena;	 /* of `lease` */
	struct bytes name_space, key;
	struct lease lease;
	int64_t deadline_us; /* 0 = free */
	uint32_t waiters;
};

struct waiting {
	struct entry *entry;
	struct op *next;
	int64_t deadline_us;
};

struct driver_worker {
	struct entry *entries;
	uint64_t token;
	bool draining;
};

static enum err prepare(const struct driver_place *place, const union option_value *value,
			struct driver_shared **shared, char *why)
{
	(void)place, (void)value, (void)why;
	*shared = NULL;
	return ERR_OK;
}

static enum err attach(struct driver_shared *shared, const struct driver_host *host,
		       struct driver_worker **worker)
{
	(void)shared, (void)host;
	*worker = calloc(1, sizeof **worker);
	return *worker ? ERR_OK : ERR_SYSTEM;
}

static struct entry *entry_of(struct driver_worker *worker, const struct op *op)
{
	struct entry *entry;

	for (entry = worker->entries; entry; entry = entry->next)
		if (bytes_equal(entry->key, op->request.key) &&
		    bytes_equal(entry->name_space, op->request.name_space))
			return entry;
	entry = calloc(1, sizeof *entry);
	if (!entry)
		abort();
	arena_init(&entry->arena);
	entry->tail = &entry->head;
	entry->name_space.data = memcpy(malloc(op->request.name_space.len),
					op->request.name_space.data, op->request.name_space.len);
	entry->name_space.len = op->request.name_space.len;
	entry->key.data =
	    memcpy(malloc(op->request.key.len), op->request.key.data, op->request.key.len);
	entry->key.len = op->request.key.len;
	entry->next = worker->entries;
	worker->entries = entry;
	return entry;
}

static void show(struct entry *entry, struct op *op, int64_t now)
{
	op->answer.lease = entry->lease;
	op->answer.lease.remaining_us = entry->deadline_us - now;
	op->answer.lease.expires_wall_us = clock_wall_us() + entry->deadline_us - now;
	op->answer.waiters = op->answer.lease.waiters = entry->waiters;
}

static enum err grant(struct driver_worker *worker, struct entry *entry, struct op *op, int64_t now)
{
	struct lease *lease = &entry->lease;

	arena_reset(&entry->arena);
	lease->name_space = entry->name_space;
	lease->key = entry->key;
	lease->owner = arena_copy(&entry->arena, op->request.owner);
	lease->request_id = arena_copy(&entry->arena, op->request.request_id);
	lease->metadata.count = op->request.metadata.count;
	lease->metadata.entry = arena_alloc(&entry->arena, lease->metadata.count * 32 + 1);
	for (size_t i = 0; i < lease->metadata.count; i++) {
		lease->metadata.entry[i].key =
		    arena_copy(&entry->arena, op->request.metadata.entry[i].key);
		lease->metadata.entry[i].value =
		    arena_copy(&entry->arena, op->request.metadata.entry[i].value);
	}
	lease->holder = holder_make();
	lease->fencing_token = ++worker->token;
	lease->acquired_wall_us = clock_wall_us();
	entry->deadline_us = now + op->request.ttl_us;
	show(entry, op, now);
	return op->answer.result = ERR_OK;
}

static struct waiting *waiting_of(struct op *op)
{
	return op->driver_data;
}

static void leave(struct entry *entry, struct op *op)
{
	struct op **link = &entry->head;

	while (*link != op)
		link = &waiting_of(*link)->next;
	*link = waiting_of(op)->next;
	if (!*link)
		entry->tail = link;
	entry->waiters--;
	free(op->driver_data);
}

static void hand_on(struct driver_worker *worker, struct entry *entry, int64_t now)
{
	struct op *op = entry->head;

	entry->deadline_us = 0;
	if (!op)
		return;
	leave(entry, op);
	grant(worker, entry, op, now);
	op->done(op);
}

static enum err wait_for(struct driver_worker *worker, struct entry *entry, struct op *op,
			 int64_t now)
{
	struct waiting *waiting = calloc(1, sizeof *waiting);

	(void)worker;
	waiting->entry = entry;
	waiting->deadline_us = now + op->request.wait_us;
	op->driver_data = waiting;
	*entry->tail = op;
	entry->tail = &waiting->next;
	entry->waiters++;
	return ERR_PENDING;
}

static enum err acquire(struct driver_worker *worker, struct entry *entry, struct op *op,
			const struct rules_state *state, int64_t now)
{
	switch (rules_acquire(state, op->request.wait_us, now)) {
	case RULES_GRANT:
		return grant(worker, entry, op, now);
	case RULES_REPEAT:
		op->answer.repeated = true;
		show(entry, op, now);
		return op->answer.result = ERR_OK;
	case RULES_QUEUE:
		return worker->draining ? (op->answer.result = ERR_DRAINING)
					: wait_for(worker, entry, op, now);
	case RULES_HELD:
		break;
	}
	op->answer.held = entry->deadline_us > now;
	show(entry, op, now);
	return op->answer.result = ERR_HELD;
}

static int by_key(const void *left, const void *right)
{
	const struct lease *a = left, *b = right;

	return bytes_compare(a->key, b->key);
}

static bool listed(const struct entry *entry, const struct op_request *request, int64_t now)
{
	return entry->deadline_us > now && bytes_equal(entry->name_space, request->name_space) &&
	       bytes_start_with(entry->key, request->key_prefix) &&
	       (!request->after_set || bytes_compare(entry->key, request->after) > 0);
}

static enum err list(struct driver_worker *worker, struct op *op, int64_t now)
{
	size_t count = 0;

	for (struct entry *entry = worker->entries; entry; entry = entry->next)
		count++;
	op->answer.leases = arena_alloc(op->arena, count * sizeof(struct lease) + 1);
	for (struct entry *entry = worker->entries; entry; entry = entry->next)
		if (listed(entry, &op->request, now)) {
			show(entry, op, now);
			op->answer.leases[op->answer.lease_count++] = op->answer.lease;
		}
	qsort(op->answer.leases, op->answer.lease_count, sizeof(struct lease), by_key);
	op->answer.more = op->request.page_size && op->answer.lease_count > op->request.page_size;
	if (op->answer.more)
		op->answer.lease_count = op->request.page_size;
	return op->answer.result = ERR_OK;
}

static enum err release(struct driver_worker *worker, struct entry *entry, struct op *op,
			const struct rules_state *state, int64_t now)
{
	op->answer.result = rules_release(state, op->request.may_break, now, &op->answer.existed);
	if (op->answer.result == ERR_OK && op->answer.existed)
		hand_on(worker, entry, now);
	return op->answer.result;
}

static enum err submit(struct driver_worker *worker, struct op *op)
{
	int64_t now = clock_boot_us();
	struct entry *entry = op->kind == OP_LIST ? NULL : entry_of(worker, op);
	struct rules_state state = {0};

	if (op->kind == OP_LIST)
		return list(worker, op, now);
	state.granted = entry->deadline_us != 0;
	state.deadline_us = entry->deadline_us;
	state.queued = entry->head != NULL;
	state.owner_matches = bytes_equal(entry->lease.owner, op->request.owner);
	state.request_matches = op->request.request_id.len &&
				bytes_equal(entry->lease.request_id, op->request.request_id);
	state.holder_matches =
	    op->request.holder_known && holder_equal(entry->lease.holder, op->request.holder);
	if (op->kind == OP_ACQUIRE)
		return acquire(worker, entry, op, &state, now);
	if (op->kind == OP_RELEASE)
		return release(worker, entry, op, &state, now);
	op->answer.held = rules_live(state.granted, state.deadline_us, now);
	op->answer.result = ERR_OK;
	if (op->kind == OP_RENEW) {
		op->answer.result = rules_renew(&state, now);
		if (op->answer.result == ERR_OK)
			entry->deadline_us = now + op->request.ttl_us;
	}
	show(entry, op, now);
	return op->answer.result;
}

static void end(struct op *op, enum err result)
{
	leave(waiting_of(op)->entry, op);
	op->answer.result = result;
	op->done(op);
}

static void cancel(struct driver_worker *worker, struct op *op)
{
	(void)worker;
	end(op, ERR_CANCELLED);
}

static void poll(struct driver_worker *worker)
{
	int64_t now = clock_boot_us();

	for (struct entry *entry = worker->entries; entry; entry = entry->next) {
		struct op *next;

		for (struct op *op = entry->head; op; op = next) {
			next = waiting_of(op)->next;
			if (waiting_of(op)->deadline_us <= now) {
				op->answer.held = entry->deadline_us > now;
				show(entry, op, now);
				end(op, ERR_HELD);
			}
		}
		if (entry->head && entry->deadline_us <= now)
			hand_on(worker, entry, now);
	}
}

static int64_t next(struct driver_worker *worker)
{
	int64_t at = CLOCK_NEVER;

	for (struct entry *entry = worker->entries; entry; entry = entry->next) {
		if (entry->head && entry->deadline_us < at)
			at = entry->deadline_us;
		for (struct op *op = entry->head; op; op = waiting_of(op)->next)
			if (waiting_of(op)->deadline_us < at)
				at = waiting_of(op)->deadline_us;
	}
	return at;
}

static void drain(struct driver_worker *worker)
{
	worker->draining = true;
	for (struct entry *entry = worker->entries; entry; entry = entry->next)
		while (entry->head)
			end(entry->head, ERR_DRAINING);
}

static void detach(struct driver_worker *worker)
{
	(void)worker; /* the process ends */
}

static enum err health(struct driver_worker *worker)
{
	(void)worker;
	return ERR_OK;
}

static void finish(struct driver_shared *shared)
{
	(void)shared;
}

static const struct option_spec options[] = {
    {"capacity", OPTION_COUNT, {.number = 1000000}, 1, 100000000, NULL},
    {"segment", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    {NULL, OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
};

const struct driver shm_driver = {.name = "memory",
				  .options = options,
				  .prepare = prepare,
				  .attach = attach,
				  .submit = submit,
				  .cancel = cancel,
				  .poll = poll,
				  .next = next,
				  .drain = drain,
				  .detach = detach,
				  .health = health,
				  .close = finish};
