/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-echo PORT: the least that a server on the same C core can do: the same channel arguments,
 * one thread, connections taken over by descriptor, answers of the size that leased sends. It
 * decodes nothing and keeps nothing; what leased costs beyond it is what leased does. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>

#include "bench/answer.h"
#include "bench/die.h"

enum { POSTED = 32 };

struct method {
	void *handle;
	const uint8_t *answer;
	size_t answer_len;
};

struct call {
	struct method *method;
	bool replying;
	grpc_call *call;
	grpc_metadata_array metadata;
	gpr_timespec deadline;
	grpc_byte_buffer *payload, *response;
	int cancelled;
};

static grpc_server *server;
static grpc_completion_queue *queue;

static void post(struct method *method)
{
	struct call *call = calloc(1, sizeof *call);

	if (!call)
		die("out of memory");
	call->method = method;
	grpc_metadata_array_init(&call->metadata);
	grpc_server_request_registered_call(server, method->handle, &call->call, &call->deadline,
					    &call->metadata, &call->payload, queue, queue, call);
}

static void reply(struct call *call)
{
	grpc_slice slice =
	    grpc_slice_from_static_buffer(call->method->answer, call->method->answer_len);
	grpc_op ops[4];

	memset(ops, 0, sizeof ops);
	call->replying = true;
	call->response = grpc_raw_byte_buffer_create(&slice, 1);
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = call->response;
	ops[2].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[3].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
	ops[3].data.recv_close_on_server.cancelled = &call->cancelled;
	grpc_call_start_batch(call->call, ops, 4, call, NULL);
}

static void handle(struct call *call, int ok)
{
	if (!call->replying && ok) {
		post(call->method);
		reply(call);
		return;
	}
	if (call->payload)
		grpc_byte_buffer_destroy(call->payload);
	if (call->response)
		grpc_byte_buffer_destroy(call->response);
	if (call->call)
		grpc_call_unref(call->call);
	grpc_metadata_array_destroy(&call->metadata);
	free(call);
}

static void *accept_all(void *arg)
{
	grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
	int listen = *(int *)arg, one = 1;

	for (;;) {
		int fd = accept4(listen, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
		grpc_server_add_channel_from_fd(server, fd, credentials);
	}
	return NULL;
}

static int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 1024) != 0)
		die("port %d cannot be bound", port);
	return fd;
}

static grpc_arg number(const char *key, int value)
{
	return (grpc_arg){GRPC_ARG_INTEGER, (char *)(uintptr_t)key, {.integer = value}};
}

int main(int argc, char **argv)
{
	static struct method methods[2] = {
	    {.answer = answer_acquire, .answer_len = sizeof answer_acquire},
	    {.answer = answer_release, .answer_len = sizeof answer_release}};
	grpc_arg list[] = {number(GRPC_ARG_MINIMAL_STACK, 1),
			   number(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 1),
			   number(GRPC_ARG_ENABLE_CHANNELZ, 0),
			   number(GRPC_ARG_HTTP2_BDP_PROBE, 0),
			   number(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, 4 << 20),
			   number(GRPC_ARG_KEEPALIVE_TIME_MS, 60000),
			   number(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000),
			   number(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
			   number(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000),
			   number(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0)};
	grpc_channel_args args = {sizeof list / sizeof *list, list};
	int listen = listen_on(argc > 1 ? atoi(argv[1]) : 7779);
	pthread_t thread;

	grpc_init();
	server = grpc_server_create(&args, NULL);
	queue = grpc_completion_queue_create_for_next(NULL);
	grpc_server_register_completion_queue(server, queue, NULL);
	methods[0].handle = grpc_server_register_method(
	    server, "/bench.Echo/Acquire", NULL, GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
	methods[1].handle = grpc_server_register_method(
	    server, "/bench.Echo/Release", NULL, GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
	grpc_server_start(server);
	for (int i = 0; i < POSTED; i++) {
		post(&methods[0]);
		post(&methods[1]);
	}
	if (pthread_create(&thread, NULL, accept_all, &listen) != 0)
		die("no thread");
	puts("ready");
	fflush(stdout);
	for (;;) {
		grpc_event event =
		    grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);

		if (event.type == GRPC_OP_COMPLETE)
			handle(event.tag, event.success);
	}
}
