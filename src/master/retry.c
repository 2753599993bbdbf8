/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/clock.h"
#include "master/retry.h"

#define PATIENCE_US (2 * CLOCK_SECOND)
#define PAUSE_NS    50000000

int64_t retry_until(void)
{
	return clock_boot_us() + PATIENCE_US;
}

bool retry_pause(int64_t until_us)
{
	struct timespec pause = {0, PAUSE_NS};

	if (clock_boot_us() >= until_us)
		return false;
	nanosleep(&pause, NULL);
	return true;
}
