/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/client.h - unary gRPC calls on one channel. Any number may be in flight; one thread runs
 * the queue (client_wait), only client_cancel may come from another. Starts gRPC, so a process that
 * has opened a client must not fork without exec. Moments are CLOCK_BOOTTIME in microseconds. */
#ifndef LEASED_LEASECTL_CLIENT_H
#define LEASED_LEASECTL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <grpc/grpc.h>
#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

enum { CLIENT_WHY = 256, CLIENT_TOKEN = 8192 };

struct client_config {
	const char *endpoint;	/* host:port or unix:/path */
	const char *token_file; /* NULL: no capability is sent */
	const char *ca_file;	/* NULL: no TLS */
	const char *cert_file, *key_file;
};

struct client;

struct call {
	bool done;
	grpc_status_code code;
	struct bytes text;    /* of the status, until call_free */
	struct bytes details; /* google.rpc.Status, empty when none came; until call_free */
	struct bytes answer;  /* until call_free */
	int64_t sent_us;      /* read before the request was handed to the core */
	struct call_parts *parts;
};

/* Reads the files and makes the channel; does not connect. NULL and a sentence in `why` when a file
 * cannot be used. Blocks for files only. */
struct client *client_open(const struct client_config *config, char why[CLIENT_WHY]);

/* Ends all that is in flight; every call must have been freed. NULL is allowed. */
void client_close(struct client *client);

/* Sends `request` to `path` ("/package.Service/Method"); the call fails with DEADLINE_EXCEEDED at
 * `deadline_us`. `call` must stay in place until call_free. Does not block. */
void client_send(struct client *client, struct call *call, const char *path,
		 const ProtobufCMessage *request, int64_t deadline_us);

/* Blocks until `call` is done or `until_us` has come; whether it is done. Other calls progress. */
bool client_wait(struct client *client, struct call *call, int64_t until_us);

/* Asks the core to end the call; it will be done soon. From any thread while call_free cannot run.
 */
void client_cancel(struct call *call);

/* Cancels when in flight, waits for the end and frees. Blocks briefly. */
void call_free(struct client *client, struct call *call);

/* One call from start to end. */
void client_ask(struct client *client, struct call *call, const char *path,
		const ProtobufCMessage *request, int64_t deadline_us);

#endif
