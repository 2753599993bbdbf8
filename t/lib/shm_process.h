/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/shm_process.h - a worker process on a shm_case, told what to do by messages, so that it can
 * be stopped and killed. */
#ifndef LEASED_T_SHM_PROCESS_H
#define LEASED_T_SHM_PROCESS_H

#include <sys/types.h>

#include "shm_case.h"

struct shm_process {
	pid_t pid;
	unsigned slot;
	int channel; /* SOCK_SEQPACKET */
};

struct shm_order {
	enum op_kind kind;
	int number; /* comes back in the report */
	char key[32];
	int64_t ttl_us, wait_us;
	struct holder_id holder;
};

struct shm_report {
	int number;
	bool first; /* what submit said; ERR_PENDING is followed by another report */
	enum err result;
	struct holder_id holder;
	uint64_t token;
};

/* Forks a worker that has attached to `slot` when this returns. */
void shm_process_start(struct shm_process *process, struct shm_case *test, unsigned slot);
void shm_process_kill(struct shm_process *process);

/* Gives an acquire; returns what submit answered (`report` may be NULL). */
enum err shm_process_acquire(struct shm_process *process, int number, const char *key,
			     int64_t ttl_us, int64_t wait_us, struct shm_report *report);
enum err shm_process_release(struct shm_process *process, const char *key, struct holder_id holder);

/* The next report of an op that waited, within `us`. False: none came. */
bool shm_process_report(struct shm_process *process, struct shm_report *report, int64_t us);

#endif
