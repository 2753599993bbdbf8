/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/reflection.h - answers of grpc.reflection.v1 and v1alpha (the messages are the same on the
 * wire) from the descriptors that were built in. */
#ifndef LEASED_WORKER_REFLECTION_H
#define LEASED_WORKER_REFLECTION_H

#include <grpc/slice.h>

#include "base/arena.h"

/* Reads the built-in descriptors; once, before the first answer. Memory is never freed. */
void reflection_init(void);

/* Answers one packed ServerReflectionRequest with one packed ServerReflectionResponse that the
 * caller owns. What is not found is an error_response inside. False: not such a message. */
bool reflection_answer(struct arena *arena, struct bytes request, grpc_slice *out);

#endif
