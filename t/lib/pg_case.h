/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/pg_case.h - workers of the postgres driver, driven by hand through the driver interface, on
 * a table that nobody else has. All failures end the test. */
#ifndef LEASED_T_PG_CASE_H
#define LEASED_T_PG_CASE_H

#include <libpq-fe.h>

#include "core/driver.h"

enum { PG_CASE_OPTIONS = 16 };

struct pg_case {
	char schema[64];
	char dsn[512];
	char why[DRIVER_WHY];
	struct driver_shared *shared;
	union option_value value[PG_CASE_OPTIONS];
};

/* Defaults, a schema of its own, which is the sessions' application_name, too; nothing is prepared
 * yet. */
void pg_case_init(struct pg_case *test);
/* The value of the option called `name`. */
union option_value *pg_case_option(struct pg_case *test, const char *name);
enum err pg_case_try(struct pg_case *test);
void pg_case_open(struct pg_case *test);
void pg_case_close(struct pg_case *test);

/* A plain session beside the driver, with the case's schema in its search path. */
PGconn *pg_case_session(const struct pg_case *test);
/* Runs SQL there; the first column of the first row as text ("" = none). Static memory. */
const char *pg_case_sql(PGconn *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct pg_client {
	struct driver_worker *worker;
	struct driver_host host;
	int bell;
};

/* Attaches without waiting for the database. */
void pg_client_attach(struct pg_client *client, struct pg_case *test, unsigned slot);
void pg_client_detach(struct pg_client *client);
/* Until health says so, at most `us`. */
bool pg_client_health(struct pg_client *client, enum err wanted, int64_t us);
/* Runs the client for at most `us` or until *done. */
void pg_client_run(struct pg_client *client, const bool *done, int64_t us);

struct pg_op {
	struct op op;
	struct arena arena;
	bool done;
	int64_t begun_us, done_us;
	struct metadata_entry entry[LEASE_METADATA_ENTRIES_MAX];
};

void pg_op_init(struct pg_op *one, enum op_kind kind, const char *name_space, const char *key);
void pg_op_free(struct pg_op *one);
void pg_op_submit(struct pg_client *client, struct pg_op *one);
/* Until it is done, at most 15 s; answer.result. */
enum err pg_op_finish(struct pg_client *client, struct pg_op *one);

/* In namespace "n", from begin to end; `one` is initialised. */
enum err pg_take(struct pg_client *client, struct pg_op *one, const char *key, int64_t ttl_us);
/* Only begins. */
void pg_wait(struct pg_client *client, struct pg_op *one, const char *key, int64_t ttl_us,
	     int64_t wait_us);
enum err pg_renew(struct pg_client *client, struct pg_op *one, const char *key,
		  struct holder_id holder, int64_t ttl_us);
enum err pg_release(struct pg_client *client, struct pg_op *one, const char *key,
		    struct holder_id holder);
enum err pg_inspect(struct pg_client *client, struct pg_op *one, const char *key);
enum err pg_list(struct pg_client *client, struct pg_op *one, const char *prefix);
/* Runs the client until so many wait for `key`, or ends the test after 10 s. */
void pg_until_waiting(struct pg_client *client, const char *key, uint32_t waiters);
/* Runs the client until `key` is held or not, or ends the test after 10 s. */
void pg_until_held(struct pg_client *client, const char *key, bool held);

#endif
