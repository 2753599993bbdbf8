/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/undo.h - a lease that was granted, or may have been, to somebody who was told otherwise: it is
 * released as soon as the database can be asked. */
#ifndef LEASED_PG_UNDO_H
#define LEASED_PG_UNDO_H

#include "core/op.h"
#include "pg/ticket.h"

struct pg_undo;

/* A copy of what is needed. NULL when memory is exhausted: then only the ttl ends that lease. */
struct pg_undo *pg_undo_make(const struct op *op, struct holder_id holder);
void pg_undo_free(struct pg_undo *undo);
/* Takes ownership. NULL is accepted. */
void pg_undo_start(struct pg_engine *engine, struct pg_undo *undo);

#endif
