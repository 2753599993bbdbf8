/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/thread.h - a thread that no signal disturbs. */
#ifndef LEASED_PG_THREAD_H
#define LEASED_PG_THREAD_H

#include <pthread.h>

#include "base/err.h"

/* ERR_SYSTEM when there is none to be had. */
enum err pg_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
