/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/symbol.h - which names a .proto file declares. */
#ifndef LEASED_WORKER_SYMBOL_H
#define LEASED_WORKER_SYMBOL_H

#include <stdbool.h>

#include "google/protobuf/descriptor.pb-c.h"

/* True when `file` declares the fully-qualified `name`: a message, field, oneof, enum, enum value,
 * service or method. A leading dot is allowed. */
bool symbol_declared(const Google__Protobuf__FileDescriptorProto *file, const char *name);

/* The message type, wherever it is nested. */
bool symbol_is_message(const Google__Protobuf__FileDescriptorProto *file, const char *name);

#endif
