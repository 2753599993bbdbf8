/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/top.h - the held keys of a namespace on a terminal, refreshed. */
#ifndef LEASED_LEASECTL_TOP_H
#define LEASED_LEASECTL_TOP_H

#include "leasectl/options.h"

/* Ends by q or a signal; without a terminal it is `list`. The exit status. */
int top_main(const struct options *options);

#endif
