/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "worker/call.h"
#include "worker/stream.h"
#include "worker/server.h"

enum {
	POSTED = 32,	       /* accepts posted per method: fewer cost latency, more nothing */
	BATCH = 64,	       /* events between two looks at the drivers */
	MESSAGE_MAX = 4 << 20, /* bytes of a request */
};

/* Between the answers to waiting calls and GOAWAY: so that they are read before connections close,
 * and calls that were on their way are answered by us. */
#define LAST_WORDS_US (100 * CLOCK_MILLI)
/* A client that has nothing to do may never answer GOAWAY: its connection is closed when there was
 * no call for so long, time enough for the last answers to arrive. */
#define LINGER_US     (300 * CLOCK_MILLI)
#define IDLE_US	      CLOCK_SECOND /* longest sleep: the queue's clock stands still in suspend */

static const char *const paths[SERVER_METHODS] = {
    [OP_ACQUIRE] = "/mindd.lease.v1.Lease/Acquire", [OP_RENEW] = "/mindd.lease.v1.Lease/Renew",
    [OP_RELEASE] = "/mindd.lease.v1.Lease/Release", [OP_INSPECT] = "/mindd.lease.v1.Lease/Inspect",
    [OP_LIST] = "/mindd.lease.v1.Lease/List",
};

static grpc_arg number(const char *key, int value)
{
	return (grpc_arg){GRPC_ARG_INTEGER, (char *)(uintptr_t)key, {.integer = value}};
}

