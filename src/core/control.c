/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/control.h"

/* unix(7): room for exactly one descriptor, aligned as cmsg(3) asks. */
union ancillary {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

enum err control_send(int socket, enum control_word word, int fd)
{
	unsigned char byte = (unsigned char)word;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
	union ancillary ancillary;

	if (fd >= 0) {
		memset(&ancillary, 0, sizeof ancillary);
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(&ancillary.header), &fd, sizeof fd);
		message.msg_control = &ancillary;
		message.msg_controllen = sizeof ancillary;
	}
	for (;;) {
		if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1)
			return ERR_OK;
		if (errno != EINTR)
			return ERR_SYSTEM;
	}
}

static int descriptor_of(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd;

	if (!header || header->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof fd);
	return fd;
}

enum err control_receive(int socket, enum control_word *word, int *fd)
{
	unsigned char byte;
	struct iovec data = {&byte, 1};
	union ancillary ancillary;
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof ancillary};

	for (;;) {
		ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);

		if (n == 1)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		return n < 0 && errno == EAGAIN ? ERR_PENDING : ERR_SYSTEM;
	}
	*word = (enum control_word)byte;
	*fd = descriptor_of(&message);
	return ERR_OK;
}
