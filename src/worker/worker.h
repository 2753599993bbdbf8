/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/worker.h - entry of a worker process. */
#ifndef LEASED_WORKER_WORKER_H
#define LEASED_WORKER_WORKER_H

#include "core/worker.h"

/* See worker_run_f. */
int worker_run(const struct worker_setup *setup);

#endif