static grpc_server *create(void)
{
	grpc_arg list[] = {
	    number(GRPC_ARG_MINIMAL_STACK, 1),
	    number(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 1),
	    number(GRPC_ARG_ENABLE_CHANNELZ, 0),
	    number(GRPC_ARG_HTTP2_BDP_PROBE, 0),
	    number(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, MESSAGE_MAX),
	    /* A dead peer is noticed within 60 s + 20 s; a client may ping every 10 s. */
	    number(GRPC_ARG_KEEPALIVE_TIME_MS, 60000),
	    number(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20000),
	    number(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
	    number(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000),
	    number(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0),
	};
	grpc_channel_args args = {sizeof list / sizeof *list, list};

	return grpc_server_create(&args, NULL);
}

static void rung(struct tag *tag, bool ok)
{
	struct server *server = TAG_OWNER(tag, struct server, bell_tag);

	(void)ok;
	/* Cleared before the drivers are polled: a kick from now on rings again. */
	atomic_store(&server->bell_rung, false);
	server->attention = true;
}

void server_kick(void *arg)
{
	struct server *server = arg;

	if (!atomic_exchange(&server->bell_rung, true))
		CHECK(grpc_call_start_batch(server->bell, NULL, 0, &server->bell_tag, NULL) ==
		      GRPC_CALL_OK);
}

/* When the loop must look up from its events next, at the latest. */
static int64_t next_wake(struct server *server)
{
	int64_t next = clock_boot_us() + IDLE_US;

	for (size_t i = 0; i < server->setup->settings->backend_count; i++) {
		int64_t at = server->setup->settings->backend[i].driver->next(server->driver[i]);

		next = at < next ? at : next;
	}
	if (server->draining && !server->cancelled_all) {
		next = server->drain_deadline_us < next ? server->drain_deadline_us : next;
		next = server->quiet_us < next ? server->quiet_us : next;
	}
	if (server->draining && server->goaway_us < next)
		next = server->goaway_us;
	return next;
}

static void poll_drivers(struct server *server)
{
	for (size_t i = 0; i < server->setup->settings->backend_count; i++)
		server->setup->settings->backend[i].driver->poll(server->driver[i]);
}

/* When the turn is taken, its holder may have polled already: only the bell is sure to be heard. */
void server_wake(void *arg)
{
	struct server *server = arg;

	if (pthread_mutex_trylock(&server->turn) != 0) {
		server_kick(server);
		return;
	}
	poll_drivers(server);
	if (next_wake(server) < server->wake_us)
		server_kick(server);
	pthread_mutex_unlock(&server->turn);
}

/* The C core has no alarm; an empty batch on a call that never goes anywhere only touches the queue
 * (call.cc of 1.51) and so may come from any thread. */
static void make_bell(struct server *server)
{
	server->lame = grpc_lame_client_channel_create("bell", GRPC_STATUS_UNAVAILABLE, "bell");
	server->bell =
	    grpc_channel_create_call(server->lame, NULL, GRPC_PROPAGATE_DEFAULTS, server->queue,
				     grpc_slice_from_static_string("/bell"), NULL,
				     gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
	server->bell_tag = TAG_INIT(rung);
}

static enum err attach(struct server *server)
{
	const struct worker_setup *setup = server->setup;
	struct driver_host host = {server_kick, server_wake, server, setup->slot};

	server->driver = calloc(setup->settings->backend_count + 1, sizeof *server->driver);
	CHECK(server->driver);
	for (size_t i = 0; i < setup->settings->backend_count; i++) {
		const struct driver *driver = setup->settings->backend[i].driver;
		enum err err = driver->attach(setup->shared[i], &host, &server->driver[i]);

		if (err != ERR_OK) {
			log_error("driver cannot be attached",
				  LOG_TEXT("backend", setup->settings->backend[i].name),
				  LOG_TEXT("why", err_text(err)));
			return err;
		}
	}
	return ERR_OK;
}

enum err server_start(struct server *server, const struct worker_setup *setup)
{
	enum err err;

	server->setup = setup;
	server->settings = setup->settings;
	identity_open(&server->identity, &setup->settings->auth);
	/* Ours from the start: drivers' threads may wake us before all is ready. */
	CHECK(pthread_mutex_init(&server->turn, NULL) == 0 &&
	      pthread_mutex_lock(&server->turn) == 0);
	server->queue = grpc_completion_queue_create_for_next(NULL);
	make_bell(server);
	err = attach(server);
	if (err != ERR_OK)
		return err;
	server->grpc = create();
	grpc_server_register_completion_queue(server->grpc, server->queue, NULL);
	for (int kind = 0; kind < SERVER_METHODS; kind++)
		server->method[kind] = grpc_server_register_method(
		    server->grpc, paths[kind], NULL, GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
	grpc_server_start(server->grpc);
	for (int i = 0; i < POSTED; i++) {
		for (int kind = 0; kind < SERVER_METHODS; kind++)
			call_accept(server, (enum op_kind)kind);
		stream_accept(server);
	}
	return ERR_OK;
}

static void shut_down(struct tag *tag, bool ok)
{
	struct server *server = TAG_OWNER(tag, struct server, shutdown_tag);

	(void)ok;
	server->shut = true;
}

static void begin_drain(struct server *server)
{
	server->draining = true;
	server->goaway_us = clock_boot_us() + LAST_WORDS_US;
	server->quiet_us = CLOCK_NEVER;
	server->drain_deadline_us = clock_boot_us() + server->settings->shutdown_timeout_us;
	stream_notify(server);
	for (size_t i = 0; i < server->setup->settings->backend_count; i++)
		server->setup->settings->backend[i].driver->drain(server->driver[i]);
}

/* The second part, a moment later: from here on the core ends by itself what arrives. */
static void send_goaway(struct server *server)
{
	server->goaway_us = CLOCK_NEVER;
	server->quiet_us = clock_boot_us() + LINGER_US;
	server->shutdown_tag = TAG_INIT(shut_down);
	grpc_server_shutdown_and_notify(server->grpc, server->queue, &server->shutdown_tag);
	stream_end_all(server);
}

/* Ends what is left of a drain: connections without calls after a while, all others at its limit.
 */
static void close_connections(struct server *server)
{
	int64_t now = clock_boot_us();

	if (server->cancelled_all)
		return;
	if (server->quiet_us != CLOCK_NEVER && (server->calls || server->streams))
		server->quiet_us = now + LINGER_US;
	if (now < server->drain_deadline_us && now < server->quiet_us)
		return;
	server->cancelled_all = true;
	grpc_server_cancel_all_calls(server->grpc);
}

static void take_orders(struct server *server)
{
	struct settings *fresh = atomic_exchange(&server->fresh, NULL);

	/* Nobody keeps a pointer into settings beyond one event; the first ones stay with the
	 * setup. */
	if (fresh) {
		identity_close(&server->identity);
		if (server->settings != server->setup->settings)
			server->setup->settings_free(
			    (struct settings *)(uintptr_t)server->settings);
		server->settings = fresh;
		identity_open(&server->identity, &fresh->auth);
		call_recheck_parked(server);
		log_configure(fresh->log_level, fresh->log_format, fresh->log_target);
	}
	if (atomic_load(&server->drain_wanted) && !server->draining)
		begin_drain(server);
	if (server->draining && clock_boot_us() >= server->goaway_us)
		send_goaway(server);
	if (server->draining)
		close_connections(server);
}

static gpr_timespec deadline_of(int64_t boot_us)
{
	int64_t left = boot_us - clock_boot_us();

	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_micros(left > 0 ? left : 0, GPR_TIMESPAN));
}

static void dispatch(grpc_event event)
{
	struct tag *tag = event.tag;

	CHECK(tag->magic == TAG_MAGIC);
	tag->fn(tag, event.success != 0);
}

static grpc_event next_event(struct server *server, gpr_timespec deadline)
{
	grpc_event event;

	CHECK(pthread_mutex_unlock(&server->turn) == 0);
	event = grpc_completion_queue_next(server->queue, deadline, NULL);
	CHECK(pthread_mutex_lock(&server->turn) == 0);
	return event;
}

/* What is not an event of the core: words of the master, and what is due in the drivers. */
static void publish(struct server *server)
{
	const struct worker_setup *setup = server->setup;

	for (size_t i = 0; i < setup->settings->backend_count; i++)
		meter_backend(setup->meter, setup->slot, i,
			      setup->settings->backend[i].driver->health(server->driver[i]) ==
				  ERR_OK);
}

static void look_up(struct server *server)
{
	server->attention = false;
	take_orders(server);
	call_expire_parked(server);
	poll_drivers(server);
	publish(server);
	stream_notify(server);
}

/* One call of the core per event, and no more: each look into an empty queue costs a system call.
 * The drivers are looked at when somebody rang, when a call was parked (its timer may be the
 * nearest), when a timer is due, and after BATCH events in a row. */
void server_run(struct server *server)
{
	while (!server->shut) {
		gpr_timespec deadline;

		server->wake_us = next_wake(server);
		deadline = deadline_of(server->wake_us);
		for (int i = 0; i < BATCH && !server->attention; i++) {
			grpc_event event = next_event(server, deadline);

			if (event.type != GRPC_OP_COMPLETE)
				break;
			dispatch(event);
			if (clock_boot_us() >= server->wake_us)
				break;
		}
		look_up(server);
	}
}

void server_stop(struct server *server)
{
	/* Drivers first: after this nobody kicks. Then the queue may be shut and emptied. */
	for (size_t i = 0; i < server->setup->settings->backend_count; i++)
		server->setup->settings->backend[i].driver->detach(server->driver[i]);
	grpc_server_destroy(server->grpc);
	grpc_completion_queue_shutdown(server->queue);
	for (;;) {
		grpc_event event = grpc_completion_queue_next(
		    server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);

		if (event.type == GRPC_QUEUE_SHUTDOWN)
			break;
		if (event.type == GRPC_OP_COMPLETE)
			dispatch(event);
	}
	grpc_call_unref(server->bell);
	grpc_channel_destroy(server->lame);
	grpc_completion_queue_destroy(server->queue);
	call_free_spares(server);
	identity_close(&server->identity);
	free(server->driver);
}
