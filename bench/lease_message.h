/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lease_message.h - requests and answers of mindd.lease.v1 as the load generator needs them.
 */
#ifndef LEASED_BENCH_LEASE_MESSAGE_H
#define LEASED_BENCH_LEASE_MESSAGE_H

#include "bench/connection.h"

enum { HOLDER_LEN = 36 };

/* Fill exchange->request; the key is borrowed for the call. */
void lease_put_acquire(struct exchange *exchange, const char *key, int ttl_s, int wait_s);
void lease_put_release(struct exchange *exchange, const char *key, const uint8_t *holder);
void lease_put_inspect(struct exchange *exchange, const char *key);

/* Reads the holder of an Acquire answer; dies when the call did not end with OK. */
void lease_get_holder(const struct exchange *exchange, uint8_t holder[static HOLDER_LEN]);

/* Waiters of an Inspect answer. */
unsigned lease_get_waiters(const struct exchange *exchange);

#endif
