/* SPDX-License-Identifier: Apache-2.0
 *
 * base/clock.h - the two clocks, in microseconds. Deadlines travel, timeouts do not.
 * Source: clock_gettime(2). Neither function blocks or fails. */
#ifndef LEASED_BASE_CLOCK_H
#define LEASED_BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER  INT64_MAX
#define CLOCK_SECOND INT64_C(1000000)
#define CLOCK_MILLI  INT64_C(1000)

/* CLOCK_BOOTTIME: counts suspended time, untouched by steps of the wall clock. All leases, waits
 * and timers count in it. Rounded down: a reading is never in the future. */
int64_t clock_boot_us(void);

/* CLOCK_REALTIME, for printing only. */
int64_t clock_wall_us(void);

#endif
