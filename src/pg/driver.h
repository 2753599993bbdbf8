/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/driver.h - the Postgres driver: leases in one table of a database, shared by many hosts. */
#ifndef LEASED_PG_DRIVER_H
#define LEASED_PG_DRIVER_H

#include "core/driver.h"

extern const struct driver pg_driver; /* name "postgres" */

#endif
