/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages, changed by the event loop thread only:
 *
 *   ACCEPT ──call──► WORKING ──answer──► REPLYING ──last tag──► DONE (or UNDOING, then DONE)
 *                       └──parked──► WAITING ──done──► REPLYING
 *
 * `pending` counts tags that the core holds and `done`s that a driver owes; a call is freed at
 * zero. */
#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer_reader.h>

#include "base/check.h"
#include "base/clock.h"
#include "core/capability.h"
#include "core/service.h"
#include "worker/call.h"
#include "worker/codec.h"
#include "worker/identity.h"
#include "worker/status.h"

enum { SPARES = 512 };

enum stage { ACCEPT, WORKING, WAITING, REPLYING, UNDOING };

struct call {
	struct call *next; /* in server->spare, between two lives */
	struct tag accepted;
	struct tag closed; /* RECV_CLOSE_ON_SERVER on its own, once parked */
	struct tag sent;
	struct server *server;
	enum stage stage;
	unsigned pending;
	bool watching; /* the close batch was started on its own */
	bool granted;  /* this call made a lease; undone when the answer cannot arrive */
	bool send_failed;
	bool counted;	/* in server->calls */
	int cancelled;	/* written by the core */
	size_t backend; /* of `op`, once routed */

	struct call *parked, **link; /* in server->parked while link is set */
	int64_t token_until_us;	     /* wall clock */
	int64_t parked_us;	     /* boot clock */
	bool given_up;		     /* the driver was told */
	enum err refusal;	     /* while it waited its token went bad; ERR_OK = not */
	const char *refusal_text;

	grpc_call *call;
	grpc_metadata_array metadata;
	gpr_timespec deadline; /* the core enforces it and reports it as a close */
	grpc_byte_buffer *payload;
	grpc_byte_buffer *response;
	struct status status;
	grpc_metadata trailer;

	struct op op;
	struct arena arena; /* last: it needs no clearing */
};

static void accepted(struct tag *tag, bool ok);
static void closed(struct tag *tag, bool ok);
static void sent(struct tag *tag, bool ok);
static void op_done(struct op *op);

static const struct driver *driver_of(const struct call *call)
{
	return call->server->setup->settings->backend[call->backend].driver;
}

/* May be called twice: a call whose grant is undone lives on without the core's things. */
static void release_core(struct call *call)
{
	if (call->payload)
		grpc_byte_buffer_destroy(call->payload);
	if (call->response)
		grpc_byte_buffer_destroy(call->response);
	status_free(&call->status);
	grpc_metadata_array_destroy(&call->metadata);
	if (call->call)
		grpc_call_unref(call->call);
	call->payload = NULL;
	call->response = NULL;
	call->call = NULL;
	call->status.message = grpc_empty_slice();
	call->status.details = grpc_empty_slice();
	grpc_metadata_array_init(&call->metadata);
}

static void destroy(struct call *call)
{
	struct server *server = call->server;

	release_core(call);
	arena_reset(&call->arena);
	server->calls -= call->counted;
	if (server->spare_count == SPARES) {
		free(call);
		return;
	}
	call->next = server->spare;
	server->spare = call;
	server->spare_count++;
}

/* Calls come and go in large numbers; a used one is warm in the cache. */
static struct call *make(struct server *server)
{
	struct call *call = server->spare;

	if (call) {
		server->spare = call->next;
		server->spare_count--;
	} else {
		call = malloc(sizeof *call);
		CHECK(call);
	}
	memset(call, 0, offsetof(struct call, arena));
	arena_init(&call->arena);
	return call;
}

void call_free_spares(struct server *server)
{
	while (server->spare) {
		struct call *call = server->spare;

		server->spare = call->next;
		free(call);
	}
	server->spare_count = 0;
}

void call_accept(struct server *server, enum op_kind kind)
{
	struct call *call = make(server);
	grpc_call_error error;

	call->server = server;
	call->accepted = TAG_INIT(accepted);
	call->closed = TAG_INIT(closed);
	call->sent = TAG_INIT(sent);
	call->status.message = grpc_empty_slice();
	call->status.details = grpc_empty_slice();
	call->op.kind = kind;
	call->op.arena = &call->arena;
	call->op.caller = call;
	call->op.done = op_done;
	call->pending = 1;
	grpc_metadata_array_init(&call->metadata);
	error = grpc_server_request_registered_call(
	    server->grpc, server->method[kind], &call->call, &call->deadline, &call->metadata,
	    &call->payload, server->queue, server->queue, &call->accepted);
	CHECK(error == GRPC_CALL_OK);
}

static void start(struct call *call, const grpc_op *ops, size_t count, struct tag *tag)
{
	call->pending++;
	CHECK(grpc_call_start_batch(call->call, ops, count, tag, NULL) == GRPC_CALL_OK);
}

