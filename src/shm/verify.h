/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/verify.h - all invariants of README.md, on a table at rest (nobody else works on it). */
#ifndef LEASED_SHM_VERIFY_H
#define LEASED_SHM_VERIFY_H

#include "shm/map.h"

/* NULL when all hold, else which one does not (static text). Allocates a byte per element; "no
 * memory" is an answer too. `records`: when not NULL, how many keys are linked. */
const char *shm_verify(const struct shm_map *map, uint32_t *records);

#endif
