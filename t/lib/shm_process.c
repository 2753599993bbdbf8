/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "shm/driver.h"
#include "shm_process.h"

struct job {
	struct shm_op one;
	struct shm_order order;
};

static struct shm_client client;
static int channel;

static void report(const struct job *job, bool first, enum err result)
{
	struct shm_report message = {.number = job->order.number,
				     .first = first,
				     .result = result,
				     .holder = job->one.op.answer.lease.holder,
				     .token = job->one.op.answer.lease.fencing_token};

	CHECK(send(channel, &message, sizeof message, MSG_NOSIGNAL) == sizeof message);
}

static void done(struct op *op)
{
	struct job *job = op->caller;

	report(job, false, op->answer.result);
	shm_op_free(&job->one);
	free(job);
}

static void obey(const struct shm_order *order)
{
	struct job *job = calloc(1, sizeof *job);
	struct op *op;
	enum err err;

	CHECK(job != NULL);
	job->order = *order;
	op = &job->one.op;
	shm_op_init(&job->one, order->kind, "n", job->order.key);
	op->request.ttl_us = order->ttl_us;
	op->request.wait_us = order->wait_us;
	op->request.holder = order->holder;
	op->request.holder_known = true;
	op->done = done;
	op->caller = job;
	err = shm_driver.submit(client.worker, op);
	report(job, true, err);
	if (err == ERR_PENDING)
		return;
	shm_op_free(&job->one);
	free(job);
}

/* As a server's event loop: orders, kicks, and what is due. */
static void serve(void)
{
	for (;;) {
		struct pollfd wait[] = {{.fd = channel, .events = POLLIN},
					{.fd = client.bell, .events = POLLIN}};
		int64_t now = clock_boot_us(), next = shm_driver.next(client.worker);
		struct shm_order order;
		uint64_t count;
		ssize_t n;

		if (next > now + CLOCK_SECOND)
			next = now + CLOCK_SECOND;
		if (next > now)
			poll(wait, 2, (int)((next - now + 999) / 1000));
		n = recv(channel, &order, sizeof order, MSG_DONTWAIT);
		if (n == 0)
			return;
		if (n == sizeof order)
			obey(&order);
		(void)!read(client.bell, &count, sizeof count);
		shm_driver.poll(client.worker);
	}
}

void shm_process_start(struct shm_process *process, struct shm_case *test, unsigned slot)
{
	int ends[2];
	char ready;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	fflush(NULL);
	process->slot = slot;
	process->pid = fork();
	CHECK(process->pid >= 0);
	if (process->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		channel = ends[1];
		shm_client_attach(&client, test, slot);
		CHECK(send(channel, "r", 1, 0) == 1);
		serve();
		_exit(0);
	}
	close(ends[1]);
	process->channel = ends[0];
	CHECK(recv(process->channel, &ready, 1, 0) == 1);
}

void shm_process_kill(struct shm_process *process)
{
	kill(process->pid, SIGKILL);
	CHECK(waitpid(process->pid, NULL, 0) == process->pid);
	close(process->channel);
	process->pid = 0;
}

static enum err give(struct shm_process *process, const struct shm_order *order,
		     struct shm_report *answer)
{
	struct shm_report message;

	CHECK(send(process->channel, order, sizeof *order, MSG_NOSIGNAL) == sizeof *order);
	do
		CHECK(recv(process->channel, &message, sizeof message, 0) == sizeof message);
	while (!message.first);
	if (answer)
		*answer = message;
	return message.result;
}

enum err shm_process_acquire(struct shm_process *process, int number, const char *key,
			     int64_t ttl_us, int64_t wait_us, struct shm_report *answer)
{
	struct shm_order order = {
	    .kind = OP_ACQUIRE, .number = number, .ttl_us = ttl_us, .wait_us = wait_us};

	snprintf(order.key, sizeof order.key, "%s", key);
	return give(process, &order, answer);
}

enum err shm_process_release(struct shm_process *process, const char *key, struct holder_id holder)
{
	struct shm_order order = {.kind = OP_RELEASE, .holder = holder};

	snprintf(order.key, sizeof order.key, "%s", key);
	return give(process, &order, NULL);
}

bool shm_process_report(struct shm_process *process, struct shm_report *answer, int64_t us)
{
	int64_t until = clock_boot_us() + us;

	for (;;) {
		struct pollfd wait = {.fd = process->channel, .events = POLLIN};
		int64_t left = until - clock_boot_us();

		if (left <= 0 || poll(&wait, 1, (int)((left + 999) / 1000)) < 1)
			return false;
		if (recv(process->channel, answer, sizeof *answer, 0) != sizeof *answer)
			return false;
		if (!answer->first)
			return true;
	}
}
