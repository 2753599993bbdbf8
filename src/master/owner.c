/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/owner.h"

enum { INODES_MAX = 16, HOLDERS_MAX = 128, STATE_LISTEN = 0x0a };

struct search {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	unsigned port;
	unsigned long inode[INODES_MAX];
	size_t inodes;
	pid_t holder[HOLDERS_MAX];
	size_t holders;
};

static void map_v4(struct in6_addr *out, uint32_t address)
{
	*out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	memcpy(&out->s6_addr[12], &address, sizeof address);
}

static bool any_v4(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address) && memcmp(&address->s6_addr[12], "\0\0\0\0", 4) == 0;
}

/* Whether a listener on `a` keeps others from `b`. A wildcard of IPv6 may hold IPv4 as well. */
static bool conflict(const struct in6_addr *a, const struct in6_addr *b)
{
	if (memcmp(a, b, sizeof *a) == 0 || IN6_IS_ADDR_UNSPECIFIED(a) ||
	    IN6_IS_ADDR_UNSPECIFIED(b))
		return true;
	return IN6_IS_ADDR_V4MAPPED(a) && IN6_IS_ADDR_V4MAPPED(b) && (any_v4(a) || any_v4(b));
}

/* The kernel prints addresses as 32-bit words in its own byte order. */
static bool parse_address(const char *text, struct in6_addr *address)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len / 8; i++) {
		char word[9] = {0};
		uint32_t value;

		memcpy(word, text + i * 8, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		if (len == 8)
			map_v4(address, value);
		else if (i < 4)
			memcpy(&address->s6_addr[i * 4], &value, sizeof value);
	}
	return len == 8 || len == 32;
}

static void find_inodes(struct search *search, const char *table)
{
	char line[512];
	FILE *file = fopen(table, "re");

	while (file && fgets(line, sizeof line, file)) {
		char address[33];
		unsigned port, state;
		unsigned long inode;
		struct in6_addr found;

		if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %*[^ ] %x %*s %*s %*s %*s %*s %lu",
			   address, &port, &state, &inode) != 4)
			continue;
		if (state == STATE_LISTEN && port == search->port && inode != 0 &&
		    search->inodes < INODES_MAX && parse_address(address, &found) &&
		    conflict(&found, &search->address))
			search->inode[search->inodes++] = inode;
	}
	if (file)
		fclose(file);
}

static bool holds(const struct search *search, const char *pid)
{
	char path[64], target[64];
	const struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir))) {
		unsigned long inode;
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);

		if (n <= 0)
			continue;
		target[n] = 0;
		if (sscanf(target, "socket:[%lu]", &inode) != 1)
			continue;
		for (size_t i = 0; i < search->inodes; i++)
			found = found || search->inode[i] == inode;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void find_holders(struct search *search)
{
	const struct dirent *entry;
	DIR *proc = opendir("/proc");

	while (proc && search->holders < HOLDERS_MAX && (entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		if (holds(search, entry->d_name))
			search->holder[search->holders++] = (pid_t)atol(entry->d_name);
	}
	if (proc)
		closedir(proc);
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *after;
	FILE *file;
	size_t n;
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	n = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[n] = 0;
	after = strrchr(text, ')'); /* the name before it may hold anything */
	if (!after || sscanf(after, ") %*c %d", &parent) != 1)
		return 0;
	return (pid_t)parent;
}

static pid_t head_of(const struct search *search)
{
	for (size_t i = 0; i < search->holders; i++) {
		pid_t parent = parent_of(search->holder[i]);
		bool inside = false;

		for (size_t j = 0; j < search->holders; j++)
			inside = inside || search->holder[j] == parent;
		if (!inside)
			return search->holder[i];
	}
	return search->holders ? search->holder[0] : 0;
}

pid_t owner_of(const struct sockaddr *address)
{
	struct search search = {.inodes = 0};

	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;

		map_v4(&search.address, v4->sin_addr.s_addr);
		search.port = ntohs(v4->sin_port);
	} else if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

		search.address = v6->sin6_addr;
		search.port = ntohs(v6->sin6_port);
	} else {
		return 0;
	}
	find_inodes(&search, "/proc/net/tcp");
	find_inodes(&search, "/proc/net/tcp6");
	if (search.inodes == 0)
		return 0;
	find_holders(&search);
	return head_of(&search);
}
