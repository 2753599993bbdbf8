/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/acceptor.h - the thread that takes connections from the shared listening sockets and words
 * from the master. */
#ifndef LEASED_WORKER_ACCEPTOR_H
#define LEASED_WORKER_ACCEPTOR_H

#include "worker/server.h"

struct acceptor;

/* Starts the thread and tells the master READY. NULL: out of memory or threads. */
struct acceptor *acceptor_start(struct server *server);

/* No connection is handed over after it returns. Blocks until the thread has ended (milliseconds).
 */
void acceptor_stop(struct acceptor *acceptor);

#endif
