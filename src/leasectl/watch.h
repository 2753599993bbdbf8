/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEASED_LEASECTL_WATCH_H
#define LEASED_LEASECTL_WATCH_H

#include "leasectl/options.h"

int watch_main(const struct options *options);
int top_main(const struct options *options);

#endif
