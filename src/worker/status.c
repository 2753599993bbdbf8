/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <protobuf-c/protobuf-c.h>

#include "google/rpc/error_details.pb-c.h"
#include "google/rpc/status.pb-c.h"

#include "base/log.h"
#include "worker/status.h"

enum { INFO_ENTRIES = 8, DETAILS = 3 };

/* One ErrorInfo under construction, with room for what the contract names. */
struct info {
	Google__Rpc__ErrorInfo message;
	Google__Rpc__ErrorInfo__MetadataEntry entry[INFO_ENTRIES];
	Google__Rpc__ErrorInfo__MetadataEntry *list[INFO_ENTRIES];
};

static grpc_status_code code_of(enum err err)
{
	switch (err) {
	case ERR_OK:
		return GRPC_STATUS_OK;
	case ERR_INVALID_ARGUMENT:
		return GRPC_STATUS_INVALID_ARGUMENT;
	case ERR_HELD:
	case ERR_NOT_HOLDER:
		return GRPC_STATUS_FAILED_PRECONDITION;
	case ERR_NAMESPACE_UNKNOWN:
		return GRPC_STATUS_NOT_FOUND;
	case ERR_TOKEN_MISSING:
	case ERR_TOKEN_INVALID:
	case ERR_TOKEN_EXPIRED:
		return GRPC_STATUS_UNAUTHENTICATED;
	case ERR_OP_NOT_GRANTED:
	case ERR_NAMESPACE_NOT_GRANTED:
		return GRPC_STATUS_PERMISSION_DENIED;
	case ERR_TABLE_FULL:
	case ERR_WAITERS_FULL:
		return GRPC_STATUS_RESOURCE_EXHAUSTED;
	case ERR_BACKEND_DOWN:
	case ERR_DRAINING:
	case ERR_RESTART_GRACE:
		return GRPC_STATUS_UNAVAILABLE;
	case ERR_CANCELLED:
		return GRPC_STATUS_CANCELLED;
	case ERR_PENDING:
	case ERR_SYSTEM:
	case ERR_BUG:
		return GRPC_STATUS_INTERNAL;
	}
	return GRPC_STATUS_INTERNAL;
}

static const char *text_of(struct arena *arena, struct bytes bytes)
{
	char *text = arena_alloc(arena, bytes.len + 1);

	if (!text)
		return "";
	if (bytes.len)
		memcpy(text, bytes.data, bytes.len);
	text[bytes.len] = 0;
	return text;
}

static const char *number_text(struct arena *arena, int64_t number)
{
	char *text = arena_alloc(arena, 24);

	if (!text)
		return "";
	snprintf(text, 24, "%" PRId64, number);
	return text;
}

