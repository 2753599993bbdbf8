/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <endian.h>
#include <string.h>

#include "base/check.h"
#include "pg/value.h"

/* The server counts from 2000-01-01. */
#define EPOCH_US INT64_C(946684800000000)

static uint8_t *add(struct pg_params *params, int length)
{
	int place = params->count++;

	CHECK(place < PG_PARAMS_MAX);
	params->value[place] = (const char *)params->number[place];
	params->length[place] = length;
	params->format[place] = 1;
	return params->number[place];
}

static void put(uint8_t *to, int64_t value)
{
	uint64_t wire = htobe64((uint64_t)value);

	memcpy(to, &wire, sizeof wire);
}

void pg_params_text(struct pg_params *params, struct bytes text)
{
	int place = params->count;

	add(params, (int)text.len);
	if (text.len)
		params->value[place] = (const char *)text.data;
}

void pg_params_holder(struct pg_params *params, struct holder_id holder)
{
	memcpy(add(params, sizeof holder.byte), holder.byte, sizeof holder.byte);
}

/* Microseconds, days, months. */
void pg_params_interval(struct pg_params *params, int64_t us)
{
	uint8_t *number = add(params, 16);

	memset(number, 0, 16);
	put(number, us);
}

void pg_params_bool(struct pg_params *params, bool value)
{
	*add(params, 1) = value;
}

void pg_params_count(struct pg_params *params, int64_t value)
{
	put(add(params, 8), value);
}

bool pg_params_send(const struct pg_params *params, PGconn *pg, const char *statement)
{
	return PQsendQueryPrepared(pg, statement, params->count, params->value, params->length,
				   params->format, 1) == 1;
}

int32_t pg_value_int(const PGresult *result, int row, int column)
{
	uint32_t wire = 0;

	if (PQgetlength(result, row, column) == sizeof wire)
		memcpy(&wire, PQgetvalue(result, row, column), sizeof wire);
	return (int32_t)be32toh(wire);
}

int64_t pg_value_long(const PGresult *result, int row, int column)
{
	uint64_t wire = 0;

	if (PQgetlength(result, row, column) == sizeof wire)
		memcpy(&wire, PQgetvalue(result, row, column), sizeof wire);
	return (int64_t)be64toh(wire);
}

int64_t pg_value_time(const PGresult *result, int row, int column)
{
	int64_t since_2000 = pg_value_long(result, row, column);

	/* Infinite, by somebody's hand. */
	if (since_2000 > INT64_MAX / 4)
		return INT64_MAX / 4;
	if (since_2000 < -EPOCH_US)
		return 0;
	return since_2000 + EPOCH_US;
}

struct holder_id pg_value_holder(const PGresult *result, int row, int column)
{
	struct holder_id holder = {{0}};

	if (PQgetlength(result, row, column) == sizeof holder.byte)
		memcpy(holder.byte, PQgetvalue(result, row, column), sizeof holder.byte);
	return holder;
}

struct bytes pg_value_text(const PGresult *result, int row, int column)
{
	return (struct bytes){(const uint8_t *)PQgetvalue(result, row, column),
			      (size_t)PQgetlength(result, row, column)};
}
