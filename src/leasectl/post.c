/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "leasectl/post.h"

bool post_pair(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
}

void post_send(int fd, const struct post *post)
{
	while (send(fd, post, sizeof *post, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

bool post_receive(int fd, struct post *post, bool now)
{
	ssize_t got;

	do
		got = recv(fd, post, sizeof *post, now ? MSG_DONTWAIT : 0);
	while (got < 0 && errno == EINTR);
	if (got == (ssize_t)sizeof *post)
		return true;
	memset(post, 0, sizeof *post);
	return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}
