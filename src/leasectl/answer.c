/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/answer.h"
#include "leasectl/duration.h"
#include "leasectl/show.h"
#include "leasectl/text.h"
#include "leasectl/tool.h"

/* Losses come first: what the agent asked for may no longer matter. Takes over `data` (may be
 * NULL). */
static void answer(struct mcp *mcp, json_t *id, bool error, const char *text, json_t *data)
{
	json_t *result, *content = json_array();

	for (size_t i = 0; i < json_array_size(mcp->losses); i++)
		json_array_append_new(content, json_pack("{s:s, s:O}", "type", "text", "text",
							 json_array_get(mcp->losses, i)));
	json_array_clear(mcp->losses);
	json_array_append_new(content, json_pack("{s:s, s:s}", "type", "text", "text", text));
	result = json_pack("{s:o, s:b}", "content", content, "isError", error);
	if (data)
		json_object_set_new(result, "structuredContent", data);
	mcp_answer(mcp, id, result);
}

void answer_text(struct mcp *mcp, json_t *id, bool error, const char *text)
{
	answer(mcp, id, error, text, NULL);
}

void answer_granted(struct mcp *mcp, json_t *id, const Leased__Wire__LeaseHandle *handle)
{
	char text[TOOL_TEXT], name_space[600], key[2200];

	text_safe(lease_bytes(handle->namespace_), name_space, sizeof name_space);
	text_safe(lease_bytes(handle->key), key, sizeof key);
	snprintf(text, sizeof text,
		 "You hold the lease on %s/%s (fencing token %" PRIu64
		 "). It is renewed while this session lives; give it back with lease_release when "
		 "you are done.",
		 name_space, key, handle->fencing_token);
	answer(mcp, id, false, text, json_pack("{s:o}", "handle", show_json(handle)));
}

/* "held by ci (note: rebase) for 3m12s, 41s left, 2 waiting". */
static void describe(const Leased__Wire__InspectResponse *seen, char text[TOOL_TEXT])
{
	const Leased__Wire__LeaseHandle *handle = seen->handle;
	char owner[300], age[DURATION_ROOM] = "0s", left[DURATION_ROOM], part[1300];
	size_t used = 0;

	text_safe(lease_bytes(handle->owner), owner, sizeof owner);
	used = (size_t)snprintf(text, TOOL_TEXT, "held by %s", *owner ? owner : "another");
	for (size_t i = 0; i < handle->n_metadata && used < TOOL_TEXT - 1400; i++) {
		used += (size_t)snprintf(text + used, TOOL_TEXT - used, "%s", i ? "; " : " (");
		text_safe(lease_bytes(handle->metadata[i]->key), part, 300);
		used += (size_t)snprintf(text + used, TOOL_TEXT - used, "%s: ", part);
		text_safe(lease_bytes(handle->metadata[i]->value), part, 700);
		used += (size_t)snprintf(text + used, TOOL_TEXT - used, "%s", part);
	}
	if (handle->acquired_at)
		duration_text(clock_wall_us() - handle->acquired_at->seconds * CLOCK_SECOND, age);
	duration_text(lease_remaining_us(handle), left);
	snprintf(text + used, TOOL_TEXT - used, "%s for %s, %s left unless renewed, %u waiting",
		 handle->n_metadata ? ")" : "", age, left, seen->waiters);
}

static json_t *inspected_json(const Leased__Wire__InspectResponse *seen)
{
	json_t *data = json_pack("{s:b, s:i}", "held", seen->held, "waiters", (int)seen->waiters);
	json_t *handle;

	if (seen->held) {
		handle = show_json(seen->handle);
		/* Whoever knows it can release the lease: it is the holder's alone. */
		json_object_del(handle, "holderId");
		json_object_set_new(data, "handle", handle);
	}
	return data;
}

/* A refused acquire: who, until when, and what to do next. */
static void answer_held(struct mcp *mcp, json_t *id, const struct lease_request *request,
			const struct failure *failure)
{
	Leased__Wire__InspectResponse *seen = NULL;
	char who[TOOL_TEXT], text[2 * TOOL_TEXT], why[CLIENT_WHY];
	struct flight flight;
	json_t *data = NULL;

	failure_sentence(failure, who);
	if (session_send(&mcp->session, &flight, LEASE_INSPECT, request, why)) {
		client_wait(flight.client, &flight.call, CLOCK_NEVER);
		seen = flight.call.code == GRPC_STATUS_OK ? lease_inspected(&flight.call) : NULL;
		if (seen && seen->held)
			describe(seen, who);
		data = seen ? inspected_json(seen) : NULL;
		lease_free(seen);
		session_land(&flight);
	}
	snprintf(
	    text, sizeof text,
	    "Not granted: %s/%s is %s. Do not change what it guards. Next: call lease_acquire "
	    "again with \"wait\" (such as \"60s\") to stand in line, or work on something else "
	    "and look again with lease_inspect.",
	    request->name_space, request->key, who);
	answer(mcp, id, true, text, data);
}

void answer_failure(struct mcp *mcp, json_t *id, const struct lease_request *request,
		    const struct call *call)
{
	char sentence[FAILURE_SENTENCE], text[TOOL_TEXT];
	struct failure failure;
	const char *next = "";

	failure_read(call, &failure);
	if (!strcmp(failure.reason, "LEASE_HELD")) {
		answer_held(mcp, id, request, &failure);
		return;
	}
	if (failure_is_passing(&failure))
		next = " This does not tell whether the key is held: try again in a moment.";
	else if (failure_status(&failure) == STATUS_NO)
		next = " The lease is over; take it again with lease_acquire before you go on.";
	failure_sentence(&failure, sentence);
	snprintf(text, sizeof text, "%.1390s.%s", sentence, next);
	answer(mcp, id, true, text, NULL);
}

void answer_inspected(struct mcp *mcp, json_t *id, const struct lease_request *request,
		      const struct call *call)
{
	Leased__Wire__InspectResponse *seen = lease_inspected(call);
	const struct held *held = session_find(&mcp->session, request->name_space, request->key);
	char who[TOOL_TEXT] = "free", text[2 * TOOL_TEXT];

	if (!seen) {
		answer_text(mcp, id, true, "the answer cannot be understood");
		return;
	}
	if (seen->held)
		describe(seen, who);
	snprintf(text, sizeof text, "%s/%s is %s%s.", request->name_space, request->key, who,
		 seen->held && held && held->token == seen->handle->fencing_token
		     ? "; it is this session's own lease"
		     : "");
	answer(mcp, id, false, text, inspected_json(seen));
	lease_free(seen);
}

void answer_listed(struct mcp *mcp, json_t *id, const struct call *call)
{
	Leased__Wire__ListResponse *page = lease_listed(call);
	json_t *leases = json_array(), *handle;
	char line[TOOL_TEXT], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	for (size_t i = 0; page && i < page->n_leases; i++) {
		Leased__Wire__InspectResponse one = {.held = true, .handle = page->leases[i]};

		handle = show_json(page->leases[i]);
		json_object_del(handle, "holderId");
		json_array_append_new(leases, handle);
		text_safe(lease_bytes(page->leases[i]->key), line, sizeof line);
		fprintf(out, "%s: ", line);
		describe(&one, line);
		*strrchr(line, ',') = 0; /* how many wait is not known here */
		fprintf(out, "%s\n", line);
	}
	fputs(!page || !page->n_leases	  ? "Nothing is held."
	      : page->next_page_token.len ? "There are more: give a prefix."
					  : "",
	      out);
	fclose(out);
	answer(mcp, id, false, text, json_pack("{s:o}", "leases", leases));
	free(text);
	lease_free(page);
}
