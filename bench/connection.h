/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/connection.h - one HTTP/2 connection that makes unary gRPC calls, cheaply: nghttp2, one
 * send(2) for all that is ready. One thread. Aborts the program on any error of the transport: a
 * benchmark has no use for half a result. */
#ifndef LEASED_BENCH_CONNECTION_H
#define LEASED_BENCH_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

enum { CONNECTION_MESSAGE_MAX = 1024 };

/* A call on its way; owned by the caller, who may use it again once `done` came. */
struct exchange {
	const char *path;
	uint8_t request[5 + CONNECTION_MESSAGE_MAX]; /* gRPC prefix, then the message */
	size_t request_len, request_sent;
	uint8_t response[5 + CONNECTION_MESSAGE_MAX];
	size_t response_len;
	int status; /* grpc-status, -1 = none came */
	int64_t start_ns;
	void (*done)(struct exchange *exchange);
	void *owner;
};

/* Connects to a numeric "host:port". */
struct connection *connection_open(const char *target);
int connection_fd(const struct connection *connection);

/* Starts a call; what it sends goes out with the next connection_flush. */
void connection_call(struct connection *connection, struct exchange *exchange);
void connection_flush(struct connection *connection);

/* Reads what is there and calls `done` for what is complete. */
void connection_read(struct connection *connection);
void connection_close(struct connection *connection);

/* Puts `len` bytes of a message into the exchange with its prefix. */
void exchange_put(struct exchange *exchange, const uint8_t *message, size_t len);

#endif
