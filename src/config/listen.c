/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses. Names are resolved here, once, so that what was judged (loopback or not) is what the
 * master binds. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "config/reader.h"
#include "config/scalar.h"

#define DEFAULT_ADDRESS "127.0.0.1:7777"

struct address {
	const char *host, *port, *text;
	const struct node *node; /* NULL for the default */
};

static bool loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	}
	if (address->sa_family == AF_INET6) {
		const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(v6) ||
		       (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
	}
	return false;
}

static void judge_public(struct reader *reader, const char *text, const struct node *node)
{
	const struct config *config = reader->config;
	enum auth_format format = config->settings.auth.format;

	if (format == AUTH_UNSET)
		reader_error(reader, node, NULL,
			     "%s is reachable from other hosts and nobody has to prove who they "
			     "are; write \"auth: { verifier: none }\" if that is meant",
			     text);
	else if (format != AUTH_NONE && !reader->value[VALUE_CERT_FILE] &&
		 !config->value[VALUE_INSECURE].number)
		reader_error(reader, node, NULL,
			     "%s is reachable from other hosts and tokens would cross the network "
			     "unencrypted; write \"auth: { insecure: true }\" if that is meant",
			     text);
}

static void note_public(struct reader *reader, const struct address *address)
{
	struct config *config = reader->config;

	if (!config->address)
		config->address = address->text;
	judge_public(reader, address->text, address->node);
}

void listen_judge(struct reader *reader)
{
	if (reader->config->address && reader->report.count == 0)
		judge_public(reader, reader->config->address, NULL);
}

static void add_listen(struct reader *reader, const struct listen_settings *listen,
		       const struct node *node)
{
	struct settings *settings = &reader->config->settings;

	for (size_t i = 0; i < settings->listen_count; i++) {
		const struct listen_settings *other = &settings->listen[i];

		if (other->kind != listen->kind ||
		    (listen->kind == LISTEN_UNIX && strcmp(other->path, listen->path) != 0) ||
		    (listen->kind == LISTEN_TCP &&
		     (strcmp(other->host, listen->host) != 0 ||
		      strcmp(other->port, listen->port) != 0 || strcmp(listen->port, "0") == 0)))
			continue;
		if (other->text != listen->text) /* else one name with one address twice */
			reader_error(reader, node, NULL, "address %s is there twice", listen->text);
		return;
	}
	if (settings->listen_count == LISTEN_MAX) {
		reader_error(reader, node, NULL, "more than %d addresses", LISTEN_MAX);
		return;
	}
	settings->listen[settings->listen_count++] = *listen;
}

/* One entry per address of the host. */
static void add_resolved(struct reader *reader, const struct address *address,
			 const struct addrinfo *found)
{
	bool public = false;

	for (; found; found = found->ai_next) {
		char text[NI_MAXHOST];
		struct bytes host;

		if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0,
				NI_NUMERICHOST) != 0)
			continue;
		host = arena_copy(&reader->config->arena,
				  (struct bytes){(const uint8_t *)text, strlen(text) + 1});
		if (!host.data) {
			reader_error(reader, address->node, NULL, "out of memory");
			return;
		}
		add_listen(reader,
			   &(struct listen_settings){.kind = LISTEN_TCP,
						     .host = (const char *)host.data,
						     .port = address->port,
						     .text = address->text},
			   address->node);
		public = public || !loopback(found->ai_addr);
	}
	if (public)
		note_public(reader, address);
}

static void add_tcp(struct reader *reader, const struct address *address)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST};
	struct addrinfo *found = NULL;
	int failed;

	if (address->host[0] == 0) {
		add_listen(reader,
			   &(struct listen_settings){.kind = LISTEN_TCP,
						     .host = "",
						     .port = address->port,
						     .text = address->text},
			   address->node);
		note_public(reader, address);
		return;
	}
	failed = getaddrinfo(address->host, address->port, &hints, &found);
	if (failed == EAI_NONAME && reader->resolve) {
		hints.ai_flags &= ~AI_NUMERICHOST;
		failed = getaddrinfo(address->host, address->port, &hints, &found);
	}
	if (failed && reader->resolve)
		reader_error(reader, address->node, NULL, "host \"%s\" cannot be resolved: %s",
			     address->host, gai_strerror(failed));
	if (failed)
		return;
	add_resolved(reader, address, found);
	freeaddrinfo(found);
}

