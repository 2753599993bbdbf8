/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/waiting.h - while an Acquire stands in line: who holds the key, for how long, what is
 * left, and the own place. On a terminal one line that is rewritten, else a line every 30 s. */
#ifndef LEASED_LEASECTL_WAITING_H
#define LEASED_LEASECTL_WAITING_H

#include "leasectl/lease.h"
#include "leasectl/options.h"

/* Blocks until `acquire` (in flight on `client`) is done, with Inspect calls beside it. */
void waiting_show(const struct options *options, struct client *client, struct call *acquire);

#endif
