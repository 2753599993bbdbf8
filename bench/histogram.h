/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/histogram.h - latencies in log-linear buckets: 64 per power of two, so a percentile is at
 * most 1.6 % off. */
#ifndef LEASED_BENCH_HISTOGRAM_H
#define LEASED_BENCH_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_SUB = 64, HISTOGRAM_BUCKETS = 64 * HISTOGRAM_SUB };

struct histogram {
	uint64_t count[HISTOGRAM_BUCKETS];
	uint64_t total;
};

void histogram_add(struct histogram *histogram, uint64_t ns);

/* The smallest value that `share` (0..1) of all do not exceed; 0 when there is none. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

#endif