/* Splits "host:port", "[v6]:port", ":port" in place in a copy. NULL, or what is wrong. */
static const char *split(char *copy, struct address *address)
{
	static const char form[] = "an address is host:port, [v6]:port or :port";
	char *colon = strrchr(copy, ':'), *end;
	int64_t port;

	if (!colon)
		return form;
	*colon = 0;
	address->host = copy;
	address->port = colon + 1;
	if (copy[0] == '[') {
		end = strchr(copy, ']');
		if (!end || end[1] || end == copy + 1)
			return form;
		*end = 0;
		address->host = copy + 1;
	} else if (strchr(copy, ':')) {
		return "an IPv6 address stands in brackets: [::1]:7777";
	}
	if (scalar_count(address->port, &port) || port > 65535)
		return "the port must be a number, 0 to 65535";
	return NULL;
}

static void read_tcp(struct reader *reader, const char *text, const struct node *node)
{
	struct address address = {.text = text, .node = node};
	struct bytes copy = arena_copy(&reader->config->arena,
				       (struct bytes){(const uint8_t *)text, strlen(text) + 1});
	const char *wrong = copy.data ? split((char *)copy.data, &address) : "out of memory";

	if (wrong)
		reader_error(reader, node, NULL, "server.grpc.tcp: %s", wrong);
	else
		add_tcp(reader, &address);
}

/* The address of the metrics: one, and no name, so that nothing is resolved for it. */
static void read_metrics(struct reader *reader)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST};
	const char *text = reader->config->value[VALUE_PROMETHEUS_ADDR].text, *wrong;
	struct address address = {.text = text, .node = reader->value[VALUE_PROMETHEUS_ADDR]};
	struct addrinfo *found;
	struct bytes copy;

	if (!text)
		return;
	copy = arena_copy(&reader->config->arena,
			  (struct bytes){(const uint8_t *)text, strlen(text) + 1});
	wrong = copy.data ? split((char *)copy.data, &address) : "out of memory";
	if (!wrong && address.host[0]) {
		if (getaddrinfo(address.host, address.port, &hints, &found) != 0)
			wrong = "the host must be an address, not a name";
		else
			freeaddrinfo(found);
	}
	if (wrong)
		reader_error(reader, address.node, NULL,
			     "observability.metrics.prometheus.addr: %s", wrong);
	reader->config->settings.metrics = (struct listen_settings){
	    .kind = LISTEN_TCP, .host = address.host, .port = address.port, .text = text};
}

static void read_uds(struct reader *reader, const char *text, const struct node *node)
{
	enum { PATH_MOST = sizeof((struct sockaddr_un *)0)->sun_path - 1 };

	if (text[0] != '/')
		reader_error(reader, node, NULL, "server.grpc.uds: the path must be absolute");
	else if (strlen(text) > PATH_MOST)
		reader_error(reader, node, NULL,
			     "server.grpc.uds: the path is longer than %d bytes", (int)PATH_MOST);
	else
		add_listen(
		    reader,
		    &(struct listen_settings){.kind = LISTEN_UNIX, .path = text, .text = text},
		    node);
}

typedef void read_f(struct reader *reader, const char *text, const struct node *node);

/* One text or a list of them; returns them as written. */
static const char **read_list(struct reader *reader, const struct node *node, const char *path,
			      read_f *read)
{
	bool many = node && node->kind == NODE_LIST;
	const struct node *item = many ? node->first : node;
	const char **texts = reader_memory(reader, many ? node->count + 1 : 2, sizeof *texts);
	size_t count = 0;

	if (!texts)
		return NULL;
	for (; item; item = many ? item->next : NULL) {
		const char *text = reader_text(reader, item, path);

		if (!text)
			continue;
		texts[count++] = text;
		read(reader, text, item);
	}
	return texts;
}

void listen_read(struct reader *reader)
{
	struct config *config = reader->config;

	config->settings.listen =
	    reader_memory(reader, LISTEN_MAX, sizeof *config->settings.listen);
	if (!config->settings.listen)
		return;
	read_metrics(reader);
	config->tcp = read_list(reader, reader->tcp, "server.grpc.tcp", read_tcp);
	config->uds = read_list(reader, reader->uds, "server.grpc.uds", read_uds);
	if (!config->tcp || !config->uds)
		return;
	if (!reader->tcp && !reader->uds) {
		config->tcp[0] = DEFAULT_ADDRESS;
		read_tcp(reader, DEFAULT_ADDRESS, NULL);
	} else if (!config->tcp[0] && !config->uds[0]) {
		reader_error(reader, reader->tcp ? reader->tcp->key : reader->uds->key, NULL,
			     "no address to listen on");
	}
}