static const char *time_text(struct arena *arena, int64_t wall_us)
{
	enum { ROOM = 40 };
	char *text = arena_alloc(arena, ROOM);
	time_t seconds = wall_us / 1000000;
	struct tm parts;
	size_t used;

	if (!text)
		return "";
	gmtime_r(&seconds, &parts);
	used = strftime(text, ROOM, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(text + used, ROOM - used, ".%06dZ", (int)(wall_us % 1000000));
	return text;
}

static void add(struct info *info, const char *key, const char *value)
{
	Google__Rpc__ErrorInfo__MetadataEntry *entry = &info->entry[info->message.n_metadata];

	google__rpc__error_info__metadata_entry__init(entry);
	entry->key = (char *)(uintptr_t)key;
	entry->value = (char *)(uintptr_t)value;
	info->list[info->message.n_metadata++] = entry;
}

static void fill_info(struct op *op, struct info *info)
{
	const struct op_answer *answer = &op->answer;

	google__rpc__error_info__init(&info->message);
	info->message.metadata = info->list;
	info->message.domain = (char *)(uintptr_t) "lease.mindd.dev";
	info->message.reason = (char *)(uintptr_t)err_reason(answer->result);
	if (answer->result == ERR_NAMESPACE_UNKNOWN)
		add(info, "namespace", text_of(op->arena, op->request.name_space));
	if (answer->result == ERR_INVALID_ARGUMENT && answer->field)
		add(info, "field", answer->field);
	if (answer->result != ERR_HELD || !answer->held)
		return;
	add(info, "heldSince", time_text(op->arena, answer->lease.acquired_wall_us));
	add(info, "remainingMs", number_text(op->arena, (answer->lease.remaining_us + 999) / 1000));
	add(info, "waiters", number_text(op->arena, answer->waiters));
	add(info, "fencingToken", number_text(op->arena, (int64_t)answer->lease.fencing_token));
	if (answer->lease.owner.len && op->request.may_inspect)
		add(info, "owner", text_of(op->arena, answer->lease.owner));
}

static bool put_any(struct arena *arena, const char *type, const ProtobufCMessage *message,
		    Google__Protobuf__Any *any)
{
	google__protobuf__any__init(any);
	any->type_url = (char *)(uintptr_t)type;
	any->value.len = protobuf_c_message_get_packed_size(message);
	any->value.data = arena_alloc(arena, any->value.len + 1);
	return any->value.data &&
	       protobuf_c_message_pack(message, any->value.data) == any->value.len;
}

static bool put_retry(struct op *op, Google__Protobuf__Any *any)
{
	Google__Rpc__RetryInfo retry = GOOGLE__RPC__RETRY_INFO__INIT;
	Google__Protobuf__Duration delay = GOOGLE__PROTOBUF__DURATION__INIT;

	delay.seconds = op->answer.lease.remaining_us / 1000000;
	delay.nanos = (int32_t)(op->answer.lease.remaining_us % 1000000 * 1000);
	retry.retry_delay = &delay;
	return put_any(op->arena, "type.googleapis.com/google.rpc.RetryInfo", &retry.base, any);
}

static bool put_violation(struct op *op, const char *text, Google__Protobuf__Any *any)
{
	Google__Rpc__BadRequest bad = GOOGLE__RPC__BAD_REQUEST__INIT;
	Google__Rpc__BadRequest__FieldViolation violation =
	    GOOGLE__RPC__BAD_REQUEST__FIELD_VIOLATION__INIT;
	Google__Rpc__BadRequest__FieldViolation *list[] = {&violation};

	violation.field = (char *)(uintptr_t)op->answer.field;
	violation.description = (char *)(uintptr_t)text;
	bad.n_field_violations = 1;
	bad.field_violations = list;
	return put_any(op->arena, "type.googleapis.com/google.rpc.BadRequest", &bad.base, any);
}

static grpc_slice pack_details(struct op *op, grpc_status_code code, const char *text)
{
	Google__Rpc__Status status = GOOGLE__RPC__STATUS__INIT;
	Google__Protobuf__Any any[DETAILS], *list[DETAILS] = {&any[0], &any[1], &any[2]};
	struct info info;
	grpc_slice packed;

	fill_info(op, &info);
	if (!put_any(op->arena, "type.googleapis.com/google.rpc.ErrorInfo", &info.message.base,
		     &any[0]))
		return grpc_empty_slice();
	status.n_details = 1;
	if (op->answer.result == ERR_HELD && op->answer.held)
		status.n_details += put_retry(op, &any[status.n_details]);
	if (op->answer.result == ERR_INVALID_ARGUMENT && op->answer.field)
		status.n_details += put_violation(op, text, &any[status.n_details]);
	status.code = (int32_t)code;
	status.message = (char *)(uintptr_t)text;
	status.details = list;
	packed = grpc_slice_malloc(google__rpc__status__get_packed_size(&status));
	google__rpc__status__pack(&status, GRPC_SLICE_START_PTR(packed));
	return packed;
}

void status_make(struct op *op, struct status *status)
{
	const char *text = op->answer.text ? op->answer.text : err_text(op->answer.result);

	status->code = code_of(op->answer.result);
	if (status->code == GRPC_STATUS_INTERNAL)
		log_error("call failed inside the server", LOG_TEXT("op", op_name(op->kind)),
			  LOG_TEXT("why", text));
	status->message = grpc_slice_from_copied_string(text);
	status->details = *err_reason(op->answer.result) ? pack_details(op, status->code, text)
							 : grpc_empty_slice();
}

void status_free(struct status *status)
{
	grpc_slice_unref(status->message);
	grpc_slice_unref(status->details);
}
