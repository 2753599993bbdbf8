/* SPDX-License-Identifier: Apache-2.0
 *
 * master/notify.h - tells the service manager how the server is, by sd_notify(3)'s protocol: one
 * datagram of NAME=value lines to the socket in $NOTIFY_SOCKET. Without that variable nothing
 * happens. A manager that does not read must not stop the server: what it has no room for is lost.
 */
#ifndef LEASED_MASTER_NOTIFY_H
#define LEASED_MASTER_NOTIFY_H

#include <stdint.h>

struct notify {
	int fd;		  /* -1 = nobody to tell */
	int64_t every_us; /* the watchdog wants to hear this often; 0 = it does not */
	int64_t next_us;  /* boot clock, of the next word to it; CLOCK_NEVER = none */
};

/* Opens the way to the socket and reads $WATCHDOG_USEC; never fails, may log. `pid` is the
 * caller's: a watchdog that waits for another process is none of its business. */
void notify_open(struct notify *notify, int64_t pid);

/* Every worker serves: READY=1, and from now on the watchdog hears of the main loop. */
void notify_ready(struct notify *notify, unsigned workers);

/* The configuration is being read again; notify_ready ends it. */
void notify_reloading(struct notify *notify);

void notify_stopping(struct notify *notify);

/* From the main loop: a sign of life when one is due. */
void notify_tick(struct notify *notify, int64_t now);

void notify_close(struct notify *notify);

#endif
