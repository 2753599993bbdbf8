/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/chore.h"
#include "shm/fence.h"
#include "shm/scan.h"

enum { TICK_NS = 500000000 };
#define COMPLAIN_US INT64_C(10000000)

struct job {
	struct op *op;
	struct job *next;
	atomic_bool stop;
};

struct shm_chore {
	struct driver_shared *shared;
	struct shm_map *map;
	struct driver_host host;
	pthread_t thread;
	pthread_mutex_t mutex; /* the fields below */
	pthread_cond_t cond;
	struct job *first, **last; /* to do, in order */
	struct job *finished;
	bool end, reserve;
	int64_t complained; /* thread only */
};

/* With the mutex held. */
static void wait_for_work(struct shm_chore *chore)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	if (!chore->end && !chore->first && !chore->reserve)
		pthread_cond_timedwait(&chore->cond, &chore->mutex, &until);
}

static void reserve(struct shm_chore *chore)
{
	int64_t now = clock_boot_us();

	if (shm_fence_reserve(chore->shared) == ERR_OK || now - chore->complained < COMPLAIN_US)
		return;
	chore->complained = now;
	log_warn("cannot write the state file: no grants when its reserve of tokens is used up",
		 LOG_TEXT("file", chore->shared->state_path), LOG_TEXT("why", strerror(errno)));
}

static void work(struct shm_chore *chore, struct job *job)
{
	shm_scan(chore->map, job->op, &job->stop);
	pthread_mutex_lock(&chore->mutex);
	job->next = chore->finished;
	chore->finished = job;
	pthread_mutex_unlock(&chore->mutex);
	chore->host.kick(chore->host.arg);
}

static void *run(void *arg)
{
	struct shm_chore *chore = arg;
	bool end = false;

	while (!end) {
		struct job *job;

		pthread_mutex_lock(&chore->mutex);
		wait_for_work(chore);
		job = chore->first;
		if (job) {
			chore->first = job->next;
			if (!chore->first)
				chore->last = &chore->first;
		}
		chore->reserve = false;
		end = chore->end;
		pthread_mutex_unlock(&chore->mutex);
		if (shm_fence_low(chore->map))
			reserve(chore);
		if (job)
			work(chore, job);
	}
	return NULL;
}

static bool start_thread(struct shm_chore *chore)
{
	sigset_t all, old;
	bool good;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	good = pthread_create(&chore->thread, NULL, run, chore) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return good;
}

struct shm_chore *shm_chore_start(struct driver_shared *shared, struct shm_map *map,
				  const struct driver_host *host)
{
	struct shm_chore *chore = calloc(1, sizeof *chore);
	pthread_condattr_t kind;

	if (!chore)
		return NULL;
	chore->shared = shared;
	chore->map = map;
	chore->host = *host;
	chore->last = &chore->first;
	chore->complained = -COMPLAIN_US;
	pthread_mutex_init(&chore->mutex, NULL);
	pthread_condattr_init(&kind);
	pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
	pthread_cond_init(&chore->cond, &kind);
	pthread_condattr_destroy(&kind);
	if (start_thread(chore))
		return chore;
	free(chore);
	return NULL;
}

enum err shm_chore_list(struct shm_chore *chore, struct op *op)
{
	struct job *job = calloc(1, sizeof *job);

	if (!job)
		return op->answer.result = ERR_BACKEND_DOWN;
	job->op = op;
	op->driver_data = job;
	pthread_mutex_lock(&chore->mutex);
	*chore->last = job;
	chore->last = &job->next;
	pthread_cond_signal(&chore->cond);
	pthread_mutex_unlock(&chore->mutex);
	return ERR_PENDING;
}

bool shm_chore_cancel(struct shm_chore *chore, struct op *op)
{
	struct job *job = op->driver_data;
	struct job **link;
	bool waiting;

	pthread_mutex_lock(&chore->mutex);
	for (link = &chore->first; *link && *link != job;)
		link = &(*link)->next;
	waiting = *link != NULL;
	if (waiting) {
		*link = job->next;
		if (chore->last == &job->next)
			chore->last = link;
	} else {
		atomic_store(&job->stop, true);
	}
	pthread_mutex_unlock(&chore->mutex);
	if (waiting) {
		op->driver_data = NULL;
		free(job);
	}
	return waiting;
}

struct op *shm_chore_finished(struct shm_chore *chore)
{
	struct job *job;
	struct op *op;

	pthread_mutex_lock(&chore->mutex);
	job = chore->finished;
	if (job)
		chore->finished = job->next;
	pthread_mutex_unlock(&chore->mutex);
	if (!job)
		return NULL;
	op = job->op;
	op->driver_data = NULL;
	free(job);
	return op;
}

bool shm_chore_has_finished(struct shm_chore *chore)
{
	bool some;

	pthread_mutex_lock(&chore->mutex);
	some = chore->finished != NULL;
	pthread_mutex_unlock(&chore->mutex);
	return some;
}

void shm_chore_reserve(struct shm_chore *chore)
{
	pthread_mutex_lock(&chore->mutex);
	chore->reserve = true;
	pthread_cond_signal(&chore->cond);
	pthread_mutex_unlock(&chore->mutex);
}

void shm_chore_stop(struct shm_chore *chore)
{
	pthread_mutex_lock(&chore->mutex);
	chore->end = true;
	pthread_cond_signal(&chore->cond);
	pthread_mutex_unlock(&chore->mutex);
	pthread_join(chore->thread, NULL);
	pthread_cond_destroy(&chore->cond);
	pthread_mutex_destroy(&chore->mutex);
	free(chore);
}
