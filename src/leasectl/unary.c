/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "leasectl/failure.h"
#include "leasectl/lease.h"
#include "leasectl/show.h"
#include "leasectl/text.h"
#include "leasectl/unary.h"
#include "leasectl/waiting.h"

enum { SUBJECT = 1600 };

struct client *unary_client(const struct options *options)
{
	char why[CLIENT_WHY] = "out of memory";
	struct client *client = client_open(&options->client, why);

	if (!client)
		options_refuse("%s", why);
	return client;
}

static struct lease_request request_of(const struct options *options)
{
	return (struct lease_request){
	    .name_space = options->name_space,
	    .key = options->key,
	    .holder = options->holder,
	    .request_id = options->request_id,
	    .ttl_us = options->ttl_us,
	    .wait_us = options->wait_us,
	    .metadata = options->metadata,
	    .metadata_count = options->metadata_count,
	};
}

static int fail(const struct options *options, const struct call *call)
{
	char subject[SUBJECT];
	struct failure failure;

	snprintf(subject, sizeof subject, "%s/", options->name_space);
	text_safe(bytes_of(options->key), subject + strlen(subject), 1200);
	failure_read(call, &failure);
	failure_print(&failure, subject);
	return failure_status(&failure);
}

static int show_granted(const struct options *options, const struct call *call)
{
	Leased__Wire__AcquireResponse *granted =
	    call->code == GRPC_STATUS_OK ? lease_granted(call) : NULL;

	if (!granted)
		return fail(options, call);
	show_lease(options, granted->handle);
	lease_free(granted);
	return STATUS_OK;
}

int unary_acquire(const struct options *options)
{
	struct client *client = unary_client(options);
	struct lease_request request = request_of(options);
	char id[LEASE_ID_ROOM];
	struct call call;
	int status;

	lease_random_id(id);
	if (!request.request_id)
		request.request_id = id;
	lease_send(client, &call, LEASE_ACQUIRE, &request,
		   clock_boot_us() + options->wait_us + options->timeout_us);
	if (options->wait_us)
		waiting_show(options, client, &call);
	client_wait(client, &call, CLOCK_NEVER);
	status = show_granted(options, &call);
	call_free(client, &call);
	client_close(client);
	return status;
}

/* One call without waiting, and what to do with its end. */
static int ask(const struct options *options, enum lease_call which,
	       int (*end)(const struct options *options, const struct call *call))
{
	struct client *client = unary_client(options);
	struct lease_request request = request_of(options);
	struct call call;
	int status;

	lease_ask(client, &call, which, &request, clock_boot_us() + options->timeout_us);
	status = end(options, &call);
	call_free(client, &call);
	client_close(client);
	return status;
}

int unary_renew(const struct options *options)
{
	if (!options->holder)
		options_refuse("which lease? Give --holder ID as acquire printed it");
	return ask(options, LEASE_RENEW, show_granted);
}

static int end_release(const struct options *options, const struct call *call)
{
	Leased__Wire__ReleaseResponse *released =
	    call->code == GRPC_STATUS_OK ? lease_released(call) : NULL;
	bool existed, json = options->output == OUTPUT_JSON || options->output == OUTPUT_JSONL;

	if (!released)
		return fail(options, call);
	existed = released->existed;
	lease_free(released);
	if (json)
		show_json_print(existed ? json_pack("{s:b}", "existed", 1) : json_object(),
				options->output);
	else if (!existed)
		options_notice(options, "%s/%s was held by nobody", options->name_space,
			       options->key);
	return existed ? STATUS_OK : STATUS_NO;
}

int unary_release(const struct options *options)
{
	if (!options->holder)
		options_refuse("which lease? Give --holder ID as acquire printed it");
	return ask(options, LEASE_RELEASE, end_release);
}

static void inspect_json(const struct options *options, const Leased__Wire__InspectResponse *seen)
{
	json_t *whole = json_object();

	if (seen->held) {
		json_object_set_new(whole, "held", json_true());
		json_object_set_new(whole, "handle", show_json(seen->handle));
	}
	if (seen->waiters)
		json_object_set_new(whole, "waiters", json_integer(seen->waiters));
	show_json_print(whole, options->output);
}

static int end_inspect(const struct options *options, const struct call *call)
{
	Leased__Wire__InspectResponse *seen =
	    call->code == GRPC_STATUS_OK ? lease_inspected(call) : NULL;
	bool json = options->output == OUTPUT_JSON || options->output == OUTPUT_JSONL, held;

	if (!seen)
		return fail(options, call);
	held = seen->held;
	if (json)
		inspect_json(options, seen);
	else if (held)
		show_lease(options, seen->handle);
	else
		options_notice(options, "%s/%s is free", options->name_space, options->key);
	if (!json && held && seen->waiters)
		options_notice(options, "%u waiting", seen->waiters);
	lease_free(seen);
	return held ? STATUS_OK : STATUS_NO;
}

int unary_inspect(const struct options *options)
{
	return ask(options, LEASE_INSPECT, end_inspect);
}
