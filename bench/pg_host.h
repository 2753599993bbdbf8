/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/pg_host.h - the Postgres driver without a server around it: a stand-in for a worker, and
 * calls that go on by themselves. Whatever fails ends the benchmark. */
#ifndef LEASED_BENCH_PG_HOST_H
#define LEASED_BENCH_PG_HOST_H

#include "core/driver.h"

struct pg_host {
	struct driver_shared *shared;
	struct driver_worker *worker;
	struct driver_host host;
	int bell;
};

/* Returns when the database is there. `durability` is one of the option's words. */
void pg_host_open(struct pg_host *host, const char *dsn, unsigned connections,
		  const char *durability);
void pg_host_close(struct pg_host *host);

/* Calls what is due, then sleeps until a kick or `until_us` of the boot clock. */
void pg_host_turn(struct pg_host *host, int64_t until_us);

/* One client: at most one call under way. */
struct pg_player {
	struct pg_host *host;
	struct op op;
	struct arena arena;
	char key[32];
	struct holder_id holder;
	int64_t begun_us;
	bool busy;
	void (*then)(struct pg_player *player); /* the answer is in op.answer */
	void *arg;
};

void pg_player_init(struct pg_player *player, struct pg_host *host, const char *key);
void pg_player_acquire(struct pg_player *player, int64_t wait_us);
void pg_player_release(struct pg_player *player); /* what it acquired last */

#endif
