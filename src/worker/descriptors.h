/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/descriptors.h - the FileDescriptorSet of everything this server speaks, with comments,
 * built in from proto/ (see proto/local.mk). */
#ifndef LEASED_WORKER_DESCRIPTORS_H
#define LEASED_WORKER_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

extern const uint8_t descriptors_data[];
extern const size_t descriptors_size;

#endif
