/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/segcheck.h - all invariants of a table at rest: those of shm_verify, and that every grant
 * that nobody took yet is the lease that counts and lies in its worker's mailbox. */
#ifndef LEASED_T_SEGCHECK_H
#define LEASED_T_SEGCHECK_H

#include "shm/map.h"

/* NULL, or what is wrong (static text). */
const char *segcheck(const struct shm_map *map);

#endif
