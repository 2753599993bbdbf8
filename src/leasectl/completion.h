/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEASED_LEASECTL_COMPLETION_H
#define LEASED_LEASECTL_COMPLETION_H

#include "leasectl/options.h"

int completion_main(const struct options *options);

#endif
