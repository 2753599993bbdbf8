/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/stub_driver.h - drivers that have options and keep no leases, for tests of configuration
 * and processes. The memory driver is defined too, in place of the real one (shm/driver.h). A
 * backend whose name begins with "down" cannot be prepared. */
#ifndef LEASED_T_STUB_DRIVER_H
#define LEASED_T_STUB_DRIVER_H

#include "core/driver.h"

extern const struct driver stub_store; /* "postgres": one option of each kind */

#endif
