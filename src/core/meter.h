/* SPDX-License-Identifier: Apache-2.0
 *
 * core/meter.h - what the workers counted, in memory that all processes of one server share. Made
 * by the master before the first fork. Each slot has one writer at a time, whoever has the turn in
 * its worker, and cache lines of its own; readers see a number as it was a moment ago. Counters go
 * on when a worker dies: its successor in the slot adds to them. */
#ifndef LEASED_CORE_METER_H
#define LEASED_CORE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/op.h"

enum {
	METER_METHODS = 5, /* by enum op_kind */
	METER_CODES = 17,  /* by status code of gRPC */
	METER_WAITS = 8,   /* buckets of the time that granted calls waited */
	METER_BACKENDS = 64,
};

/* Upper bounds of the buckets, in microseconds; above the last there is no bound. */
extern const int64_t meter_wait_bound[METER_WAITS - 1];

struct meter;

/* A sum over all slots, or the numbers of one. */
struct meter_sums {
	uint64_t code[METER_METHODS][METER_CODES];
	uint64_t result[METER_METHODS][ERR_BUG + 1];
	uint64_t wait[METER_WAITS]; /* not cumulative */
	uint64_t wait_us;	    /* of all of them */
};

/* NULL when memory is exhausted: all functions accept it, nothing is counted then. */
struct meter *meter_create(void);

/* Worker: a call was answered. Some nanoseconds. */
void meter_answer(struct meter *meter, unsigned slot, const struct op *op, int code);

/* Worker: an Acquire was granted after it waited so long. */
void meter_waited(struct meter *meter, unsigned slot, int64_t us);

/* Worker: whether its backend number `index` answers. */
void meter_backend(struct meter *meter, unsigned slot, size_t index, bool up);

/* Master: a worker was started, other than the first one in a slot; the configuration was read. */
void meter_restarted(struct meter *meter);
void meter_reloaded(struct meter *meter, bool good, int64_t wall_us);

/* Readers. A slot of DRIVER_WORKERS_MAX or more: all. */
void meter_read(const struct meter *meter, unsigned slot, struct meter_sums *sums);
bool meter_backend_up(const struct meter *meter, unsigned slot, size_t index);
uint64_t meter_restarts(const struct meter *meter);
void meter_reload(const struct meter *meter, bool *good, int64_t *wall_us);

#endif
