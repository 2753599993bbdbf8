/* SPDX-License-Identifier: Apache-2.0
 *
 * admin/admin.h - answers operators over HTTP: metrics for Prometheus, /healthz, /readyz. Reads the
 * shared counters and nothing else: it cannot take, show or disturb a lease. */
#ifndef LEASED_ADMIN_ADMIN_H
#define LEASED_ADMIN_ADMIN_H

#include "core/admin.h"

/* An admin_run_f. Requests are bounded in size, time and number. */
int admin_run(const struct admin_setup *setup);

#endif
