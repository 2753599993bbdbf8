/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"

#include "base/clock.h"
#include "leasectl/duration.h"
#include "leasectl/failure.h"
#include "leasectl/text.h"

#define INFO_TYPE "type.googleapis.com/google.rpc.ErrorInfo"

static void take_entry(struct failure *failure, const char *key, const char *value)
{
	if (!strcmp(key, "owner"))
		text_safe(bytes_of(value), failure->owner, sizeof failure->owner);
	else if (!strcmp(key, "heldSince"))
		text_safe(bytes_of(value), failure->since, sizeof failure->since);
	else if (!strcmp(key, "remainingMs"))
		failure->remaining_us = strtoll(value, NULL, 10) * CLOCK_MILLI;
	else if (!strcmp(key, "waiters"))
		failure->waiters = strtoll(value, NULL, 10);
	else if (!strcmp(key, "fencingToken"))
		text_safe(bytes_of(value), failure->token, sizeof failure->token);
}

static void take_info(struct failure *failure, const ProtobufCBinaryData *packed)
{
	Google__Rpc__ErrorInfo *info =
	    google__rpc__error_info__unpack(NULL, packed->len, packed->data);

	if (!info)
		return;
	text_safe(bytes_of(info->reason), failure->reason, sizeof failure->reason);
	for (size_t i = 0; i < info->n_metadata; i++)
		take_entry(failure, info->metadata[i]->key, info->metadata[i]->value);
	google__rpc__error_info__free_unpacked(info, NULL);
}

void failure_read(const struct call *call, struct failure *failure)
{
	Google__Rpc__Status *status = NULL;

	memset(failure, 0, sizeof *failure);
	failure->code = call->code;
	text_safe(call->text, failure->text, sizeof failure->text);
	if (call->code == GRPC_STATUS_OK) {
		failure->code = GRPC_STATUS_INTERNAL;
		snprintf(failure->text, sizeof failure->text, "the answer cannot be understood");
	}
	if (call->details.len)
		status = google__rpc__status__unpack(NULL, call->details.len, call->details.data);
	for (size_t i = 0; status && i < status->n_details; i++)
		if (!strcmp(status->details[i]->type_url, INFO_TYPE))
			take_info(failure, &status->details[i]->value);
	if (status)
		google__rpc__status__free_unpacked(status, NULL);
	failure->held = !strcmp(failure->reason, "LEASE_HELD") && *failure->since;
}

static void held_sentence(const struct failure *failure, char text[FAILURE_SENTENCE])
{
	char age[DURATION_ROOM], left[DURATION_ROOM], waiting[48] = "";
	int64_t since = duration_moment_parse(failure->since);

	duration_text(since == INT64_MIN ? 0 : clock_wall_us() - since, age);
	duration_text(failure->remaining_us, left);
	if (failure->waiters)
		snprintf(waiting, sizeof waiting, ", %" PRId64 " waiting", failure->waiters);
	snprintf(text, FAILURE_SENTENCE, "%s%s%s for %s (since %s), %s left%s", failure->text,
		 *failure->owner ? " by " : "", failure->owner, age, failure->since, left, waiting);
}

void failure_sentence(const struct failure *failure, char text[FAILURE_SENTENCE])
{
	if (failure->held)
		held_sentence(failure, text);
	else if (failure->code == GRPC_STATUS_UNAVAILABLE && !*failure->reason)
		snprintf(text, FAILURE_SENTENCE, "cannot reach the server: %s", failure->text);
	else if (failure->code == GRPC_STATUS_DEADLINE_EXCEEDED)
		snprintf(text, FAILURE_SENTENCE, "the server did not answer in time");
	else
		snprintf(text, FAILURE_SENTENCE, "%s", failure->text);
}

void failure_print(const struct failure *failure, const char *subject)
{
	char text[FAILURE_SENTENCE];

	failure_sentence(failure, text);
	fprintf(stderr, "leasectl: %s%s%s\n", subject ? subject : "", subject ? ": " : "", text);
}

enum exit_status failure_status(const struct failure *failure)
{
	switch (failure->code) {
	case GRPC_STATUS_OK:
		return STATUS_OK;
	case GRPC_STATUS_FAILED_PRECONDITION:
		return !strcmp(failure->reason, "NOT_HOLDER") ? STATUS_NO : STATUS_NOT_OBTAINED;
	case GRPC_STATUS_RESOURCE_EXHAUSTED:
		return STATUS_NOT_OBTAINED;
	case GRPC_STATUS_UNAUTHENTICATED:
	case GRPC_STATUS_PERMISSION_DENIED:
		return STATUS_DENIED;
	case GRPC_STATUS_INVALID_ARGUMENT:
	case GRPC_STATUS_NOT_FOUND:
		return STATUS_USAGE;
	case GRPC_STATUS_UNAVAILABLE:
	case GRPC_STATUS_DEADLINE_EXCEEDED:
	case GRPC_STATUS_CANCELLED:
		return STATUS_UNREACHABLE;
	case GRPC_STATUS_UNKNOWN:
	case GRPC_STATUS_ALREADY_EXISTS:
	case GRPC_STATUS_ABORTED:
	case GRPC_STATUS_OUT_OF_RANGE:
	case GRPC_STATUS_UNIMPLEMENTED:
	case GRPC_STATUS_INTERNAL:
	case GRPC_STATUS_DATA_LOSS:
	case GRPC_STATUS__DO_NOT_USE:
		return STATUS_BUG;
	}
	return STATUS_BUG;
}

bool failure_is_passing(const struct failure *failure)
{
	return failure_status(failure) == STATUS_UNREACHABLE;
}