/* Alone in its batch it comes back as soon as the client cancels, its deadline passes or its
 * connection dies: that is how a parked call learns of it. */
static void watch_close(struct call *call)
{
	grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

	op.data.recv_close_on_server.cancelled = &call->cancelled;
	call->watching = true;
	start(call, &op, 1, &call->closed);
}

static bool put_response(struct call *call)
{
	grpc_slice slice;

	if (!codec_encode(&call->op, &slice))
		return false;
	call->response = grpc_raw_byte_buffer_create(&slice, 1);
	grpc_slice_unref(slice);
	return true;
}

static void put_status(struct call *call, grpc_op *op)
{
	op->op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	op->data.send_status_from_server.status = call->status.code;
	if (call->status.code == GRPC_STATUS_OK)
		return;
	op->data.send_status_from_server.status_details = &call->status.message;
	if (GRPC_SLICE_LENGTH(call->status.details) == 0)
		return;
	call->trailer.key = grpc_slice_from_static_string("grpc-status-details-bin");
	call->trailer.value = call->status.details;
	op->data.send_status_from_server.trailing_metadata_count = 1;
	op->data.send_status_from_server.trailing_metadata = &call->trailer;
}

static void tally(const struct call *call)
{
	const struct worker_setup *setup = call->server->setup;
	const struct op *op = &call->op;
	int code = op->answer.result == ERR_OK ? GRPC_STATUS_OK : (int)call->status.code;

	meter_answer(setup->meter, setup->slot, op, code);
	if (call->stage == WAITING && op->kind == OP_ACQUIRE && op->answer.result == ERR_OK)
		meter_waited(setup->meter, setup->slot, clock_boot_us() - call->parked_us);
}

/* One batch: headers, message, trailers, and the close when nobody waits for it yet. */
static void reply(struct call *call)
{
	grpc_op ops[4];
	size_t count = 0;

	memset(ops, 0, sizeof ops);
	if (call->op.answer.result == ERR_OK && !put_response(call))
		call->op.answer.result = ERR_BUG;
	if (call->op.answer.result != ERR_OK)
		status_make(&call->op, &call->status);
	tally(call);
	call->stage = REPLYING;
	ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
	if (call->response) {
		ops[count].op = GRPC_OP_SEND_MESSAGE;
		ops[count++].data.send_message.send_message = call->response;
	}
	put_status(call, &ops[count++]);
	if (!call->watching) {
		ops[count].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
		ops[count++].data.recv_close_on_server.cancelled = &call->cancelled;
	}
	start(call, ops, count, &call->sent);
}

static void answer(struct call *call)
{
	call->granted = call->op.kind == OP_ACQUIRE && call->op.answer.result == ERR_OK &&
			!call->op.answer.repeated;
	if (call->refusal) {
		call->op.answer.result = call->refusal;
		call->op.answer.text = call->refusal_text;
	}
	reply(call);
}

/* The lease goes back: the client gave up before the answer could reach it. */
static void undo(struct call *call)
{
	struct holder_id holder = call->op.answer.lease.holder;

	call->stage = UNDOING;
	call->granted = false;
	release_core(call);
	call->op.kind = OP_RELEASE;
	call->op.request.holder = holder;
	call->op.request.holder_known = true;
	call->pending = 1;
	if (driver_of(call)->submit(call->server->driver[call->backend], &call->op) != ERR_PENDING)
		op_done(&call->op);
}

static void finish(struct call *call)
{
	if (--call->pending > 0)
		return;
	if (call->granted && (call->cancelled || call->send_failed || call->refusal) &&
	    !call->server->shut)
		undo(call);
	else
		destroy(call);
}

static bool decode(struct call *call, struct service_input *input)
{
	grpc_byte_buffer_reader reader;
	grpc_slice slice;
	bool ok;

	/* No payload: the client went away, or closed its side without a message. */
	if (!call->payload || !grpc_byte_buffer_reader_init(&reader, call->payload))
		return false;
	slice = grpc_byte_buffer_reader_readall(&reader);
	ok = codec_decode(&call->op,
			  (struct bytes){GRPC_SLICE_START_PTR(slice), GRPC_SLICE_LENGTH(slice)},
			  input);
	grpc_slice_unref(slice);
	grpc_byte_buffer_reader_destroy(&reader);
	return ok;
}

/* The order of the contract: token, arguments, scope, namespace. */
static enum err work(struct call *call)
{
	struct op *op = &call->op;
	const struct capability *capability;
	struct service_input input;
	enum err err = identity_check(&call->server->identity, op, &call->metadata, &capability);

