/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/status.h - from a failed op to a gRPC status with google.rpc details. */
#ifndef LEASED_WORKER_STATUS_H
#define LEASED_WORKER_STATUS_H

#include <grpc/slice.h>
#include <grpc/status.h>

#include "core/op.h"

struct status {
	grpc_status_code code;
	grpc_slice message; /* percent-encoded on the wire by the core */
	grpc_slice details; /* google.rpc.Status, empty when none is sent */
};

/* The status of `op`, whose answer.result is not ERR_OK. The caller unrefs both slices. Never
 * fails: without memory the details are missing. */
void status_make(struct op *op, struct status *status);

/* Gives back both slices. */
void status_free(struct status *status);

#endif
