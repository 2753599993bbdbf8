/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/identity.h - who calls: reads the capability from the call's metadata. */
#ifndef LEASED_WORKER_IDENTITY_H
#define LEASED_WORKER_IDENTITY_H

#include <grpc/grpc.h>

#include "core/op.h"

/* Fills request.owner and request.may_break. Without auth a header is accepted and ignored, but two
 * are refused: ERR_TOKEN_INVALID with answer.text. Does not block. */
enum err identity_check(struct op *op, const grpc_metadata_array *metadata);

#endif
