/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "master/inherit.h"
#include "master/listen.h"
#include "master/listen_unix.h"
#include "master/owner.h"
#include "master/retry.h"

enum { BACKLOG = 4096 };

/* A listening socket, or -1 with errno. */
static int open_tcp(const struct addrinfo *address)
{
	const int on = 1;
	int fd =
	    socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	int error;

	if (fd < 0)
		return -1;
	/* REUSEADDR: connections of the last run in TIME_WAIT are no obstacle. V6ONLY: each family
	 * has its own socket, so that ":7777" is the same on every host. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
	    (address->ai_family != AF_INET6 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
	    bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static void say_busy(char *why, const char *text, pid_t pid)
{
	if (pid > 0)
		snprintf(why, LISTEN_WHY, "cannot listen on %s: it is in use by pid %ld", text,
			 (long)pid);
	else
		snprintf(why, LISTEN_WHY, "cannot listen on %s: it is in use, pid unknown", text);
}

static enum err full(char *why)
{
	snprintf(why, LISTEN_WHY, "more than %d listening sockets", LISTEN_SOCKETS_MAX);
	return ERR_SYSTEM;
}

/* One entry of the settings on its way. */
struct attempt {
	struct listen_set *set;
	const struct listen_settings *listen;
	struct inherit *inherited;
	int64_t until; /* a busy address is tried until then */
	bool missing;  /* the host has no such address, which may be no error */
	char *why;
};

/* ERR_PENDING: busy, worth another try. */
static enum err try_address(struct attempt *attempt, const struct addrinfo *address)
{
	struct listen_set *set = attempt->set;
	int fd;

	if (set->count == LISTEN_SOCKETS_MAX)
		return full(attempt->why);
	fd = inherit_find(attempt->inherited, address->ai_addr);
	if (fd < 0)
		fd = open_tcp(address);
	if (fd >= 0) {
		set->fd[set->count++] = fd;
		return ERR_OK;
	}
	if (errno == EADDRINUSE) {
		say_busy(attempt->why, attempt->listen->text, 0);
		return ERR_PENDING;
	}
	attempt->missing = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
	snprintf(attempt->why, LISTEN_WHY, "cannot listen on %s: %s", attempt->listen->text,
		 strerror(errno));
	return ERR_SYSTEM;
}

static enum err open_address(struct attempt *attempt, const struct addrinfo *address)
{
	enum err err;

	while ((err = try_address(attempt, address)) == ERR_PENDING && retry_pause(attempt->until))
		;
	if (err == ERR_PENDING)
		say_busy(attempt->why, attempt->listen->text, owner_of(address->ai_addr));
	return err;
}

/* One socket, or two for the wildcard; of the two, one may be missing. */
static enum err open_host(struct attempt *attempt)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_PASSIVE | AI_NUMERICSERV | AI_NUMERICHOST};
	const struct listen_settings *listen = attempt->listen;
	struct addrinfo *found = NULL;
	size_t before = attempt->set->count;
	enum err err = ERR_OK;
	int failed =
	    getaddrinfo(listen->host[0] ? listen->host : NULL, listen->port, &hints, &found);

	if (failed) {
		snprintf(attempt->why, LISTEN_WHY, "cannot listen on %s: %s", listen->text,
			 gai_strerror(failed));
		return ERR_SYSTEM;
	}
	for (const struct addrinfo *at = found; at; at = at->ai_next) {
		attempt->missing = false;
		err = open_address(attempt, at);
		if (err && !attempt->missing)
			break;
	}
	freeaddrinfo(found);
	return err && attempt->missing && attempt->set->count > before ? ERR_OK : err;
}

static enum err open_path(struct attempt *attempt)
{
	struct listen_set *set = attempt->set;
	struct listen_file *file = &set->file[set->files];
	pid_t holder = 0;
	enum err err;
	int fd;

	if (set->count == LISTEN_SOCKETS_MAX)
		return full(attempt->why);
	for (;;) {
		err =
		    listen_unix_open(file, attempt->listen->path, attempt->inherited, &fd, &holder);
		if (!err) {
			set->files++;
			set->fd[set->count++] = fd;
			return ERR_OK;
		}
		if (fd >= 0)
			close(fd);
		listen_unix_close(file);
		if (err != ERR_PENDING || !retry_pause(attempt->until))
			break;
	}
	if (err == ERR_PENDING)
		say_busy(attempt->why, attempt->listen->text, holder);
	else
		snprintf(attempt->why, LISTEN_WHY, "cannot listen on %s: %s", attempt->listen->text,
			 errno == EEXIST ? "it exists and is no socket" : strerror(errno));
	return err;
}

/* All entries; of those that one name resolved to (they share the text) some may be missing. */
static enum err open_all(struct attempt *attempt, const struct settings *settings)
{
	const char *bound = NULL; /* text of which an address is open */

	for (size_t i = 0; i < settings->listen_count; i++) {
		const struct listen_settings *listen = &settings->listen[i];
		bool more = i + 1 < settings->listen_count && listen[1].text == listen->text;
		enum err err;

		attempt->listen = listen;
		attempt->missing = false;
		err = listen->kind == LISTEN_UNIX ? open_path(attempt) : open_host(attempt);
		if (!err)
			bound = listen->text;
		else if (!attempt->missing || (!more && bound != listen->text))
			return err;
	}
	return ERR_OK;
}

/* The address as bound: with port 0 the kernel has chosen. */
static void tell(int fd)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof address;
	char host[NI_MAXHOST], port[NI_MAXSERV], text[NI_MAXHOST + NI_MAXSERV + 4];

	if (getsockname(fd, (struct sockaddr *)&address, &size) < 0 ||
	    address.ss_family == AF_UNIX ||
	    getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	snprintf(text, sizeof text, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
	log_info("listening", LOG_TEXT("address", text));
}

enum err listen_open(struct listen_set *set, const struct settings *settings, char *why)
{
	struct inherit inherited;
	struct attempt attempt = {
	    .set = set, .inherited = &inherited, .until = retry_until(), .why = why};
	enum err err;

	inherit_take(&inherited);
	*set = (struct listen_set){.count = 0};
	set->file = calloc(settings->listen_count, sizeof *set->file);
	if (!set->file)
		snprintf(why, LISTEN_WHY, "out of memory");
	err = set->file ? open_all(&attempt, settings) : ERR_SYSTEM;
	inherit_close(&inherited);
	if (err) {
		listen_close(set);
		return ERR_SYSTEM;
	}
	for (size_t i = 0; i < set->count; i++)
		tell(set->fd[i]);
	for (size_t i = 0; i < set->files; i++)
		log_info("listening", LOG_TEXT("path", set->file[i].path));
	return ERR_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the attempt */
enum err listen_one(const struct listen_settings *listen, int *fd, char *why)
{
	struct listen_set set = {.count = 0};
	struct inherit none = {.count = 0};
	struct attempt attempt = {
	    .set = &set, .listen = listen, .inherited = &none, .until = retry_until(), .why = why};

	*fd = -1;
	if (open_host(&attempt) != ERR_OK) {
		listen_close(&set);
		return ERR_SYSTEM;
	}
	*fd = set.fd[0];
	tell(*fd);
	for (size_t i = 1; i < set.count; i++)
		close(set.fd[i]); /* of a wildcard, one family is enough */
	return ERR_OK;
}

void listen_close(struct listen_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		close(set->fd[i]);
	for (size_t i = 0; i < set->files; i++)
		listen_unix_close(&set->file[i]);
	free(set->file);
	*set = (struct listen_set){.count = 0};
}
