/* SPDX-License-Identifier: Apache-2.0
 *
 * hot-path: each step of a call a thousand times, for a tool that counts instructions in the
 * functions called step_*. What stands around them is not part of a call. */
#include <stdio.h>

#include <grpc/grpc.h>

#include "base/check.h"
#include "base/clock.h"
#include "core/service.h"
#include "shm/driver.h"
#include "shm_case.h"
#include "worker/codec.h"

enum { TIMES = 1000, KEYS = 1000, KEY_ROOM = 32 };
#define STEP __attribute__((noinline, noclone))

static struct shm_case test;
static struct shm_client client;
static struct shm_op one;
static char key[KEYS][KEY_ROOM];
static struct holder_id holder[KEYS];

static STEP enum err step_acquire(void)
{
	return shm_driver.submit(client.worker, &one.op);
}

static STEP enum err step_refuse(void)
{
	return shm_driver.submit(client.worker, &one.op);
}

static STEP enum err step_inspect(void)
{
	return shm_driver.submit(client.worker, &one.op);
}

static STEP enum err step_renew(void)
{
	return shm_driver.submit(client.worker, &one.op);
}

static STEP enum err step_release(void)
{
	return shm_driver.submit(client.worker, &one.op);
}

static STEP bool step_decode(struct bytes wire)
{
	static const struct limits limits = {LIMITS_MAX_TTL_DEFAULT, LIMITS_MAX_WAIT_DEFAULT};
	struct service_input input;

	return codec_decode(&one.op, wire, &input) &&
	       service_check(&one.op, &input, &limits) == ERR_OK;
}

static STEP bool step_encode(grpc_slice *out)
{
	return codec_encode(&one.op, out);
}

static void table_step(enum op_kind kind, enum err (*step)(void), enum err expected)
{
	for (int i = 0; i < TIMES; i++) {
		shm_op_init(&one, kind, "locks", key[i % KEYS]);
		one.op.request.ttl_us = 600 * CLOCK_SECOND;
		one.op.request.holder = holder[i % KEYS];
		one.op.request.holder_known = kind == OP_RENEW || kind == OP_RELEASE;
		CHECK(step() == expected);
		if (kind == OP_ACQUIRE && expected == ERR_OK)
			holder[i % KEYS] = one.op.answer.lease.holder;
		shm_op_free(&one);
	}
}

/* An Acquire of `locks` and `deploy` for 60 s, as protoc would write it, and its answer. */
static void wire_steps(void)
{
	static const uint8_t acquire[] = "\x0a\x05locks\x12\x06"
					 "deploy\x1a\x02\x08\x3c";
	struct bytes wire = {acquire, sizeof acquire - 1};

	for (int i = 0; i < TIMES; i++) {
		grpc_slice out;

		shm_op_init(&one, OP_ACQUIRE, "", "");
		CHECK(step_decode(wire));
		CHECK(shm_driver.submit(client.worker, &one.op) == ERR_OK);
		holder[0] = one.op.answer.lease.holder;
		CHECK(step_encode(&out));
		grpc_slice_unref(out);
		shm_op_free(&one);
		shm_op_init(&one, OP_RELEASE, "locks", "deploy");
		one.op.request.holder = holder[0];
		one.op.request.holder_known = true;
		CHECK(shm_driver.submit(client.worker, &one.op) == ERR_OK);
		shm_op_free(&one);
	}
}

int main(void)
{
	grpc_init();
	for (int i = 0; i < KEYS; i++)
		snprintf(key[i], KEY_ROOM, "key-%06d-abcdefghijkl", i);
	shm_case_init(&test);
	test.capacity = 10000;
	shm_case_open(&test);
	shm_client_attach(&client, &test, 0);
	table_step(OP_ACQUIRE, step_acquire, ERR_OK);
	table_step(OP_ACQUIRE, step_refuse, ERR_HELD);
	table_step(OP_INSPECT, step_inspect, ERR_OK);
	table_step(OP_RENEW, step_renew, ERR_OK);
	table_step(OP_RELEASE, step_release, ERR_OK);
	wire_steps();
	shm_client_detach(&client);
	shm_case_close(&test);
	shm_case_remove(&test);
	grpc_shutdown();
	return 0;
}
