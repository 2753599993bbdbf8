/* SPDX-License-Identifier: Apache-2.0
 *
 * core/limits.h - the limits of requests that the configuration sets. */
#ifndef LEASED_CORE_LIMITS_H
#define LEASED_CORE_LIMITS_H

#include <stdint.h>

#define LIMITS_MAX_TTL_DEFAULT	INT64_C(604800000000)	 /* 7 days */
#define LIMITS_MAX_TTL_MOST	INT64_C(315360000000000) /* 3650 days, the contract's 10 years */
#define LIMITS_MAX_WAIT_DEFAULT INT64_C(3600000000)	 /* 1 hour */
#define LIMITS_MAX_WAIT_MOST	LIMITS_MAX_TTL_MOST
#define LIMITS_TTL_LEAST	INT64_C(1000) /* 1 ms; smaller positive values round up */

struct limits {
	int64_t max_ttl_us;
	int64_t max_wait_us;
};

#endif
