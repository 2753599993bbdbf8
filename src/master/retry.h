/* SPDX-License-Identifier: Apache-2.0
 *
 * master/retry.h - patience at the start: when a master was killed, its workers and with them its
 * sockets and locks need a moment to go. */
#ifndef LEASED_MASTER_RETRY_H
#define LEASED_MASTER_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* The time until which a start should try again. */
int64_t retry_until(void);

/* Sleeps a little and says true while it is worth another try, else false at once. */
bool retry_pause(int64_t until_us);

#endif
