/* SPDX-License-Identifier: Apache-2.0
 *
 * master/inherit.h - listening sockets that a master leaves to the program it becomes. They stay
 * open over execve(2), named in the environment variable LEASED_SOCKETS as PID:FD,FD... The pid
 * keeps a child that got the variable by accident from believing it. */
#ifndef LEASED_MASTER_INHERIT_H
#define LEASED_MASTER_INHERIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { INHERIT_MAX = 128 };

struct inherit {
	int fd[INHERIT_MAX];
	size_t count;
};

/* Whether this process was left something. Looks at the environment only. */
bool inherit_any(void);

/* Takes what was left, close-on-exec again, and removes the variable. What is no listening socket
 * is not taken. Does not block. */
void inherit_take(struct inherit *set);

/* The socket that is bound to `address`, now the caller's; -1 when there is none. */
int inherit_find(struct inherit *set, const struct sockaddr *address);

/* Closes what nobody wanted. */
void inherit_close(struct inherit *set);

/* For the next program: keeps `fd` open over execve and writes the variable. False with errno;
 * then nothing is left. */
bool inherit_leave(const int *fd, size_t count);

#endif
