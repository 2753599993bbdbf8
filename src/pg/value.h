/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/value.h - parameters and results in the binary format of the wire: nothing depends on the
 * server's locale, time zone or quoting, and no text ends at a NUL. */
#ifndef LEASED_PG_VALUE_H
#define LEASED_PG_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include <libpq-fe.h>

#include "core/lease.h"

enum { PG_PARAMS_MAX = 10 };

/* Parameters of one statement. Borrows texts; numbers are kept inside, so it must not be moved. */
struct pg_params {
	int count;
	const char *value[PG_PARAMS_MAX];
	int length[PG_PARAMS_MAX];
	int format[PG_PARAMS_MAX];
	uint8_t number[PG_PARAMS_MAX][16];
};

void pg_params_text(struct pg_params *params, struct bytes text);
void pg_params_holder(struct pg_params *params, struct holder_id holder);
void pg_params_interval(struct pg_params *params, int64_t us);
void pg_params_bool(struct pg_params *params, bool value);
void pg_params_count(struct pg_params *params, int64_t value);

/* Queues a prepared statement in the pipeline; a Sync must follow. False when the connection is
 * broken. Does not block. */
bool pg_params_send(const struct pg_params *params, PGconn *pg, const char *statement);

/* One column of a row of a binary result. A NULL, or a value of another size, is 0 or empty. */
int32_t pg_value_int(const PGresult *result, int row, int column);
int64_t pg_value_long(const PGresult *result, int row, int column);
/* timestamptz: microseconds since 1970. */
int64_t pg_value_time(const PGresult *result, int row, int column);
struct holder_id pg_value_holder(const PGresult *result, int row, int column);
/* Borrowed from the result. */
struct bytes pg_value_text(const PGresult *result, int row, int column);

#endif
