/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/failure.h - what an error of the database means for the statement that got it, and what of its
 * text may be shown. */
#ifndef LEASED_PG_FAILURE_H
#define LEASED_PG_FAILURE_H

#include <libpq-fe.h>

#include "core/driver.h"

enum pg_verdict {
	PG_DONE,    /* a result */
	PG_AGAIN,   /* nothing was done, and the same may work in a moment */
	PG_REFUSED, /* nothing was done, and nothing will */
	PG_LOST,    /* the connection is of no use; what was done is unknown */
};

enum pg_verdict pg_failure_judge(const PGresult *result);

/* The first line of `message` without `password` (NULL = none), to `why` (DRIVER_WHY bytes). */
void pg_failure_text(char *why, const char *message, const char *password);

#endif
