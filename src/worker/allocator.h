/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/allocator.h - protobuf-c on an arena: a message and all it points to are freed with it. */
#ifndef LEASED_WORKER_ALLOCATOR_H
#define LEASED_WORKER_ALLOCATOR_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"

ProtobufCAllocator allocator_of(struct arena *arena);

#endif
