/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream reads and writes by turns: at most one receive and one send are with the core. `pending`
 * counts its tags; the stream is freed when the last is back. An idle stream costs memory, no
 * thread. */
#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer_reader.h>

#include "base/check.h"
#include "worker/health.h"
#include "worker/reflection.h"
#include "worker/stream.h"

enum kind { UNKNOWN, HEALTH_CHECK, HEALTH_WATCH, REFLECTION };

struct stream {
	struct tag accepted;
	struct tag received;
	struct tag wrote;
	struct tag closed;
	struct server *server;
	struct stream *next, **link; /* in server->streams, while live */
	unsigned pending;
	enum kind kind;
	bool open;    /* the first headers are out */
	bool writing; /* a send batch is with the core */
	bool ended;   /* the status is out, or nobody is there to read it */
	bool ending;  /* end it as soon as the write is over */

	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *in;
	grpc_byte_buffer *out;
	int cancelled;

	struct arena arena;   /* of the question that is being answered */
	struct bytes service; /* HEALTH_WATCH: malloc'ed */
	int told;	      /* HEALTH_WATCH: last state written, -1 = none */
};

static void accepted(struct tag *tag, bool ok);
static void received(struct tag *tag, bool ok);
static void wrote(struct tag *tag, bool ok);
static void closed(struct tag *tag, bool ok);

static void destroy(struct stream *stream)
{
	if (stream->link) {
		*stream->link = stream->next;
		if (stream->next)
			stream->next->link = stream->link;
	}
	if (stream->in)
		grpc_byte_buffer_destroy(stream->in);
	if (stream->out)
		grpc_byte_buffer_destroy(stream->out);
	if (stream->call)
		grpc_call_unref(stream->call);
	grpc_call_details_destroy(&stream->details);
	grpc_metadata_array_destroy(&stream->metadata);
	arena_reset(&stream->arena);
	free((void *)(uintptr_t)stream->service.data);
	free(stream);
}

static void finish(struct stream *stream)
{
	if (--stream->pending == 0)
		destroy(stream);
}

void stream_accept(struct server *server)
{
	struct stream *stream = calloc(1, sizeof *stream);

	CHECK(stream);
	stream->server = server;
	stream->accepted = TAG_INIT(accepted);
	stream->received = TAG_INIT(received);
	stream->wrote = TAG_INIT(wrote);
	stream->closed = TAG_INIT(closed);
	stream->pending = 1;
	stream->told = -1;
	arena_init(&stream->arena);
	grpc_call_details_init(&stream->details);
	grpc_metadata_array_init(&stream->metadata);
	CHECK(grpc_server_request_call(server->grpc, &stream->call, &stream->details,
				       &stream->metadata, server->queue, server->queue,
				       &stream->accepted) == GRPC_CALL_OK);
}

static void start(struct stream *stream, const grpc_op *ops, size_t count, struct tag *tag)
{
	stream->pending++;
	CHECK(grpc_call_start_batch(stream->call, ops, count, tag, NULL) == GRPC_CALL_OK);
}

static void receive(struct stream *stream)
{
	grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

	op.data.recv_message.recv_message = &stream->in;
	start(stream, &op, 1, &stream->received);
}

static void open_headers(struct stream *stream, grpc_op *ops, size_t *count)
{
	if (!stream->open)
		ops[(*count)++].op = GRPC_OP_SEND_INITIAL_METADATA;
	stream->open = true;
}

static void put_status(grpc_op *op, grpc_status_code code, grpc_slice *text)
{
	op->op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	op->data.send_status_from_server.status = code;
	op->data.send_status_from_server.status_details = text;
}

static void end(struct stream *stream, grpc_status_code code, const char *text)
{
	grpc_slice slice = grpc_slice_from_static_string(text);
	grpc_op ops[2];
	size_t count = 0;

	memset(ops, 0, sizeof ops);
	stream->ended = true;
	open_headers(stream, ops, &count);
	put_status(&ops[count++], code, &slice);
	stream->writing = true;
	start(stream, ops, count, &stream->wrote);
}

/* Writes one message; `last` ends the call with OK in the same batch. */
static void write_message(struct stream *stream, grpc_slice message, bool last)
{
	grpc_slice text = grpc_empty_slice();
	grpc_op ops[3];
	size_t count = 0;

	memset(ops, 0, sizeof ops);
	if (stream->out)
		grpc_byte_buffer_destroy(stream->out);
	stream->out = grpc_raw_byte_buffer_create(&message, 1);
	grpc_slice_unref(message);
	open_headers(stream, ops, &count);
	ops[count].op = GRPC_OP_SEND_MESSAGE;
	ops[count++].data.send_message.send_message = stream->out;
	if (last)
		put_status(&ops[count++], GRPC_STATUS_OK, &text);
	stream->ended = last;
	stream->writing = true;
	start(stream, ops, count, &stream->wrote);
}

