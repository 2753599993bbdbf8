/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/chore.h - a worker's thread for what would hold up its event loop: lists, and the state file.
 * While it has an op, op and arena are its own; the event loop gets them back from
 * shm_chore_finished. */
#ifndef LEASED_SHM_CHORE_H
#define LEASED_SHM_CHORE_H

#include "core/driver.h"
#include "shm/shared.h"

struct shm_chore;

/* NULL: no memory or no thread. */
struct shm_chore *shm_chore_start(struct driver_shared *shared, struct shm_map *map,
				  const struct driver_host *host);

/* Gives it an OP_LIST. ERR_PENDING, or ERR_BACKEND_DOWN (no memory). Any order of completion. */
enum err shm_chore_list(struct shm_chore *chore, struct op *op);

/* Asks it to stop working on `op`; true: it had not begun, the op is the caller's again. Else the
 * op comes from shm_chore_finished soon. */
bool shm_chore_cancel(struct shm_chore *chore, struct op *op);

/* The next op that is done, or NULL. */
struct op *shm_chore_finished(struct shm_chore *chore);
bool shm_chore_has_finished(struct shm_chore *chore);

/* Fencing tokens run low: soon, please. Cheap. */
void shm_chore_reserve(struct shm_chore *chore);

/* No op may be under way. The thread has ended when it returns. */
void shm_chore_stop(struct shm_chore *chore);

#endif
