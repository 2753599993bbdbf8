/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <protobuf-c/protobuf-c.h>

#include "wire/lease_wire.pb-c.h"

#include "core/holder.h"
#include "worker/allocator.h"
#include "worker/codec.h"

static struct bytes bytes_from(ProtobufCBinaryData data)
{
	return (struct bytes){data.data, data.len};
}

static ProtobufCBinaryData data_from(struct bytes bytes)
{
	return (ProtobufCBinaryData){bytes.len, (uint8_t *)(uintptr_t)bytes.data};
}

static struct wire_duration duration_from(const Google__Protobuf__Duration *duration)
{
	if (!duration)
		return (struct wire_duration){false, 0, 0};
	return (struct wire_duration){true, duration->seconds, duration->nanos};
}

static bool take_metadata(struct op *op, Leased__Wire__MetadataEntry *const *entries, size_t count)
{
	struct metadata *metadata = &op->request.metadata;

	metadata->count = count;
	if (count == 0)
		return true;
	metadata->entry = arena_alloc(op->arena, count * sizeof *metadata->entry);
	if (!metadata->entry)
		return false;
	for (size_t i = 0; i < count; i++)
		metadata->entry[i] = (struct metadata_entry){bytes_from(entries[i]->key),
							     bytes_from(entries[i]->value)};
	return true;
}

static bool decode_acquire(struct op *op, ProtobufCMessage *base, struct service_input *input)
{
	Leased__Wire__AcquireRequest *message = (Leased__Wire__AcquireRequest *)base;

	op->request.name_space = bytes_from(message->namespace_);
	op->request.key = bytes_from(message->key);
	op->request.request_id = bytes_from(message->request_id);
	input->ttl = duration_from(message->ttl);
	input->wait_for = duration_from(message->wait_for);
	return take_metadata(op, message->metadata, message->n_metadata);
}

static bool decode_renew(struct op *op, ProtobufCMessage *base, struct service_input *input)
{
	Leased__Wire__RenewRequest *message = (Leased__Wire__RenewRequest *)base;

	op->request.name_space = bytes_from(message->namespace_);
	op->request.key = bytes_from(message->key);
	input->holder_text = bytes_from(message->holder_id);
	input->ttl = duration_from(message->ttl);
	return true;
}

static bool decode_release(struct op *op, ProtobufCMessage *base, struct service_input *input)
{
	Leased__Wire__ReleaseRequest *message = (Leased__Wire__ReleaseRequest *)base;

	op->request.name_space = bytes_from(message->namespace_);
	op->request.key = bytes_from(message->key);
	input->holder_text = bytes_from(message->holder_id);
	return true;
}

static bool decode_inspect(struct op *op, ProtobufCMessage *base, struct service_input *input)
{
	Leased__Wire__InspectRequest *message = (Leased__Wire__InspectRequest *)base;

	(void)input;
	op->request.name_space = bytes_from(message->namespace_);
	op->request.key = bytes_from(message->key);
	return true;
}

static bool decode_list(struct op *op, ProtobufCMessage *base, struct service_input *input)
{
	Leased__Wire__ListRequest *message = (Leased__Wire__ListRequest *)base;

	op->request.name_space = bytes_from(message->namespace_);
	op->request.page_size = message->page_size;
	op->request.key_prefix = bytes_from(message->key_prefix);
	input->page_token = bytes_from(message->page_token);
	return true;
}

static const struct {
	const ProtobufCMessageDescriptor *descriptor;
	bool (*decode)(struct op *op, ProtobufCMessage *base, struct service_input *input);
} requests[] = {
    [OP_ACQUIRE] = {&leased__wire__acquire_request__descriptor, decode_acquire},
    [OP_RENEW] = {&leased__wire__renew_request__descriptor, decode_renew},
    [OP_RELEASE] = {&leased__wire__release_request__descriptor, decode_release},
    [OP_INSPECT] = {&leased__wire__inspect_request__descriptor, decode_inspect},
    [OP_LIST] = {&leased__wire__list_request__descriptor, decode_list},
};

bool codec_decode(struct op *op, struct bytes wire, struct service_input *input)
{
	ProtobufCAllocator allocator = allocator_of(op->arena);
	static const uint8_t nothing;
	ProtobufCMessage *message;

	memset(input, 0, sizeof *input);
	message = protobuf_c_message_unpack(requests[op->kind].descriptor, &allocator, wire.len,
					    wire.data ? wire.data : &nothing);
	return message && requests[op->kind].decode(op, message, input);
}

/* One lease with the messages it points to. */
struct handle {
	Leased__Wire__LeaseHandle message;
	Google__Protobuf__Timestamp acquired;
	Google__Protobuf__Timestamp expires;
	Google__Protobuf__Duration remaining;
	char holder[LEASE_HOLDER_TEXT];
};

/* Wall times can lie before 1970 on a host with a broken clock: nanos stay positive. */
static void split(int64_t us, int64_t *seconds, int32_t *nanos)
{
	int64_t rest = us % 1000000;

	*seconds = us / 1000000 - (rest < 0);
	*nanos = (int32_t)((rest < 0 ? rest + 1000000 : rest) * 1000);
}

