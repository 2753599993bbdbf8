/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/client.h"
#include "leasectl/credentials.h"

struct client {
	grpc_channel *channel;
	grpc_completion_queue *queue;
	grpc_metadata token;
	bool has_token;
};

/* What the core writes to while a call is in flight. */
struct call_parts {
	grpc_call *call;
	grpc_metadata_array initial, trailing;
	grpc_byte_buffer *answer;
	grpc_slice answer_slice, text;
};

static const struct {
	const char *name;
	int value;
} tuning[] = {
    /* A new channel is a new connection: that is how a frozen worker is left. */
    {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},   {GRPC_ARG_ENABLE_RETRIES, 0},
    {GRPC_ARG_ENABLE_HTTP_PROXY, 0},	       {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
    {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000}, {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
    {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1},
};

enum { TUNINGS = sizeof tuning / sizeof *tuning };

static grpc_channel *make_channel(const char *endpoint, grpc_channel_credentials *credentials)
{
	grpc_arg arg[TUNINGS];
	grpc_channel_args args = {TUNINGS, arg};

	memset(arg, 0, sizeof arg);
	for (int i = 0; i < TUNINGS; i++) {
		arg[i].type = GRPC_ARG_INTEGER;
		arg[i].key = (char *)(uintptr_t)tuning[i].name;
		arg[i].value.integer = tuning[i].value;
	}
	return grpc_channel_create(endpoint, credentials, &args);
}

static void set_token(struct client *client, const char *token)
{
	char value[CLIENT_TOKEN + 8];

	client->has_token = *token != 0;
	if (!client->has_token)
		return;
	snprintf(value, sizeof value, "Bearer %s", token);
	client->token.key = grpc_slice_from_static_string("x-mindd-capability");
	client->token.value = grpc_slice_from_copied_string(value);
	explicit_bzero(value, sizeof value);
}

struct client *client_open(const struct client_config *config, char why[CLIENT_WHY])
{
	grpc_channel_credentials *credentials;
	struct client *client;
	char token[CLIENT_TOKEN];

	if (!credentials_token(config->token_file, token, why))
		return NULL;
	/* What the core has to say of lost connections is said by the callers, better. */
	setenv("GRPC_VERBOSITY", "NONE", 0);
	grpc_init();
	credentials = credentials_make(config, why);
	client = credentials ? calloc(1, sizeof *client) : NULL;
	if (!client) {
		grpc_shutdown();
		return NULL;
	}
	set_token(client, token);
	explicit_bzero(token, sizeof token);
	client->channel = make_channel(config->endpoint, credentials);
	client->queue = grpc_completion_queue_create_for_next(NULL);
	grpc_channel_credentials_release(credentials);
	return client;
}

void client_close(struct client *client)
{
	if (!client)
		return;
	grpc_channel_destroy(client->channel);
	grpc_completion_queue_shutdown(client->queue);
	while (grpc_completion_queue_next(client->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL)
		   .type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(client->queue);
	if (client->has_token)
		grpc_slice_unref(client->token.value);
	free(client);
	grpc_shutdown_blocking();
}

/* The core knows no boot time: what is left until `us`, from its own clock's now. */
static gpr_timespec moment(int64_t us)
{
	int64_t left = us - clock_boot_us();

	if (us == CLOCK_NEVER)
		return gpr_inf_future(GPR_CLOCK_MONOTONIC);
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_micros(left < 0 ? 0 : left, GPR_TIMESPAN));
}

static grpc_byte_buffer *pack(const ProtobufCMessage *request)
{
	grpc_slice slice = grpc_slice_malloc(protobuf_c_message_get_packed_size(request));
	grpc_byte_buffer *buffer;

	protobuf_c_message_pack(request, GRPC_SLICE_START_PTR(slice));
	buffer = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	return buffer;
}

static void start(struct client *client, struct call *call, grpc_byte_buffer *request)
{
	struct call_parts *parts = call->parts;
	grpc_op ops[6];

	memset(ops, 0, sizeof ops);
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[0].data.send_initial_metadata.count = client->has_token;
	ops[0].data.send_initial_metadata.metadata = &client->token;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = request;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &parts->initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &parts->answer;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &parts->trailing;
	ops[5].data.recv_status_on_client.status = &call->code;
	ops[5].data.recv_status_on_client.status_details = &parts->text;
	CHECK(grpc_call_start_batch(parts->call, ops, 6, call, NULL) == GRPC_CALL_OK);
}

void client_send(struct client *client, struct call *call, const char *path,
		 const ProtobufCMessage *request, int64_t deadline_us)
{
	grpc_byte_buffer *buffer = pack(request);

	memset(call, 0, sizeof *call);
	call->sent_us = clock_boot_us();
	call->parts = calloc(1, sizeof *call->parts);
	CHECK(call->parts);
	call->parts->answer_slice = grpc_empty_slice();
	call->parts->text = grpc_empty_slice();
	grpc_metadata_array_init(&call->parts->initial);
	grpc_metadata_array_init(&call->parts->trailing);
	call->parts->call = grpc_channel_create_call(
	    client->channel, NULL, GRPC_PROPAGATE_DEFAULTS, client->queue,
	    grpc_slice_from_static_string(path), NULL, moment(deadline_us), NULL);
	start(client, call, buffer);
	grpc_byte_buffer_destroy(buffer);
}

static struct bytes borrow(const grpc_slice *slice)
{
	return (struct bytes){GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

static void finish(struct call *call)
{
	struct call_parts *parts = call->parts;
	grpc_byte_buffer_reader reader;

	call->done = true;
	call->text = borrow(&parts->text);
	for (size_t i = 0; i < parts->trailing.count; i++)
		if (!grpc_slice_str_cmp(parts->trailing.metadata[i].key, "grpc-status-details-bin"))
			call->details = borrow(&parts->trailing.metadata[i].value);
	if (parts->answer && grpc_byte_buffer_reader_init(&reader, parts->answer)) {
		parts->answer_slice = grpc_byte_buffer_reader_readall(&reader);
		grpc_byte_buffer_reader_destroy(&reader);
	}
	call->answer = borrow(&parts->answer_slice);
}

bool client_wait(struct client *client, struct call *call, int64_t until_us)
{
	gpr_timespec until = moment(until_us);

	while (!call->done) {
		grpc_event event = grpc_completion_queue_next(client->queue, until, NULL);

		if (event.type != GRPC_OP_COMPLETE)
			break;
		finish(event.tag);
	}
	return call->done;
}

void client_cancel(struct call *call)
{
	if (call->parts)
		grpc_call_cancel(call->parts->call, NULL);
}

void call_free(struct client *client, struct call *call)
{
	struct call_parts *parts = call->parts;

	if (!parts)
		return;
	if (!call->done) {
		client_cancel(call);
		client_wait(client, call, CLOCK_NEVER);
	}
	grpc_call_unref(parts->call);
	grpc_metadata_array_destroy(&parts->initial);
	grpc_metadata_array_destroy(&parts->trailing);
	grpc_byte_buffer_destroy(parts->answer);
	grpc_slice_unref(parts->answer_slice);
	grpc_slice_unref(parts->text);
	free(parts);
	memset(call, 0, sizeof *call);
}

void client_ask(struct client *client, struct call *call, const char *path,
		const ProtobufCMessage *request, int64_t deadline_us)
{
	client_send(client, call, path, request, deadline_us);
	client_wait(client, call, CLOCK_NEVER);
}
