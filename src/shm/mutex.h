/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/mutex.h - robust, process-shared mutexes, waited for with a limit. */
#ifndef LEASED_SHM_MUTEX_H
#define LEASED_SHM_MUTEX_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Nobody may use it yet, or any more. */
void shm_mutex_init(pthread_mutex_t *mutex);

/* 0, EOWNERDEAD (locked; the caller repairs), ENOTRECOVERABLE, or ETIMEDOUT after `us`. A wake-up
 * that gets lost inside the C library costs 20 ms. */
int shm_mutex_lock(pthread_mutex_t *mutex, int64_t us);

/* The moment `us` from now, on CLOCK_MONOTONIC. */
struct timespec shm_mutex_after(int64_t us);

#endif
