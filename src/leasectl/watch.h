/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/watch.h - looking at a namespace again and again. */
#ifndef LEASED_LEASECTL_WATCH_H
#define LEASED_LEASECTL_WATCH_H

#include "leasectl/options.h"

/* One line of JSON per change, until the reader goes away; what happens and ends between two looks
 * is not seen. The exit status. */
int watch_main(const struct options *options);

#endif