static bool put_metadata(struct arena *arena, const struct lease *lease,
			 Leased__Wire__LeaseHandle *message)
{
	size_t count = lease->metadata.count;
	Leased__Wire__MetadataEntry *entries;

	if (count == 0)
		return true;
	entries = arena_alloc(arena, count * sizeof *entries);
	message->metadata = arena_alloc(arena, count * sizeof *message->metadata);
	if (!entries || !message->metadata)
		return false;
	for (size_t i = 0; i < count; i++) {
		leased__wire__metadata_entry__init(&entries[i]);
		entries[i].key = data_from(lease->metadata.entry[i].key);
		entries[i].value = data_from(lease->metadata.entry[i].value);
		message->metadata[i] = &entries[i];
	}
	message->n_metadata = count;
	return true;
}

static bool put_handle(struct arena *arena, const struct lease *lease, struct handle *handle)
{
	Leased__Wire__LeaseHandle *message = &handle->message;

	leased__wire__lease_handle__init(message);
	google__protobuf__timestamp__init(&handle->acquired);
	google__protobuf__timestamp__init(&handle->expires);
	google__protobuf__duration__init(&handle->remaining);
	holder_format(lease->holder, handle->holder);
	split(lease->acquired_wall_us, &handle->acquired.seconds, &handle->acquired.nanos);
	split(lease->expires_wall_us, &handle->expires.seconds, &handle->expires.nanos);
	split(lease->remaining_us, &handle->remaining.seconds, &handle->remaining.nanos);
	message->holder_id =
	    (ProtobufCBinaryData){sizeof handle->holder, (uint8_t *)handle->holder};
	message->namespace_ = data_from(lease->name_space);
	message->key = data_from(lease->key);
	message->owner = data_from(lease->owner);
	message->acquired_at = &handle->acquired;
	message->expires_at = &handle->expires;
	message->remaining = &handle->remaining;
	message->fencing_token = lease->fencing_token;
	return put_metadata(arena, lease, message);
}

/* Who may use a holder id sees it: the owner, and who may break. */
static void mask_holder(const struct op *op, const struct lease *lease, struct handle *handle)
{
	if (!op->request.may_break && !bytes_equal(op->request.owner, lease->owner))
		handle->message.holder_id.len = 0;
}

static bool pack(const ProtobufCMessage *message, grpc_slice *out)
{
	*out = grpc_slice_malloc(protobuf_c_message_get_packed_size(message));
	protobuf_c_message_pack(message, GRPC_SLICE_START_PTR(*out));
	return true;
}

/* Acquire and Renew answer with the same shape: handle = 1. */
static bool encode_handle(struct op *op, grpc_slice *out)
{
	Leased__Wire__AcquireResponse response = LEASED__WIRE__ACQUIRE_RESPONSE__INIT;
	struct handle handle;

	response.handle = &handle.message;
	return put_handle(op->arena, &op->answer.lease, &handle) && pack(&response.base, out);
}

static bool encode_release(struct op *op, grpc_slice *out)
{
	Leased__Wire__ReleaseResponse response = LEASED__WIRE__RELEASE_RESPONSE__INIT;

	response.existed = op->answer.existed;
	return pack(&response.base, out);
}

static bool encode_inspect(struct op *op, grpc_slice *out)
{
	Leased__Wire__InspectResponse response = LEASED__WIRE__INSPECT_RESPONSE__INIT;
	struct handle handle;

	response.held = op->answer.held;
	response.waiters = op->answer.waiters;
	if (op->answer.held) {
		response.handle = &handle.message;
		if (!put_handle(op->arena, &op->answer.lease, &handle))
			return false;
		mask_holder(op, &op->answer.lease, &handle);
	}
	return pack(&response.base, out);
}

static bool encode_list(struct op *op, grpc_slice *out)
{
	Leased__Wire__ListResponse response = LEASED__WIRE__LIST_RESPONSE__INIT;
	size_t count = op->answer.lease_count;
	struct handle *handles;

	response.n_leases = count;
	response.leases = arena_alloc(op->arena, count * sizeof(void *) + 1);
	handles = arena_alloc(op->arena, count * sizeof *handles + 1);
	if (!response.leases || !handles)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!put_handle(op->arena, &op->answer.leases[i], &handles[i]))
			return false;
		mask_holder(op, &op->answer.leases[i], &handles[i]);
		response.leases[i] = &handles[i].message;
	}
	if (op->answer.more && count > 0)
		response.next_page_token =
		    data_from(service_page_token(op->arena, op->answer.leases[count - 1].key));
	return pack(&response.base, out);
}

bool codec_encode(struct op *op, grpc_slice *out)
{
	switch (op->kind) {
	case OP_ACQUIRE:
	case OP_RENEW:
		return encode_handle(op, out);
	case OP_RELEASE:
		return encode_release(op, out);
	case OP_INSPECT:
		return encode_inspect(op, out);
	case OP_LIST:
		return encode_list(op, out);
	}
	return false;
}
