/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/scan.h - the answer to OP_LIST: all records in turn, without a lock, while others write. */
#ifndef LEASED_SHM_SCAN_H
#define LEASED_SHM_SCAN_H

#include <stdatomic.h>

#include "core/op.h"
#include "shm/map.h"

/* Completes op->answer. Takes milliseconds for many leases: for a thread of its own. `stop`: give
 * up with ERR_CANCELLED. A lease held throughout is in it once; one granted or ended meanwhile may
 * be. */
enum err shm_scan(const struct shm_map *map, struct op *op, const atomic_bool *stop);

#endif
