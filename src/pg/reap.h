/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/reap.h - rows whose lease is over for long are removed, few at a time, and never one that
 * somebody has locked. Used by the I/O thread only. */
#ifndef LEASED_PG_REAP_H
#define LEASED_PG_REAP_H

#include "pg/ticket.h"

void pg_reap_turn(struct pg_engine *engine);

extern const struct pg_ticket_kind pg_reap_kind;

#endif
