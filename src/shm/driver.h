/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/driver.h - the memory driver: a lease table in POSIX shared memory, served by all workers of
 * one master. Start reading at shm/README.md. */
#ifndef LEASED_SHM_DRIVER_H
#define LEASED_SHM_DRIVER_H

#include "core/driver.h"

extern const struct driver shm_driver; /* "memory" */

#endif
