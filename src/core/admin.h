/* SPDX-License-Identifier: Apache-2.0
 *
 * core/admin.h - what the process that answers operators is given at its birth. It stands in core
 * so that the master can start it without knowing HTTP: main hands it an admin_run_f. */
#ifndef LEASED_CORE_ADMIN_H
#define LEASED_CORE_ADMIN_H

#include "core/board.h"
#include "core/meter.h"
#include "core/settings.h"

struct admin_setup {
	int listen;			 /* non-blocking listening socket */
	const struct settings *settings; /* as of the start of this process */
	const struct board *board;
	const struct meter *meter;
	int64_t started_us; /* wall clock, of the master */
};

/* Runs in the calling, freshly forked process until it is killed; the exit status when it cannot.
 * It has no state: the master starts another one when it dies. */
typedef int admin_run_f(const struct admin_setup *setup);

#endif
