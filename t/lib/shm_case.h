/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/shm_case.h - a memory table of its own for a test, and workers on it that are driven by
 * hand through the driver interface. All failures end the test. */
#ifndef LEASED_T_SHM_CASE_H
#define LEASED_T_SHM_CASE_H

#include "core/driver.h"

struct shm_case {
	char segment[96];
	char dir[64];
	char why[DRIVER_WHY];
	int64_t capacity, waiters, grace_us;
	unsigned workers;
	struct driver_shared *shared;
};

/* Segment name and state directory that nobody else has; nothing is prepared yet. Removed with the
 * process when it ends, at the latest (not by forked children). */
void shm_case_init(struct shm_case *test);
/* Prepare; shm_case_try answers what it said, shm_case_open wants ERR_OK. */
enum err shm_case_try(struct shm_case *test);
void shm_case_open(struct shm_case *test);
/* Close as the master does at a clean end; the table stays. */
void shm_case_close(struct shm_case *test);
/* Forget the table as a killed master does. */
void shm_case_kill(struct shm_case *test);
/* Remove all objects. */
void shm_case_remove(struct shm_case *test);

struct shm_client {
	struct driver_worker *worker;
	struct driver_host host;
	int bell; /* eventfd: kicks */
};

void shm_client_attach(struct shm_client *client, struct shm_case *test, unsigned slot);
void shm_client_detach(struct shm_client *client);

/* Polls when kicked or due, for at most `us` or until *done. */
void shm_client_run(struct shm_client *client, const bool *done, int64_t us);

/* One operation with its memory. */
struct shm_op {
	struct op op;
	struct arena arena;
	bool done;
	enum err first; /* what submit said */
	struct metadata_entry entry[LEASE_METADATA_ENTRIES_MAX];
};

void shm_op_init(struct shm_op *one, enum op_kind kind, const char *name_space, const char *key);
void shm_op_free(struct shm_op *one);
/* Submits; *done and answer.result are set at once unless ERR_PENDING. */
enum err shm_op_submit(struct shm_client *client, struct shm_op *one);
/* Runs the client until it is done, at most 5 s; answer.result. */
enum err shm_op_finish(struct shm_client *client, struct shm_op *one);

/* Whole operations in namespace "n" that do not wait. The answer's memory is that of `one`, which
 * they initialise. */
enum err shm_take(struct shm_client *client, struct shm_op *one, const char *key, int64_t ttl_us);
/* Starts an acquire that waits. */
enum err shm_wait(struct shm_client *client, struct shm_op *one, const char *key, int64_t ttl_us,
		  int64_t wait_us);
enum err shm_renew(struct shm_client *client, struct shm_op *one, const char *key,
		   struct holder_id holder, int64_t ttl_us);
enum err shm_release(struct shm_client *client, struct shm_op *one, const char *key,
		     struct holder_id holder);
enum err shm_inspect(struct shm_client *client, struct shm_op *one, const char *key);
enum err shm_list(struct shm_client *client, struct shm_op *one);
/* The same, freeing everything. */
bool shm_held(struct shm_client *client, const char *key);
uint32_t shm_waiting(struct shm_client *client, const char *key);

#endif
