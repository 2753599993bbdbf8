/* SPDX-License-Identifier: Apache-2.0
 *
 * master/owner.h - who listens on an address that is in use: to name it in the error. */
#ifndef LEASED_MASTER_OWNER_H
#define LEASED_MASTER_OWNER_H

#include <sys/socket.h>
#include <sys/types.h>

/* The process that listens where `address` (AF_INET, AF_INET6) cannot be bound; of a tree that
 * shares the socket, the one whose parent does not. 0 when it cannot be seen. Reads /proc (Linux
 * proc(5)): milliseconds. */
pid_t owner_of(const struct sockaddr *address);

#endif
