/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/lease.h"

#define SERVICE "/mindd.lease.v1.Lease/"

/* A request with room for what it points to. */
struct draft {
	Google__Protobuf__Duration ttl, wait;
	Leased__Wire__MetadataEntry *entry;
	Leased__Wire__MetadataEntry **list;
};

static ProtobufCBinaryData data_of(const char *text)
{
	return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)(uintptr_t)text};
}

struct bytes lease_bytes(ProtobufCBinaryData data)
{
	return (struct bytes){data.data, data.len};
}

static Google__Protobuf__Duration *span(Google__Protobuf__Duration *duration, int64_t us)
{
	google__protobuf__duration__init(duration);
	duration->seconds = us / CLOCK_SECOND;
	duration->nanos = (int32_t)(us % CLOCK_SECOND * 1000);
	return duration;
}

static void add_metadata(struct draft *draft, const struct lease_request *request)
{
	size_t count = (size_t)request->metadata_count;

	draft->entry = calloc(count + 1, sizeof *draft->entry);
	draft->list = calloc(count + 1, sizeof *draft->list);
	CHECK(draft->entry && draft->list);
	for (size_t i = 0; i < count; i++) {
		const char *text = request->metadata[i], *equals = strchr(text, '=');

		leased__wire__metadata_entry__init(&draft->entry[i]);
		draft->entry[i].key = data_of(text);
		draft->entry[i].key.len = (size_t)(equals - text);
		draft->entry[i].value = data_of(equals + 1);
		draft->list[i] = &draft->entry[i];
	}
}

static void send_acquire(struct client *client, struct call *call,
			 const struct lease_request *request, int64_t deadline_us)
{
	Leased__Wire__AcquireRequest message = LEASED__WIRE__ACQUIRE_REQUEST__INIT;
	struct draft draft;

	add_metadata(&draft, request);
	message.namespace_ = data_of(request->name_space);
	message.key = data_of(request->key);
	message.ttl = span(&draft.ttl, request->ttl_us);
	message.wait_for = request->wait_us ? span(&draft.wait, request->wait_us) : NULL;
	message.n_metadata = (size_t)request->metadata_count;
	message.metadata = draft.list;
	message.request_id = data_of(request->request_id);
	client_send(client, call, SERVICE "Acquire", &message.base, deadline_us);
	free(draft.entry);
	free(draft.list);
}

static void send_renew(struct client *client, struct call *call,
		       const struct lease_request *request, int64_t deadline_us)
{
	Leased__Wire__RenewRequest message = LEASED__WIRE__RENEW_REQUEST__INIT;
	Google__Protobuf__Duration ttl;

	message.holder_id = data_of(request->holder);
	message.namespace_ = data_of(request->name_space);
	message.key = data_of(request->key);
	message.ttl = span(&ttl, request->ttl_us);
	client_send(client, call, SERVICE "Renew", &message.base, deadline_us);
}

static void send_release(struct client *client, struct call *call,
			 const struct lease_request *request, int64_t deadline_us)
{
	Leased__Wire__ReleaseRequest message = LEASED__WIRE__RELEASE_REQUEST__INIT;

	message.holder_id = data_of(request->holder);
	message.namespace_ = data_of(request->name_space);
	message.key = data_of(request->key);
	client_send(client, call, SERVICE "Release", &message.base, deadline_us);
}

static void send_inspect(struct client *client, struct call *call,
			 const struct lease_request *request, int64_t deadline_us)
{
	Leased__Wire__InspectRequest message = LEASED__WIRE__INSPECT_REQUEST__INIT;

	message.namespace_ = data_of(request->name_space);
	message.key = data_of(request->key);
	client_send(client, call, SERVICE "Inspect", &message.base, deadline_us);
}

static void send_list(struct client *client, struct call *call, const struct lease_request *request,
		      int64_t deadline_us)
{
	Leased__Wire__ListRequest message = LEASED__WIRE__LIST_REQUEST__INIT;

	message.namespace_ = data_of(request->name_space);
	message.key_prefix = data_of(request->prefix);
	message.page_size = request->page_size;
	message.page_token.data = (uint8_t *)(uintptr_t)request->page_token.data;
	message.page_token.len = request->page_token.len;
	client_send(client, call, SERVICE "List", &message.base, deadline_us);
}

void lease_send(struct client *client, struct call *call, enum lease_call which,
		const struct lease_request *request, int64_t deadline_us)
{
	static void (*const send[])(struct client * client, struct call * call,
				    const struct lease_request *request, int64_t deadline_us) = {
	    [LEASE_ACQUIRE] = send_acquire, [LEASE_RENEW] = send_renew,
	    [LEASE_RELEASE] = send_release, [LEASE_INSPECT] = send_inspect,
	    [LEASE_LIST] = send_list,
	};

	send[which](client, call, request, deadline_us);
}

void lease_ask(struct client *client, struct call *call, enum lease_call which,
	       const struct lease_request *request, int64_t deadline_us)
{
	lease_send(client, call, which, request, deadline_us);
	client_wait(client, call, CLOCK_NEVER);
}

Leased__Wire__AcquireResponse *lease_granted(const struct call *call)
{
	Leased__Wire__AcquireResponse *answer =
	    leased__wire__acquire_response__unpack(NULL, call->answer.len, call->answer.data);

	if (answer && !answer->handle) {
		lease_free(answer);
		return NULL;
	}
	return answer;
}

Leased__Wire__ReleaseResponse *lease_released(const struct call *call)
{
	return leased__wire__release_response__unpack(NULL, call->answer.len, call->answer.data);
}

Leased__Wire__InspectResponse *lease_inspected(const struct call *call)
{
	Leased__Wire__InspectResponse *answer =
	    leased__wire__inspect_response__unpack(NULL, call->answer.len, call->answer.data);

	if (answer && answer->held && !answer->handle)
		answer->held = false;
	return answer;
}

Leased__Wire__ListResponse *lease_listed(const struct call *call)
{
	return leased__wire__list_response__unpack(NULL, call->answer.len, call->answer.data);
}

void lease_free(void *message)
{
	if (message)
		protobuf_c_message_free_unpacked(message, NULL);
}

void lease_random_id(char text[LEASE_ID_ROOM])
{
	uint64_t bits[2];

	CHECK(getrandom(bits, sizeof bits, 0) == (ssize_t)sizeof bits);
	snprintf(text, LEASE_ID_ROOM, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
}

int64_t lease_remaining_us(const Leased__Wire__LeaseHandle *handle)
{
	const Google__Protobuf__Duration *left = handle->remaining;

	return left ? left->seconds * CLOCK_SECOND + left->nanos / 1000 : 0;
}
