/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/run.h - `run`: a command that cannot outlive its lease. This process is the supervisor:
 * one thread, no gRPC, one loop over signals, the keeper's posts and a boot-time timer. */
#ifndef LEASED_LEASECTL_RUN_H
#define LEASED_LEASECTL_RUN_H

#include "leasectl/options.h"

/* The verb; the exit status as in leasectl(1). */
int run_main(const struct options *options);

#endif
