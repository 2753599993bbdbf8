/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/answer.h"
#include "leasectl/waiter.h"

enum { NOTES = 2 };

/* An acquire that stands in line. */
struct waiter {
	struct waiter *next;
	json_t *id, *params;
	struct given given;
	struct flight flight;
	char request_id[LEASE_ID_ROOM];
	char note[NOTES][600];
	const char *notes[NOTES];
	int note_count;
};

struct lease_request waiter_request(const struct given *given)
{
	return (struct lease_request){.name_space = given->name_space,
				      .key = given->key,
				      .holder = given->holder,
				      .ttl_us = given->ttl_us,
				      .wait_us = given->wait_us};
}

static void free_waiter(struct mcp *mcp, struct waiter *waiter)
{
	struct waiter **link = &mcp->waiters;

	while (*link && *link != waiter)
		link = &(*link)->next;
	if (*link)
		*link = waiter->next;
	session_land(&waiter->flight);
	json_decref(waiter->params);
	json_decref(waiter->id);
	free(waiter);
}

static void end_acquire(struct mcp *mcp, struct waiter *waiter)
{
	Leased__Wire__AcquireResponse *granted =
	    waiter->flight.call.code == GRPC_STATUS_OK ? lease_granted(&waiter->flight.call) : NULL;
	struct lease_request request = waiter_request(&waiter->given);

	if (granted) {
		session_take(&mcp->session, &request, &waiter->flight, granted->handle);
		answer_granted(mcp, json_incref(waiter->id), granted->handle);
		lease_free(granted);
	} else {
		answer_failure(mcp, json_incref(waiter->id), &request, &waiter->flight.call);
	}
	free_waiter(mcp, waiter);
}

static void add_note(struct waiter *waiter, const char *name, const char *text)
{
	if (!text || !*text)
		return;
	snprintf(waiter->note[waiter->note_count], sizeof *waiter->note, "%s=%.500s", name, text);
	waiter->notes[waiter->note_count] = waiter->note[waiter->note_count];
	waiter->note_count++;
}

void waiter_acquire(struct mcp *mcp, json_t *id, json_t *params, const struct given *given)
{
	struct lease_request request = waiter_request(given);
	struct waiter *waiter;
	char why[CLIENT_WHY];

	if (session_find(&mcp->session, given->name_space, given->key)) {
		answer_text(mcp, id, false,
			    "This session holds that lease already and renews it by itself.");
		return;
	}
	waiter = calloc(1, sizeof *waiter);
	CHECK(waiter);
	waiter->id = id;
	waiter->params = json_incref(params);
	waiter->given = *given;
	add_note(waiter, "client", mcp->client);
	add_note(waiter, "note", given->note);
	lease_random_id(waiter->request_id);
	request.request_id = waiter->request_id;
	request.metadata = waiter->notes;
	request.metadata_count = waiter->note_count;
	if (!session_send(&mcp->session, &waiter->flight, LEASE_ACQUIRE, &request, why)) {
		answer_text(mcp, json_incref(id), true, why);
		free_waiter(mcp, waiter);
		return;
	}
	waiter->next = mcp->waiters;
	mcp->waiters = waiter;
	if (!given->wait_us) {
		client_wait(waiter->flight.client, &waiter->flight.call, CLOCK_NEVER);
		end_acquire(mcp, waiter);
	}
}

/* A grant may have crossed the cancel: it is taken into care, to be given back from there. */
static struct held *abandon(struct mcp *mcp, struct waiter *waiter)
{
	struct lease_request request = waiter_request(&waiter->given);
	struct call *call = &waiter->flight.call;
	Leased__Wire__AcquireResponse *granted = NULL;
	struct held *held = NULL;

	client_cancel(call);
	client_wait(waiter->flight.client, call, CLOCK_NEVER);
	if (call->code == GRPC_STATUS_OK)
		granted = lease_granted(call);
	if (granted) {
		session_take(&mcp->session, &request, &waiter->flight, granted->handle);
		held = session_find(&mcp->session, request.name_space, request.key);
	}
	lease_free(granted);
	free_waiter(mcp, waiter);
	return held;
}

void waiter_cancel(struct mcp *mcp, json_t *id)
{
	struct waiter *waiter = mcp->waiters;
	struct lease_request request = {0};
	struct flight flight;
	struct held *held;
	char why[CLIENT_WHY];

	while (waiter && !(id && json_equal(waiter->id, id)))
		waiter = waiter->next;
	held = waiter ? abandon(mcp, waiter) : NULL;
	if (!held)
		return;
	request.name_space = held->name_space;
	request.key = held->key;
	request.holder = held->holder;
	if (session_send(&mcp->session, &flight, LEASE_RELEASE, &request, why)) {
		client_wait(flight.client, &flight.call, CLOCK_NEVER);
		session_land(&flight);
	}
	session_drop(&mcp->session, held);
}

void waiter_work(struct mcp *mcp)
{
	struct waiter *next;

	for (struct waiter *waiter = mcp->waiters; waiter; waiter = next) {
		next = waiter->next;
		if (session_done(&waiter->flight))
			end_acquire(mcp, waiter);
	}
}

void waiter_end(struct mcp *mcp)
{
	while (mcp->waiters)
		(void)abandon(mcp, mcp->waiters);
}
