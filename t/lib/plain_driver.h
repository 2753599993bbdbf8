/* SPDX-License-Identifier: Apache-2.0
 *
 * A lease table in one process without sharing, locks or repair: the worker's tests run on it, and
 * it shows what the rest of the server costs. One worker only. */
#ifndef LEASED_T_PLAIN_DRIVER_H
#define LEASED_T_PLAIN_DRIVER_H

#include "shm/driver.h"

#endif
