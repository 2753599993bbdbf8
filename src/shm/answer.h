/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/answer.h - from what the table says to what the caller of an operation sees. */
#ifndef LEASED_SHM_ANSWER_H
#define LEASED_SHM_ANSWER_H

#include "shm/probe.h"
#include "shm/table.h"

/* Holder, token, times and waiters. Names and payload are the caller's to set. */
void shm_answer_times(const struct shm_map *map, const struct shm_grant *grant, int64_t now,
		      uint32_t waiters, struct lease *lease);

/* Completes op->answer for `result` of an operation whose payload stands in `scratch`. Returns
 * answer.result: `result`, or ERR_BACKEND_DOWN when there is no memory for the answer. */
enum err shm_answer(const struct shm_map *map, struct op *op, enum err result,
		    const struct shm_result *from, const uint64_t *scratch);

/* Completes the answer to OP_INSPECT. `scratch`: SHM_PAYLOAD_WORDS, overwritten. */
enum err shm_answer_inspect(const struct shm_map *map, struct op *op, const struct shm_name *name,
			    uint64_t *scratch);

#endif
