/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/clock.h"

static int64_t read_us(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * CLOCK_SECOND + now.tv_nsec / 1000;
}

int64_t clock_boot_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

int64_t clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}
