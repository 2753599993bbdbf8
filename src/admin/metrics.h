/* SPDX-License-Identifier: Apache-2.0
 *
 * admin/metrics.h - the counters in the text format of Prometheus (version 0.0.4). Never a label by
 * key or owner: their number has no bound. */
#ifndef LEASED_ADMIN_METRICS_H
#define LEASED_ADMIN_METRICS_H

#include "core/admin.h"

/* The whole page, to be freed, its length in *size; NULL when memory is exhausted. */
char *metrics_write(const struct admin_setup *setup, size_t *size);

#endif
