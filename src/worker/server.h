/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/server.h - one worker's gRPC server: completion queue, event loop, kick, drain.
 * Everything here runs on the event loop thread but server_kick and server_wake. */
#ifndef LEASED_WORKER_SERVER_H
#define LEASED_WORKER_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include <grpc/grpc.h>

#include "core/worker.h"
#include "worker/identity.h"
#include "worker/tag.h"

enum { SERVER_METHODS = 5, SERVER_BACKENDS_MAX = 64 };

struct call;
struct stream;

struct server {
	const struct worker_setup *setup;
	const struct settings *settings; /* current ones; only the loop looks at them */
	struct identity identity;
	_Atomic(struct settings *) fresh; /* from a reload, taken by the loop */
	atomic_bool drain_wanted;

	grpc_server *grpc;
	grpc_completion_queue *queue;
	void *method[SERVER_METHODS];  /* by enum op_kind */
	struct driver_worker **driver; /* one per backend */

	grpc_channel *lame; /* holds `bell`, on which an empty batch wakes the queue */
	grpc_call *bell;
	struct tag bell_tag;
	atomic_bool bell_rung;
	/* Held by whoever acts as the event loop: its thread, but for the time in which it waits
	 * for an event. All below and all calls belong to the holder. */
	pthread_mutex_t turn;
	int64_t wake_us; /* until when the loop's thread waits at most */
	bool attention;	 /* the loop must look at its drivers before the next event */

	struct call *parked; /* calls that wait and must keep their token valid */
	int64_t tokens_us;   /* when their expiry is looked at next */
	struct call *spare;  /* call objects without a call */
	unsigned spare_count;
	struct stream *streams; /* live health and reflection calls */
	unsigned calls;		/* accepted and not over yet */
	bool draining;
	bool cancelled_all;
	int64_t drain_deadline_us;
	int64_t goaway_us; /* when to tell clients; CLOCK_NEVER once it was done */
	int64_t quiet_us;  /* after GOAWAY, without a call: when connections are closed */
	struct tag shutdown_tag;
	bool shut;
};

/* Makes the server and starts it; no listening port: connections come from the acceptor. */
enum err server_start(struct server *server, const struct worker_setup *setup);

/* Any thread: the loop looks at its drivers, at `fresh` and at `drain_wanted` soon. */
void server_kick(void *server);

/* A thread that holds no lock: as server_kick, but polls the drivers itself when the loop waits. */
void server_wake(void *server);

/* Until the drain is over. */
void server_run(struct server *server);

/* After server_run: gives everything back. */
void server_stop(struct server *server);

#endif
