/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/bell.h - waking the waker thread of a slot, by a condition variable that the death of any
 * process at any instruction cannot spoil for others.
 *
 * Rules: only the slot's waker sleeps on it; a signal is sent only with the bell's mutex held, so a
 * signaller that died inside is seen as EOWNERDEAD, and the bell moves on to a fresh variable;
 * every sleep is timed. A lost ring costs one tick of the waker, never more. */
#ifndef LEASED_SHM_BELL_H
#define LEASED_SHM_BELL_H

#include "shm/actor.h"

enum { SHM_BELL_USED_UP = SHM_CONDS };

/* Before any process uses it: all of them are gone. */
void shm_bell_init(struct shm_bell *bell);

/* Wakes the waker if it sleeps. Any thread, no stripe lock held. Blocks a millisecond or two at
 * worst (then its tick must do). */
void shm_bell_ring(struct shm_bell *bell);

/* Rings all slots in actor->ring but the actor's own, and clears it. True: its own was in it. */
bool shm_bell_ring_all(struct shm_actor *actor);

/* For a new waker: a variable of its own, or SHM_BELL_USED_UP: then it can only look from time to
 * time. ERR_BACKEND_DOWN when the bell cannot be locked within a second. */
enum err shm_bell_renew(struct shm_bell *bell, uint32_t *cond);

/* Sleeps until rung, at most `us`. False when `cond` is no longer the current variable: then this
 * waker must get another one. Only the waker that owns `cond`. */
bool shm_bell_sleep(struct shm_bell *bell, uint32_t cond, int64_t us);

#endif
