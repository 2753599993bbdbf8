/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/stream.h - every call that is not one of the five: health, reflection, and what this
 * server does not know (answered UNIMPLEMENTED). Event loop thread only. */
#ifndef LEASED_WORKER_STREAM_H
#define LEASED_WORKER_STREAM_H

#include "worker/server.h"

/* Asks the core for the next such call. */
void stream_accept(struct server *server);

/* Tells health Watch streams what changed. Cheap when nothing did. */
void stream_notify(struct server *server);

/* Ends all streams, for the drain: each after the message that is on its way. */
void stream_end_all(struct server *server);

#endif
