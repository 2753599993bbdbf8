/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/codec.h - protobuf bytes to an op and back. Everything unpacked lives in the op's arena;
 * strings stay bytes with a length. Never blocks. */
#ifndef LEASED_WORKER_CODEC_H
#define LEASED_WORKER_CODEC_H

#include <grpc/slice.h>

#include "core/op.h"
#include "core/service.h"

/* Unpacks the request of op->kind from `wire` (which must live as long as the op: strings are
 * copied by protobuf-c, so it need not). False: not a message of that kind. */
bool codec_decode(struct op *op, struct bytes wire, struct service_input *input);

/* The response message of a finished op, exactly packed; the caller unrefs it. An empty arena
 * failure cannot happen silently: false when memory is exhausted. */
bool codec_encode(struct op *op, grpc_slice *out);

#endif
