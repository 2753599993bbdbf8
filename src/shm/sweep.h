/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/sweep.h - what a dead worker left in its slot. */
#ifndef LEASED_SHM_SWEEP_H
#define LEASED_SHM_SWEEP_H

#include "shm/actor.h"

/* Leaves every waiter of `slot` idle: those queued leave their queues, grants nobody saw go to the
 * next, grants that were taken stay leases. Its generation must have moved on. May die anywhere and
 * be done again by the next one. ERR_OK or ERR_BACKEND_DOWN. */
enum err shm_sweep_slot(struct shm_actor *actor, unsigned slot);

#endif
