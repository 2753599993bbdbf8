/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/schema.h - the table: found, or made. */
#ifndef LEASED_PG_SCHEMA_H
#define LEASED_PG_SCHEMA_H

#include "pg/ask.h"
#include "pg/shared.h"

/* True when the table is there and is one that the statements can rely on. Safe when many servers
 * start at once, and for a role that may not create as long as the table exists. False with `why`
 * (DRIVER_WHY bytes), or with `why` empty when PQerrorMessage says it. */
bool pg_schema_ensure(const struct driver_shared *shared, struct pg_ask *ask, char *why);

#endif
