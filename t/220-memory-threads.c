/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads stand in for processes, each with a worker of its own on one table, so that a thread
 * sanitizer sees all accesses. The exclusion oracle: who was granted a key counts itself in, and
 * out before it gives the key back; nobody may ever count two. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "core/holder.h"
#include "shm_case.h"

enum { WORKERS = 3, KEYS = 5 };
#define RUN_US (3 * CLOCK_SECOND)

static struct shm_case test;
static atomic_int inside[KEYS];
static atomic_ullong last_token[KEYS];
static atomic_int grants, double_grants, stale_tokens, wrong_answers;

struct player {
	pthread_t thread;
	struct shm_client client;
	uint64_t random;
};

static unsigned roll(struct player *player, unsigned sides)
{
	player->random = player->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(player->random >> 33) % sides;
}

static const char *name_of(unsigned key)
{
	static const char *const names[KEYS] = {"a", "b", "c", "d",
						"a key that is too long to stand "
						"in a record itself, whatever its "
						"namespace: it lies in a chain of "
						"chunks beside it"};

	return names[key];
}

/* The lease is ours: alone, and with a token above all that were seen. */
static void hold(struct player *player, unsigned key, struct shm_op *grant)
{
	struct holder_id holder = grant->op.answer.lease.holder;
	unsigned long long token = grant->op.answer.lease.fencing_token;
	struct shm_op one;

	if (atomic_fetch_add(&inside[key], 1) != 0)
		atomic_fetch_add(&double_grants, 1);
	if (atomic_exchange(&last_token[key], token) >= token)
		atomic_fetch_add(&stale_tokens, 1);
	atomic_fetch_add(&grants, 1);
	if (roll(player, 2)) {
		if (shm_renew(&player->client, &one, name_of(key), holder, 60 * CLOCK_SECOND) !=
		    ERR_OK)
			atomic_fetch_add(&wrong_answers, 1);
		shm_op_free(&one);
	}
	atomic_fetch_sub(&inside[key], 1);
	if (shm_release(&player->client, &one, name_of(key), holder) != ERR_OK)
		atomic_fetch_add(&wrong_answers, 1);
	shm_op_free(&one);
}

static void acquire(struct player *player)
{
	unsigned key = roll(player, KEYS);
	struct shm_op one;
	enum err err = roll(player, 2)
			   ? shm_take(&player->client, &one, name_of(key), 60 * CLOCK_SECOND)
			   : shm_wait(&player->client, &one, name_of(key), 60 * CLOCK_SECOND,
				      roll(player, 20000) + 1);

	if (err == ERR_PENDING)
		err = shm_op_finish(&player->client, &one);
	if (err == ERR_OK)
		hold(player, key, &one);
	else if (err != ERR_HELD)
		atomic_fetch_add(&wrong_answers, 1);
	shm_op_free(&one);
}

static void look(struct player *player)
{
	struct shm_op one;

	if (roll(player, 8)) {
		if (shm_inspect(&player->client, &one, name_of(roll(player, KEYS))) != ERR_OK)
			atomic_fetch_add(&wrong_answers, 1);
	} else {
		shm_op_init(&one, OP_LIST, "n", "");
		if (shm_op_submit(&player->client, &one) == ERR_PENDING)
			shm_op_finish(&player->client, &one);
		if (one.op.answer.result != ERR_OK || one.op.answer.lease_count > KEYS)
			atomic_fetch_add(&wrong_answers, 1);
	}
	shm_op_free(&one);
}

static void *play(void *arg)
{
	struct player *player = arg;
	int64_t until = clock_boot_us() + RUN_US;

	while (clock_boot_us() < until) {
		acquire(player);
		look(player);
	}
	return NULL;
}

static void judge(int good, const char *what)
{
	static int number;

	printf("%s %d - %s\n", good ? "ok" : "not ok", ++number, what);
}

int main(void)
{
	static struct player player[WORKERS];

	shm_case_init(&test);
	test.workers = WORKERS;
	shm_case_open(&test);
	for (unsigned i = 0; i < WORKERS; i++) {
		player[i].random = i * 7919 + 1;
		shm_client_attach(&player[i].client, &test, i);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		if (pthread_create(&player[i].thread, NULL, play, &player[i]) != 0)
			return 1;
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(player[i].thread, NULL);
	for (unsigned i = 0; i < WORKERS; i++)
		shm_client_detach(&player[i].client);
	puts("1..4");
	printf("# %d grants\n", atomic_load(&grants));
	judge(atomic_load(&grants) > 100, "threads as workers get leases");
	judge(atomic_load(&double_grants) == 0, "B10 nobody is granted a held key");
	judge(atomic_load(&stale_tokens) == 0, "fencing tokens grow with every grant of a key");
	judge(atomic_load(&wrong_answers) == 0, "B11 every answer is one of the contract");
	shm_case_close(&test);
	shm_case_remove(&test);
	return 0;
}
