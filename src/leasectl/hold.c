/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "leasectl/hold.h"
#include "leasectl/text.h"
#include "leasectl/waiting.h"

#define RELEASE_PAUSE (100 * CLOCK_MILLI)

bool hold_init(struct hold *hold, const struct options *options)
{
	memset(hold, 0, sizeof *hold);
	hold->options = options;
	lease_random_id(hold->request_id);
	pthread_mutex_init(&hold->mutex, NULL);
	hold->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return hold->bell >= 0;
}

void hold_fini(struct hold *hold)
{
	client_close(hold->client);
	close(hold->bell);
	pthread_mutex_destroy(&hold->mutex);
}

bool hold_stopping(struct hold *hold)
{
	bool stopping;

	pthread_mutex_lock(&hold->mutex);
	stopping = hold->stopping;
	pthread_mutex_unlock(&hold->mutex);
	return stopping;
}

void hold_stop(struct hold *hold)
{
	static const uint64_t one = 1;

	pthread_mutex_lock(&hold->mutex);
	hold->stopping = true;
	if (hold->flying)
		client_cancel(hold->flying);
	pthread_mutex_unlock(&hold->mutex);
	(void)!write(hold->bell, &one, sizeof one);
}

void hold_sleep(struct hold *hold, int64_t until_us)
{
	struct pollfd bell = {.fd = hold->bell, .events = POLLIN};
	int64_t left;

	while ((left = until_us - clock_boot_us()) > 0) {
		/* Short sleeps: poll's clock stands still while the machine is suspended. */
		int ms = left > CLOCK_SECOND ? 1000 : (int)(left / CLOCK_MILLI) + 1;
		int got = poll(&bell, 1, ms);

		if (got > 0 || (got < 0 && errno != EINTR))
			return;
	}
}

static struct lease_request request_of(const struct hold *hold)
{
	const struct options *options = hold->options;

	return (struct lease_request){
	    .name_space = options->name_space,
	    .key = options->key,
	    .holder = hold->holder,
	    .request_id = hold->request_id,
	    .ttl_us = options->ttl_us,
	    .metadata = options->metadata,
	    .metadata_count = options->metadata_count,
	};
}

static bool connect_anew(struct hold *hold)
{
	if (!hold->client)
		hold->client = client_open(&hold->options->client, hold->failure.text);
	if (!hold->client)
		hold->failure.code = GRPC_STATUS_UNAUTHENTICATED;
	return hold->client;
}

/* A call becomes one that hold_stop can end; false when it is too late for that. */
static bool fly(struct hold *hold, struct call *call, bool stoppable)
{
	bool go;

	pthread_mutex_lock(&hold->mutex);
	go = !stoppable || !hold->stopping;
	if (stoppable && go)
		hold->flying = call;
	else if (!go)
		client_cancel(call);
	pthread_mutex_unlock(&hold->mutex);
	return go;
}

static void land(struct hold *hold)
{
	pthread_mutex_lock(&hold->mutex);
	hold->flying = NULL;
	pthread_mutex_unlock(&hold->mutex);
}

static void take_handle(struct hold *hold, const struct call *call,
			const Leased__Wire__LeaseHandle *handle)
{
	int64_t ttl = hold->options->ttl_us, left = lease_remaining_us(handle);

	text_safe(lease_bytes(handle->holder_id), hold->holder, sizeof hold->holder);
	if (handle->expires_at)
		duration_moment(handle->expires_at->seconds, handle->expires_at->nanos,
				hold->expires);
	hold->token = handle->fencing_token;
	hold->renewed_us = call->sent_us;
	hold->end_us = call->sent_us + (left > 0 && left < ttl ? left : ttl);
}

/* What a finished Acquire or Renew means; leaves the connection when it is of no use. */
static enum hold_result judge(struct hold *hold, struct call *call)
{
	Leased__Wire__AcquireResponse *granted =
	    call->code == GRPC_STATUS_OK ? lease_granted(call) : NULL;
	enum hold_result result = HOLD_OK;

	if (granted) {
		take_handle(hold, call, granted->handle);
	} else {
		failure_read(call, &hold->failure);
		result = failure_is_passing(&hold->failure) ||
				 failure_status(&hold->failure) == STATUS_BUG
			     ? HOLD_AGAIN
			     : HOLD_LOST;
	}
	lease_free(granted);
	call_free(hold->client, call);
	if (result == HOLD_AGAIN) {
		client_close(hold->client);
		hold->client = NULL;
	}
	if (result != HOLD_OK && hold_stopping(hold))
		return HOLD_STOPPED;
	return result;
}

enum hold_result hold_acquire(struct hold *hold, int64_t wait_us)
{
	struct lease_request request = request_of(hold);
	struct call call;

	if (!connect_anew(hold))
		return HOLD_LOST;
	request.wait_us = wait_us;
	lease_send(hold->client, &call, LEASE_ACQUIRE, &request,
		   clock_boot_us() + wait_us + hold->options->timeout_us);
	if (fly(hold, &call, true) && wait_us)
		waiting_show(hold->options, hold->client, &call);
	client_wait(hold->client, &call, CLOCK_NEVER);
	land(hold);
	return judge(hold, &call);
}

enum hold_result hold_renew(struct hold *hold, int64_t deadline_us)
{
	struct lease_request request = request_of(hold);
	enum hold_result result;
	struct call call;

	if (!connect_anew(hold))
		return HOLD_AGAIN;
	lease_send(hold->client, &call, LEASE_RENEW, &request, deadline_us);
	fly(hold, &call, true);
	client_wait(hold->client, &call, CLOCK_NEVER);
	land(hold);
	result = judge(hold, &call);
	/* A capability that is refused may be a new one in a moment: the file is read again. */
	if (result == HOLD_LOST && failure_status(&hold->failure) == STATUS_DENIED) {
		client_close(hold->client);
		hold->client = NULL;
		return HOLD_AGAIN;
	}
	return result;
}

enum hold_result hold_release(struct hold *hold, int64_t deadline_us)
{
	struct lease_request request = request_of(hold);

	for (;;) {
		struct call call;
		bool done = false, passing = true;

		if (connect_anew(hold)) {
			lease_ask(hold->client, &call, LEASE_RELEASE, &request, deadline_us);
			done = call.code == GRPC_STATUS_OK;
			if (!done)
				failure_read(&call, &hold->failure);
			passing = !done && failure_is_passing(&hold->failure);
			call_free(hold->client, &call);
		}
		if (done || !passing)
			return done ? HOLD_OK : HOLD_LOST;
		client_close(hold->client);
		hold->client = NULL;
		if (clock_boot_us() + RELEASE_PAUSE >= deadline_us)
			return HOLD_AGAIN;
		usleep((useconds_t)RELEASE_PAUSE);
	}
}
