/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "shm/driver.h"
#include "shm/shared.h"
#include "shm_case.h"

void shm_case_init(struct shm_case *test)
{
	static atomic_uint count;

	*test = (struct shm_case){
	    .capacity = 1000, .waiters = 1000, .workers = 4, .grace_us = 30 * CLOCK_SECOND};
	snprintf(test->segment, sizeof test->segment, "/leased-t-%ld-%u", (long)getpid(),
		 atomic_fetch_add(&count, 1));
	snprintf(test->dir, sizeof test->dir, "/tmp/leased-t-XXXXXX");
	CHECK(mkdtemp(test->dir) != NULL);
}

enum err shm_case_try(struct shm_case *test)
{
	union option_value value[8] = {{0}};
	struct driver_place place = {
	    .backend = "test", .state_dir = test->dir, .workers = test->workers};

	for (size_t i = 0; shm_driver.options[i].name; i++)
		value[i] = shm_driver.options[i].fallback;
	value[0].text = test->segment;
	value[1].number = test->capacity;
	value[2].number = test->waiters;
	value[3].number = test->grace_us;
	test->why[0] = 0;
	return shm_driver.prepare(&place, value, &test->shared, test->why);
}

void shm_case_open(struct shm_case *test)
{
	if (shm_case_try(test) != ERR_OK) {
		fprintf(stderr, "prepare: %s\n", test->why);
		abort();
	}
}

void shm_case_close(struct shm_case *test)
{
	shm_driver.close(test->shared);
	test->shared = NULL;
}

void shm_case_kill(struct shm_case *test)
{
	shm_map_close(&test->shared->map);
	close(test->shared->map.fd);
	close(test->shared->lock_fd);
	free(test->shared);
	test->shared = NULL;
}

static void remove_object(const struct shm_case *test, const char *suffix)
{
	char name[128];

	snprintf(name, sizeof name, "%s%s", test->segment, suffix);
	shm_unlink(name);
}

void shm_case_remove(struct shm_case *test)
{
	DIR *dir = opendir(test->dir);
	struct dirent *entry;

	if (test->shared)
		shm_case_kill(test);
	remove_object(test, "");
	remove_object(test, ".lock");
	remove_object(test, ".new");
	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(test->dir);
}

/* --- workers ------------------------------------------------------------------------------- */

static void kick(void *arg)
{
	struct shm_client *client = arg;
	uint64_t one = 1;

	(void)!write(client->bell, &one, sizeof one);
}

void shm_client_attach(struct shm_client *client, struct shm_case *test, unsigned slot)
{
	client->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK(client->bell >= 0);
	client->host =
	    (struct driver_host){.kick = kick, .wake = kick, .arg = client, .slot = slot};
	CHECK(shm_driver.attach(test->shared, &client->host, &client->worker) == ERR_OK);
}

void shm_client_detach(struct shm_client *client)
{
	shm_driver.detach(client->worker);
	close(client->bell);
	client->worker = NULL;
}

void shm_client_run(struct shm_client *client, const bool *done, int64_t us)
{
	int64_t until = clock_boot_us() + us;

	while (!done || !*done) {
		struct pollfd bell = {.fd = client->bell, .events = POLLIN};
		int64_t now = clock_boot_us(), next = shm_driver.next(client->worker);
		uint64_t count;

		if (now >= until)
			return;
		if (next > until)
			next = until;
		if (next > now)
			poll(&bell, 1, (int)((next - now + 999) / 1000));
		(void)!read(client->bell, &count, sizeof count);
		shm_driver.poll(client->worker);
	}
}

/* --- operations ---------------------------------------------------------------------------- */

static void done(struct op *op)
{
	struct shm_op *one = op->caller;

	CHECK(!one->done);
	one->done = true;
}

void shm_op_init(struct shm_op *one, enum op_kind kind, const char *name_space, const char *key)
{
	memset(one, 0, sizeof *one);
	arena_init(&one->arena);
	one->op.kind = kind;
	one->op.arena = &one->arena;
	one->op.done = done;
	one->op.caller = one;
	one->op.request.name_space = bytes_of(name_space);
	one->op.request.key = bytes_of(key);
	one->op.request.metadata.entry = one->entry;
}

void shm_op_free(struct shm_op *one)
{
	arena_reset(&one->arena);
}

enum err shm_op_submit(struct shm_client *client, struct shm_op *one)
{
	one->first = shm_driver.submit(client->worker, &one->op);
	if (one->first != ERR_PENDING) {
		CHECK(!one->done && one->op.answer.result == one->first);
		one->done = true;
	}
	return one->first;
}

enum err shm_op_finish(struct shm_client *client, struct shm_op *one)
{
	shm_client_run(client, &one->done, 5 * CLOCK_SECOND);
	CHECK(one->done);
	return one->op.answer.result;
}

enum err shm_take(struct shm_client *client, struct shm_op *one, const char *key, int64_t ttl_us)
{
	shm_op_init(one, OP_ACQUIRE, "n", key);
	one->op.request.ttl_us = ttl_us;
	return shm_op_submit(client, one);
}

enum err shm_wait(struct shm_client *client, struct shm_op *one, const char *key, int64_t ttl_us,
		  int64_t wait_us)
{
	shm_op_init(one, OP_ACQUIRE, "n", key);
	one->op.request.ttl_us = ttl_us;
	one->op.request.wait_us = wait_us;
	return shm_op_submit(client, one);
}

static enum err with_holder(struct shm_client *client, struct shm_op *one, struct holder_id holder)
{
	one->op.request.holder = holder;
	one->op.request.holder_known = true;
	return shm_op_submit(client, one);
}

enum err shm_renew(struct shm_client *client, struct shm_op *one, const char *key,
		   struct holder_id holder, int64_t ttl_us)
{
	shm_op_init(one, OP_RENEW, "n", key);
	one->op.request.ttl_us = ttl_us;
	return with_holder(client, one, holder);
}

enum err shm_release(struct shm_client *client, struct shm_op *one, const char *key,
		     struct holder_id holder)
{
	shm_op_init(one, OP_RELEASE, "n", key);
	return with_holder(client, one, holder);
}

enum err shm_inspect(struct shm_client *client, struct shm_op *one, const char *key)
{
	shm_op_init(one, OP_INSPECT, "n", key);
	return shm_op_submit(client, one);
}

enum err shm_list(struct shm_client *client, struct shm_op *one)
{
	shm_op_init(one, OP_LIST, "n", "");
	shm_op_submit(client, one);
	return shm_op_finish(client, one);
}

bool shm_held(struct shm_client *client, const char *key)
{
	struct shm_op one;
	bool held;

	CHECK(shm_inspect(client, &one, key) == ERR_OK);
	held = one.op.answer.held;
	shm_op_free(&one);
	return held;
}

uint32_t shm_waiting(struct shm_client *client, const char *key)
{
	struct shm_op one;
	uint32_t waiters;

	CHECK(shm_inspect(client, &one, key) == ERR_OK);
	waiters = one.op.answer.waiters;
	shm_op_free(&one);
	return waiters;
}
