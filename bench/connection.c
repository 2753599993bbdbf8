/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nghttp2/nghttp2.h>

#include "bench/connection.h"
#include "bench/die.h"

struct connection {
	int fd;
	nghttp2_session *session;
	char authority[64];
	const char *token; /* of $BENCH_TOKEN; empty = the header is not sent */
	uint8_t out[1 << 16];
	size_t out_len;
};

static int dial(const char *target)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *found;
	char host[64];
	const char *colon = strrchr(target, ':');
	int fd, one = 1;

	if (!colon)
		die("%s: no port", target);
	snprintf(host, sizeof host, "%.*s", (int)(colon - target), target);
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		die("%s: no such address", target);
	fd = socket(found->ai_family, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0)
		die("%s: %s", target, strerror(errno));
	freeaddrinfo(found);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	return fd;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *user)
{
	struct exchange *exchange =
	    nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags, (void)user;
	if (exchange && name_len == 11 && memcmp(name, "grpc-status", 11) == 0 && value_len < 4) {
		exchange->status = 0;
		for (size_t i = 0; i < value_len; i++)
			exchange->status = exchange->status * 10 + (value[i] - '0');
	}
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
		   size_t len, void *user)
{
	struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);

	(void)flags, (void)user;
	if (!exchange || len > sizeof exchange->response - exchange->response_len)
		die("response is too large");
	memcpy(exchange->response + exchange->response_len, data, len);
	exchange->response_len += len;
	return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
	struct exchange *exchange = nghttp2_session_get_stream_user_data(session, stream);

	(void)user;
	if (error)
		die("stream ended with HTTP/2 error %u", error);
	exchange->done(exchange);
	return 0;
}

static ssize_t give_data(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room,
			 uint32_t *flags, nghttp2_data_source *source, void *user)
{
	struct exchange *exchange = source->ptr;
	size_t left = exchange->request_len - exchange->request_sent;
	size_t part = left < room ? left : room;

	(void)session, (void)stream, (void)user;
	memcpy(to, exchange->request + exchange->request_sent, part);
	exchange->request_sent += part;
	if (part == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)part;
}

struct connection *connection_open(const char *target)
{
	struct connection *connection = calloc(1, sizeof *connection);
	nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 20}};
	nghttp2_session_callbacks *callbacks;

	if (!connection || nghttp2_session_callbacks_new(&callbacks) != 0)
		die("out of memory");
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_client_new(&connection->session, callbacks, connection);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 1);
	snprintf(connection->authority, sizeof connection->authority, "%s", target);
	connection->token = getenv("BENCH_TOKEN") ? getenv("BENCH_TOKEN") : "";
	connection->fd = dial(target);
	return connection;
}

int connection_fd(const struct connection *connection)
{
	return connection->fd;
}

#define HEADER(name, value, len)                                                                   \
	{                                                                                          \
		(uint8_t *)(uintptr_t)(name), (uint8_t *)(uintptr_t)(value), sizeof(name) - 1,     \
		    (len), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE            \
	}
#define FIXED(name, value) HEADER(name, value, sizeof(value) - 1)

void connection_call(struct connection *connection, struct exchange *exchange)
{
	nghttp2_nv headers[] = {
	    FIXED(":method", "POST"),
	    FIXED(":scheme", "http"),
	    HEADER(":path", exchange->path, strlen(exchange->path)),
	    HEADER(":authority", connection->authority, strlen(connection->authority)),
	    FIXED("content-type", "application/grpc"),
	    FIXED("te", "trailers"),
	    HEADER("x-mindd-capability", connection->token, strlen(connection->token)),
	};
	nghttp2_data_provider provider = {.source.ptr = exchange, .read_callback = give_data};

	exchange->request_sent = exchange->response_len = 0;
	exchange->status = -1;
	if (nghttp2_submit_request(connection->session, NULL, headers,
				   sizeof headers / sizeof *headers - (*connection->token ? 0 : 1),
				   &provider, exchange) < 0)
		die("request cannot be submitted");
}

static void send_all(int fd, const uint8_t *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			die("send: %s", strerror(errno));
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
}

void connection_flush(struct connection *connection)
{
	const uint8_t *data;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(connection->session, &data)) > 0) {
		if ((size_t)n > sizeof connection->out - connection->out_len) {
			send_all(connection->fd, connection->out, connection->out_len);
			connection->out_len = 0;
		}
		memcpy(connection->out + connection->out_len, data, (size_t)n);
		connection->out_len += (size_t)n;
	}
	send_all(connection->fd, connection->out, connection->out_len);
	connection->out_len = 0;
}

void connection_read(struct connection *connection)
{
	uint8_t in[1 << 16];
	ssize_t n = recv(connection->fd, in, sizeof in, 0);

	if (n <= 0)
		die("connection ended: %s", n ? strerror(errno) : "end of file");
	if (nghttp2_session_mem_recv(connection->session, in, (size_t)n) != n)
		die("not HTTP/2");
}

void connection_close(struct connection *connection)
{
	close(connection->fd);
	nghttp2_session_del(connection->session);
	free(connection);
}

void exchange_put(struct exchange *exchange, const uint8_t *message, size_t len)
{
	if (len > CONNECTION_MESSAGE_MAX)
		die("message is too large");
	exchange->request[0] = 0;
	exchange->request[1] = exchange->request[2] = 0;
	exchange->request[3] = (uint8_t)(len >> 8);
	exchange->request[4] = (uint8_t)len;
	memcpy(exchange->request + 5, message, len);
	exchange->request_len = 5 + len;
}