	if (err != ERR_OK)
		return err;
	if (!decode(call, &input)) {
		op->answer.text = "malformed request";
		return op->answer.result = ERR_INVALID_ARGUMENT;
	}
	call->token_until_us = capability ? capability->expires_us : CLOCK_NEVER;
	if ((err = service_check(op, &input, &call->server->settings->limits)) != ERR_OK ||
	    (capability && (err = capability_allow(capability, op)) != ERR_OK) ||
	    (err = service_route(op, call->server->settings, &call->backend)) != ERR_OK)
		return err;
	if (call->server->draining && op->kind == OP_ACQUIRE)
		return op->answer.result = ERR_DRAINING;
	return driver_of(call)->submit(call->server->driver[call->backend], op);
}

static void unpark(struct call *call)
{
	if (!call->link)
		return;
	*call->link = call->parked;
	if (call->parked)
		call->parked->link = call->link;
	call->link = NULL;
}

static void push(struct call **list, struct call *call)
{
	call->parked = *list;
	call->link = list;
	if (call->parked)
		call->parked->link = &call->parked;
	*list = call;
}

/* Without auth too: a reload may bring it. What is answered soon by itself needs no second look. */
static void park(struct call *call)
{
	if (call->op.kind == OP_ACQUIRE && call->op.request.wait_us > 0)
		push(&call->server->parked, call);
}

static void give_up(struct call *call)
{
	if (call->given_up)
		return;
	call->given_up = true;
	driver_of(call)->cancel(call->server->driver[call->backend], &call->op);
}

/* The answer comes when the driver has let go; a grant that was faster is undone after it. */
static void refuse_parked(struct call *call, enum err err, const char *text)
{
	unpark(call);
	call->refusal = err;
	call->refusal_text = text;
	give_up(call);
}

/* On a copy: the driver still holds the op. */
static enum err recheck(struct call *call, const char **text)
{
	const struct capability *capability;
	struct op probe = call->op;
	enum err err =
	    identity_check(&call->server->identity, &probe, &call->metadata, &capability);

	if (err == ERR_OK && capability)
		err = capability_allow(capability, &probe);
	if (err == ERR_OK && capability &&
	    !bytes_equal(probe.request.owner, call->op.request.owner)) {
		err = ERR_TOKEN_INVALID;
		probe.answer.text = "invalid token: it is another owner's now";
	}
	call->token_until_us = capability ? capability->expires_us : CLOCK_NEVER;
	*text = probe.answer.text;
	return err;
}

void call_recheck_parked(struct server *server)
{
	struct call *kept = NULL, *call;

	while ((call = server->parked)) {
		const char *text = NULL;
		enum err err = recheck(call, &text);

		if (err != ERR_OK) {
			refuse_parked(call, err, text);
		} else {
			unpark(call);
			push(&kept, call);
		}
	}
	server->parked = kept;
	if (kept)
		kept->link = &server->parked;
}

void call_expire_parked(struct server *server)
{
	struct call *kept = NULL, *call;
	int64_t wall_us;

	if (!server->parked || !server->identity.state || clock_boot_us() < server->tokens_us)
		return;
	server->tokens_us = clock_boot_us() + CLOCK_SECOND;
	wall_us = clock_wall_us();
	while ((call = server->parked)) {
		if (wall_us >= call->token_until_us) {
			refuse_parked(call, ERR_TOKEN_EXPIRED, NULL);
		} else {
			unpark(call);
			push(&kept, call);
		}
	}
	server->parked = kept;
	if (kept)
		kept->link = &server->parked;
}

static void accepted(struct tag *tag, bool ok)
{
	struct call *call = TAG_OWNER(tag, struct call, accepted);

	if (!ok) { /* the server shuts down: no call */
		destroy(call);
		return;
	}
	call_accept(call->server, call->op.kind);
	call->counted = true;
	call->server->calls++;
	call->stage = WORKING;
	if (work(call) == ERR_PENDING) {
		call->stage = WAITING;
		call->parked_us = clock_boot_us();
		call->server->attention = true;
		call->pending++; /* for `done` */
		if (call->payload)
			grpc_byte_buffer_destroy(call->payload);
		call->payload = NULL;
		watch_close(call);
		park(call);
	} else {
		answer(call);
	}
	finish(call); /* the accept tag */
}

static void op_done(struct op *op)
{
	struct call *call = op->caller;

	if (call->stage == WAITING) {
		unpark(call);
		answer(call);
	}
	finish(call);
}

static void closed(struct tag *tag, bool ok)
{
	struct call *call = TAG_OWNER(tag, struct call, closed);

	(void)ok;
	if (call->stage == WAITING && call->cancelled)
		give_up(call);
	finish(call);
}

static void sent(struct tag *tag, bool ok)
{
	struct call *call = TAG_OWNER(tag, struct call, sent);

	call->send_failed = !ok;
	finish(call);
}