static enum kind kind_of(const struct stream *stream)
{
	static const struct {
		const char *path;
		enum kind kind;
	} known[] = {
	    {"/grpc.health.v1.Health/Check", HEALTH_CHECK},
	    {"/grpc.health.v1.Health/Watch", HEALTH_WATCH},
	    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", REFLECTION},
	    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", REFLECTION},
	};
	const struct settings *settings = stream->server->settings;
	enum kind kind = UNKNOWN;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (grpc_slice_str_cmp(stream->details.method, known[i].path) == 0)
			kind = known[i].kind;
	if ((kind == REFLECTION && !settings->reflection) ||
	    ((kind == HEALTH_CHECK || kind == HEALTH_WATCH) && !settings->health))
		return UNKNOWN;
	return kind;
}

static void enlist(struct stream *stream)
{
	struct server *server = stream->server;

	stream->next = server->streams;
	stream->link = &server->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	server->streams = stream;
}

static void accepted(struct tag *tag, bool ok)
{
	struct stream *stream = TAG_OWNER(tag, struct stream, accepted);
	grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

	if (!ok) {
		destroy(stream);
		return;
	}
	stream_accept(stream->server);
	enlist(stream);
	op.data.recv_close_on_server.cancelled = &stream->cancelled;
	start(stream, &op, 1, &stream->closed);
	stream->kind = kind_of(stream);
	if (stream->kind == UNKNOWN)
		end(stream, GRPC_STATUS_UNIMPLEMENTED, "unknown service or method");
	else
		receive(stream);
	finish(stream);
}

static bool read_message(struct stream *stream, struct bytes *message)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;

	if (!stream->in || !grpc_byte_buffer_reader_init(&reader, stream->in))
		return false;
	slice = grpc_byte_buffer_reader_readall(&reader);
	*message = arena_copy(
	    &stream->arena, (struct bytes){GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice)});
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	grpc_byte_buffer_destroy(stream->in);
	stream->in = NULL;
	return message->data != NULL;
}

static void answer_check(struct stream *stream, struct bytes service)
{
	int state = health_state(stream->server, service);

	if (state == HEALTH_UNKNOWN_SERVICE)
		end(stream, GRPC_STATUS_NOT_FOUND, "unknown service");
	else
		write_message(stream, health_encode(state), true);
}

static void tell(struct stream *stream)
{
	int state = health_state(stream->server, stream->service);

	if (stream->writing || stream->ended || state == stream->told)
		return;
	stream->told = state;
	write_message(stream, health_encode(state), false);
}

static void start_watch(struct stream *stream, struct bytes service)
{
	uint8_t *copy = malloc(service.len + 1);

	CHECK(copy);
	if (service.len)
		memcpy(copy, service.data, service.len);
	stream->service = (struct bytes){copy, service.len};
	tell(stream);
}

static void answer(struct stream *stream, struct bytes message)
{
	struct bytes service;
	grpc_slice out;

	if (stream->kind == REFLECTION) {
		if (reflection_answer(&stream->arena, message, &out))
			write_message(stream, out, false);
		else
			end(stream, GRPC_STATUS_INVALID_ARGUMENT, "malformed request");
	} else if (!health_decode(&stream->arena, message, &service)) {
		end(stream, GRPC_STATUS_INVALID_ARGUMENT, "malformed request");
	} else if (stream->kind == HEALTH_CHECK) {
		answer_check(stream, service);
	} else {
		start_watch(stream, service);
	}
}

static void received(struct tag *tag, bool ok)
{
	struct stream *stream = TAG_OWNER(tag, struct stream, received);
	struct bytes message;

	if (stream->ended || stream->ending) {
		; /* too late */
	} else if (ok && read_message(stream, &message)) {
		answer(stream, message);
	} else if (stream->kind == REFLECTION) {
		end(stream, GRPC_STATUS_OK, ""); /* the client has no more questions */
	} else {
		end(stream, GRPC_STATUS_INVALID_ARGUMENT, "request required");
	}
	finish(stream);
}

static void wrote(struct tag *tag, bool ok)
{
	struct stream *stream = TAG_OWNER(tag, struct stream, wrote);

	stream->writing = false;
	arena_reset(&stream->arena);
	stream->ended = stream->ended || !ok;
	if (stream->ended)
		;
	else if (stream->ending)
		end(stream, GRPC_STATUS_UNAVAILABLE, "server is shutting down");
	else if (stream->kind == REFLECTION)
		receive(stream);
	else
		tell(stream);
	finish(stream);
}

static void closed(struct tag *tag, bool ok)
{
	struct stream *stream = TAG_OWNER(tag, struct stream, closed);

	(void)ok;
	stream->ended = stream->ended || stream->cancelled;
	finish(stream);
}

void stream_notify(struct server *server)
{
	for (struct stream *stream = server->streams; stream; stream = stream->next)
		if (stream->kind == HEALTH_WATCH && stream->service.data)
			tell(stream);
}

void stream_end_all(struct server *server)
{
	for (struct stream *stream = server->streams; stream; stream = stream->next) {
		if (stream->ended)
			continue;
		stream->ending = true;
		if (!stream->writing)
			end(stream, GRPC_STATUS_UNAVAILABLE, "server is shutting down");
	}
}
