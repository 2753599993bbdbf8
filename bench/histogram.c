/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/histogram.h"

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift;

	if (ns < HISTOGRAM_SUB)
		return (unsigned)ns;
	shift = 63u - (unsigned)__builtin_clzll(ns) - 6u;
	return (shift + 1) * HISTOGRAM_SUB + (unsigned)(ns >> shift) - HISTOGRAM_SUB;
}

static uint64_t value_of(unsigned bucket)
{
	unsigned shift = bucket / HISTOGRAM_SUB;

	if (shift == 0)
		return bucket;
	return (uint64_t)(bucket % HISTOGRAM_SUB + HISTOGRAM_SUB) << (shift - 1);
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	unsigned bucket = bucket_of(ns);

	histogram->count[bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1]++;
	histogram->total++;
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
	uint64_t seen = 0, wanted = (uint64_t)(share * (double)histogram->total);

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->count[i];
		if (seen > wanted)
			return value_of(i);
	}
	return 0;
}
