/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/worker.h - the driver's part in a worker, as its event loop sees it: nothing here blocks but
 * attach (never on the network) and detach (a second or two). */
#ifndef LEASED_PG_WORKER_H
#define LEASED_PG_WORKER_H

#include "core/driver.h"

enum err pg_worker_attach(struct driver_shared *shared, const struct driver_host *host,
			  struct driver_worker **worker);
enum err pg_worker_submit(struct driver_worker *worker, struct op *op);
void pg_worker_cancel(struct driver_worker *worker, struct op *op);
void pg_worker_poll(struct driver_worker *worker);
int64_t pg_worker_next(struct driver_worker *worker);
void pg_worker_drain(struct driver_worker *worker);
void pg_worker_detach(struct driver_worker *worker);
enum err pg_worker_health(struct driver_worker *worker);

#endif
