/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/call.h - one unary call of the Lease service, from accept to its last tag. */
#ifndef LEASED_WORKER_CALL_H
#define LEASED_WORKER_CALL_H

#include "core/op.h"
#include "worker/server.h"

/* Asks the core for the next call of this method. Event loop thread. */
void call_accept(struct server *server, enum op_kind kind);

/* Every parked call shows its token again: one that was revoked, or lost a right, is answered. */
void call_recheck_parked(struct server *server);

/* Answers the parked calls whose token has expired; looks once a second. */
void call_expire_parked(struct server *server);

/* Frees the call objects kept for the next calls, at the end. */
void call_free_spares(struct server *server);

#endif
