/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "core/driver.h"
#include "core/meter.h"

const int64_t meter_wait_bound[METER_WAITS - 1] = {
    CLOCK_MILLI,       10 * CLOCK_MILLI,  100 * CLOCK_MILLI, CLOCK_SECOND,
    10 * CLOCK_SECOND, 60 * CLOCK_SECOND, 600 * CLOCK_SECOND};

struct meter_slot {
	_Alignas(128) _Atomic uint64_t code[METER_METHODS][METER_CODES];
	_Atomic uint64_t result[METER_METHODS][ERR_BUG + 1];
	_Atomic uint64_t wait[METER_WAITS];
	_Atomic uint64_t wait_us;
	atomic_bool down[METER_BACKENDS];
};

struct meter {
	struct meter_slot slot[DRIVER_WORKERS_MAX];
	_Alignas(128) _Atomic uint64_t restarts;
	_Atomic int64_t reload_us;
	atomic_bool reload_bad;
};

struct meter *meter_create(void)
{
	void *memory = mmap(NULL, sizeof(struct meter), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* One writer: no locked instruction. A death between the two loses nothing but this one. */
static void add(_Atomic uint64_t *number, uint64_t by)
{
	uint64_t now = atomic_load_explicit(number, memory_order_relaxed);

	atomic_store_explicit(number, now + by, memory_order_relaxed);
}

void meter_answer(struct meter *meter, unsigned slot, const struct op *op, int code)
{
	if (!meter)
		return;
	if (code >= 0 && code < METER_CODES)
		add(&meter->slot[slot].code[op->kind][code], 1);
	add(&meter->slot[slot].result[op->kind][op->answer.result], 1);
}

void meter_waited(struct meter *meter, unsigned slot, int64_t us)
{
	size_t bucket = 0;

	if (!meter)
		return;
	while (bucket < METER_WAITS - 1 && us > meter_wait_bound[bucket])
		bucket++;
	add(&meter->slot[slot].wait[bucket], 1);
	add(&meter->slot[slot].wait_us, us > 0 ? (uint64_t)us : 0);
}

void meter_backend(struct meter *meter, unsigned slot, size_t index, bool up)
{
	if (meter && index < METER_BACKENDS)
		atomic_store_explicit(&meter->slot[slot].down[index], !up, memory_order_relaxed);
}

void meter_restarted(struct meter *meter)
{
	if (meter)
		add(&meter->restarts, 1);
}

void meter_reloaded(struct meter *meter, bool good, int64_t wall_us)
{
	if (!meter)
		return;
	atomic_store(&meter->reload_bad, !good);
	if (good)
		atomic_store(&meter->reload_us, wall_us);
}

static void sum_slot(const struct meter_slot *slot, struct meter_sums *sums)
{
	for (int i = 0; i < METER_METHODS; i++) {
		for (int j = 0; j < METER_CODES; j++)
			sums->code[i][j] +=
			    atomic_load_explicit(&slot->code[i][j], memory_order_relaxed);
		for (int j = 0; j <= ERR_BUG; j++)
			sums->result[i][j] +=
			    atomic_load_explicit(&slot->result[i][j], memory_order_relaxed);
	}
	for (int i = 0; i < METER_WAITS; i++)
		sums->wait[i] += atomic_load_explicit(&slot->wait[i], memory_order_relaxed);
	sums->wait_us += atomic_load_explicit(&slot->wait_us, memory_order_relaxed);
}

void meter_read(const struct meter *meter, unsigned slot, struct meter_sums *sums)
{
	memset(sums, 0, sizeof *sums);
	for (unsigned i = 0; meter && i < DRIVER_WORKERS_MAX; i++)
		if (slot >= DRIVER_WORKERS_MAX || slot == i)
			sum_slot(&meter->slot[i], sums);
}

bool meter_backend_up(const struct meter *meter, unsigned slot, size_t index)
{
	return !meter || index >= METER_BACKENDS ||
	       !atomic_load_explicit(&meter->slot[slot].down[index], memory_order_relaxed);
}

uint64_t meter_restarts(const struct meter *meter)
{
	return meter ? atomic_load(&meter->restarts) : 0;
}

void meter_reload(const struct meter *meter, bool *good, int64_t *wall_us)
{
	*good = !meter || !atomic_load(&meter->reload_bad);
	*wall_us = meter ? atomic_load(&meter->reload_us) : 0;
}
