/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEASED_LEASECTL_RUN_H
#define LEASED_LEASECTL_RUN_H

#include "leasectl/options.h"

int run_main(const struct options *options);

#endif
