/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/call.h - one unary call of the Lease service, from accept to its last tag. */
#ifndef LEASED_WORKER_CALL_H
#define LEASED_WORKER_CALL_H

#include "core/op.h"
#include "worker/server.h"

/* Asks the core for the next call of this method. Event loop thread. */
void call_accept(struct server *server, enum op_kind kind);

/* Frees the call objects kept for the next calls, at the end. */
void call_free_spares(struct server *server);

#endif
