/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/session.h"
#include "leasectl/text.h"

#define CALL_LIMIT   (5 * CLOCK_SECOND)
#define RETRY	     (CLOCK_SECOND / 2)
#define LOOK	     (20 * CLOCK_MILLI)
#define RELEASE_TIME (2 * CLOCK_SECOND)

bool session_send(const struct session *session, struct flight *flight, enum lease_call which,
		  const struct lease_request *request, char why[CLIENT_WHY])
{
	int64_t limit = session->options->timeout_us;

	flight->client = client_open(&session->options->client, why);
	if (!flight->client)
		return false;
	if (limit > CALL_LIMIT)
		limit = CALL_LIMIT;
	lease_send(flight->client, &flight->call, which, request,
		   clock_boot_us() + request->wait_us + limit);
	return true;
}

bool session_done(struct flight *flight)
{
	return client_wait(flight->client, &flight->call, clock_boot_us());
}

void session_land(struct flight *flight)
{
	if (!flight->client)
		return;
	call_free(flight->client, &flight->call);
	client_close(flight->client);
	flight->client = NULL;
}

void session_renewed(struct held *held, int64_t ttl_us, const struct call *call,
		     const Leased__Wire__LeaseHandle *handle)
{
	int64_t left = lease_remaining_us(handle);

	held->ttl_us = ttl_us;
	held->end_us = call->sent_us + (left > 0 && left < ttl_us ? left : ttl_us);
	held->next_us = call->sent_us + ttl_us / 3;
}

void session_take(struct session *session, const struct lease_request *request,
		  const struct flight *flight, const Leased__Wire__LeaseHandle *handle)
{
	struct held *held = calloc(1, sizeof *held);

	CHECK(held);
	held->name_space = strdup(request->name_space);
	held->key = strdup(request->key);
	CHECK(held->name_space && held->key);
	text_safe(lease_bytes(handle->holder_id), held->holder, sizeof held->holder);
	held->token = handle->fencing_token;
	session_renewed(held, request->ttl_us, &flight->call, handle);
	/* After a wait the time of the grant is not known: an early renewal makes it so. */
	if (request->wait_us) {
		held->end_us = clock_boot_us() + request->ttl_us;
		held->next_us = clock_boot_us();
	}
	held->next = session->held;
	session->held = held;
}

struct held *session_find(const struct session *session, const char *name_space, const char *key)
{
	for (struct held *held = session->held; held; held = held->next)
		if (!strcmp(held->name_space, name_space) && !strcmp(held->key, key))
			return held;
	return NULL;
}

void session_drop(struct session *session, struct held *held)
{
	struct held **link = &session->held;

	while (*link != held)
		link = &(*link)->next;
	*link = held->next;
	session_land(&held->renewal);
	free(held->name_space);
	free(held->key);
	free(held);
}

static struct lease_request request_of(const struct held *held)
{
	return (struct lease_request){.name_space = held->name_space,
				      .key = held->key,
				      .holder = held->holder,
				      .ttl_us = held->ttl_us};
}

static void lose(struct session *session, struct held *held, const char *why)
{
	session->lost(session->context, held, why);
	session_drop(session, held);
}

/* Takes in the answer of a renewal; true when the lease is gone. */
static bool end_renewal(struct session *session, struct held *held)
{
	Leased__Wire__AcquireResponse *granted =
	    held->renewal.call.code == GRPC_STATUS_OK ? lease_granted(&held->renewal.call) : NULL;
	struct failure failure;

	if (granted) {
		session_renewed(held, held->ttl_us, &held->renewal.call, granted->handle);
		lease_free(granted);
		session_land(&held->renewal);
		return false;
	}
	failure_read(&held->renewal.call, &failure);
	session_land(&held->renewal);
	held->next_us = clock_boot_us() + RETRY;
	if (failure_status(&failure) != STATUS_NO)
		return false;
	lose(session, held, failure.text);
	return true;
}

static void begin_renewal(struct session *session, struct held *held)
{
	struct lease_request request = request_of(held);
	char why[CLIENT_WHY];

	if (!session_send(session, &held->renewal, LEASE_RENEW, &request, why))
		held->next_us = clock_boot_us() + RETRY;
}

void session_work(struct session *session)
{
	struct held *next;

	for (struct held *held = session->held; held; held = next) {
		int64_t now = clock_boot_us();

		next = held->next;
		if (held->renewal.client && session_done(&held->renewal) &&
		    end_renewal(session, held))
			continue;
		if (now >= held->end_us)
			lose(session, held, "it could not be renewed in time");
		else if (!held->renewal.client && now >= held->next_us)
			begin_renewal(session, held);
	}
}

int64_t session_next(const struct session *session)
{
	int64_t next = CLOCK_NEVER;

	for (const struct held *held = session->held; held; held = held->next) {
		int64_t mine = held->renewal.client ? clock_boot_us() + LOOK : held->next_us;

		if (mine < next)
			next = mine;
	}
	return next;
}

void session_end(struct session *session)
{
	int64_t until = clock_boot_us() + RELEASE_TIME;
	char why[CLIENT_WHY];

	/* All at once, then the answers: two seconds are for all of them. */
	for (struct held *held = session->held; held; held = held->next) {
		struct lease_request request = request_of(held);

		session_land(&held->renewal);
		(void)session_send(session, &held->renewal, LEASE_RELEASE, &request, why);
	}
	for (struct held *held = session->held; held; held = held->next)
		if (held->renewal.client)
			client_wait(held->renewal.client, &held->renewal.call, until);
	while (session->held)
		session_drop(session, session->held);
}
