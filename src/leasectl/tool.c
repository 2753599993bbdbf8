/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/answer.h"
#include "leasectl/catalog.h"
#include "leasectl/duration.h"
#include "leasectl/list.h"
#include "leasectl/show.h"
#include "leasectl/tool.h"
#include "leasectl/waiter.h"

#define DEFAULT_TTL (120 * CLOCK_SECOND)
#define LEAST_TTL   (5 * CLOCK_SECOND)

enum { INVALID_PARAMS = -32602, LIST_MOST = 1000 };

json_t *tool_list(void)
{
	json_t *tools = json_loads(catalog_text, 0, NULL);

	CHECK(tools);
	return json_pack("{s:o}", "tools", tools);
}

static const char *read_time(json_t *arguments, const char *name, int64_t *us)
{
	const char *text = json_string_value(json_object_get(arguments, name));

	return text ? duration_parse(text, us) : NULL;
}

static const char *read_given(const struct mcp *mcp, json_t *arguments, struct given *given)
{
	const char *wrong;

	*given =
	    (struct given){.name_space = mcp->session.options->name_space, .ttl_us = DEFAULT_TTL};
	if (json_unpack(arguments, "{s?s, s?s, s?s, s?s, s?s}", "namespace", &given->name_space,
			"key", &given->key, "note", &given->note, "holder_id", &given->holder,
			"prefix", &given->prefix) != 0)
		return "every argument is a string";
	wrong = read_time(arguments, "ttl", &given->ttl_us);
	if (!wrong)
		wrong = read_time(arguments, "wait", &given->wait_us);
	if (!wrong && given->ttl_us < LEAST_TTL)
		wrong = "ttl must be at least 5s";
	return wrong;
}

static bool ask(struct mcp *mcp, json_t *id, enum lease_call which,
		const struct lease_request *request, struct flight *flight)
{
	char why[CLIENT_WHY];

	if (!session_send(&mcp->session, flight, which, request, why)) {
		answer_text(mcp, id, true, why);
		return false;
	}
	client_wait(flight->client, &flight->call, CLOCK_NEVER);
	if (flight->call.code == GRPC_STATUS_OK)
		return true;
	answer_failure(mcp, id, request, &flight->call);
	session_land(flight);
	return false;
}

/* The holder of a lease in care, or what was given. */
static struct held *set_holder(struct mcp *mcp, const struct given *given,
			       struct lease_request *request)
{
	struct held *held = session_find(&mcp->session, given->name_space, given->key);

	if (held && (!given->holder || !strcmp(given->holder, held->holder)))
		request->holder = held->holder;
	else
		held = NULL;
	return held;
}

static void renew(struct mcp *mcp, json_t *id, json_t *params, const struct given *given)
{
	struct lease_request request = waiter_request(given);
	struct held *held = set_holder(mcp, given, &request);
	Leased__Wire__AcquireResponse *granted;
	struct flight flight;

	(void)params;
	if (!request.holder) {
		answer_text(mcp, id, true,
			    "This session does not hold that lease; take it with lease_acquire.");
		return;
	}
	if (!ask(mcp, id, LEASE_RENEW, &request, &flight))
		return;
	granted = lease_granted(&flight.call);
	if (granted && held)
		session_renewed(held, given->ttl_us, &flight.call, granted->handle);
	if (granted)
		answer_granted(mcp, id, granted->handle);
	else
		answer_text(mcp, id, true, "the answer cannot be understood");
	lease_free(granted);
	session_land(&flight);
}

static void release(struct mcp *mcp, json_t *id, json_t *params, const struct given *given)
{
	struct lease_request request = waiter_request(given);
	struct held *held = set_holder(mcp, given, &request);
	struct flight flight;
	char holder[LEASE_ID_ROOM] = "";

	(void)params;
	if (!request.holder) {
		answer_text(mcp, id, true, "This session does not hold that lease.");
		return;
	}
	if (held) {
		/* A renewal under way must not come after it. */
		memcpy(holder, held->holder, sizeof holder);
		request.holder = holder;
		session_land(&held->renewal);
	}
	if (!ask(mcp, id, LEASE_RELEASE, &request, &flight))
		return;
	session_land(&flight);
	if (held)
		session_drop(&mcp->session, held);
	answer_text(mcp, id, false, "The lease is given back.");
}

static void inspect(struct mcp *mcp, json_t *id, json_t *params, const struct given *given)
{
	struct lease_request request = waiter_request(given);
	struct flight flight;

	(void)params;
	if (!ask(mcp, id, LEASE_INSPECT, &request, &flight))
		return;
	answer_inspected(mcp, id, &request, &flight.call);
	session_land(&flight);
}

static void list(struct mcp *mcp, json_t *id, json_t *params, const struct given *given)
{
	struct lease_request request = waiter_request(given);
	struct flight flight;

	(void)params;
	request.prefix = given->prefix;
	request.page_size = LIST_MOST;
	if (!ask(mcp, id, LEASE_LIST, &request, &flight))
		return;
	answer_listed(mcp, id, &flight.call);
	session_land(&flight);
}

static const struct {
	const char *name;
	bool key;
	void (*call)(struct mcp *mcp, json_t *id, json_t *params, const struct given *given);
} tools[] = {
    {"lease_acquire", true, waiter_acquire},
    {"lease_renew", true, renew},
    {"lease_release", true, release},
    {"lease_inspect", true, inspect},
    {"lease_list", false, list},
};

void tool_call(struct mcp *mcp, json_t *id, json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name")), *wrong;
	json_t *arguments = json_object_get(params, "arguments");
	struct given given;

	for (size_t i = 0; name && i < sizeof tools / sizeof *tools; i++) {
		if (strcmp(tools[i].name, name) != 0)
			continue;
		wrong = read_given(mcp, arguments, &given);
		if (!wrong && tools[i].key && (!given.key || !*given.key))
			wrong = "key is required";
		if (wrong)
			answer_text(mcp, id, true, wrong);
		else
			tools[i].call(mcp, id, params, &given);
		return;
	}
	mcp_refuse(mcp, id, INVALID_PARAMS, "unknown tool");
}
