/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/lease.h - the five calls as messages. Strings travel as bytes with a length. */
#ifndef LEASED_LEASECTL_LEASE_H
#define LEASED_LEASECTL_LEASE_H

#include "wire/lease_wire.pb-c.h"

#include "leasectl/client.h"

enum lease_call { LEASE_ACQUIRE, LEASE_RENEW, LEASE_RELEASE, LEASE_INSPECT, LEASE_LIST };

enum { LEASE_ID_ROOM = 64 };

/* What any of the calls may need; the rest is zero. Borrowed. */
struct lease_request {
	const char *name_space, *key, *holder, *request_id, *prefix; /* NULL: empty */
	int64_t ttl_us, wait_us;
	const char *const *metadata; /* KEY=VALUE */
	int metadata_count;
	uint32_t page_size;
	struct bytes page_token;
};

/* client_send of that call. */
void lease_send(struct client *client, struct call *call, enum lease_call which,
		const struct lease_request *request, int64_t deadline_us);

/* client_ask of that call. */
void lease_ask(struct client *client, struct call *call, enum lease_call which,
	       const struct lease_request *request, int64_t deadline_us);

/* The answers of a call that ended well; NULL when the bytes are no such message. Freed with
 * protobuf_c_message_free_unpacked. Renew answers like Acquire. */
Leased__Wire__AcquireResponse *lease_granted(const struct call *call);
Leased__Wire__ReleaseResponse *lease_released(const struct call *call);
Leased__Wire__InspectResponse *lease_inspected(const struct call *call);
Leased__Wire__ListResponse *lease_listed(const struct call *call);

void lease_free(void *message);

/* 128 random bits as text, for request_id. */
void lease_random_id(char text[LEASE_ID_ROOM]);

/* Microseconds left by the server's count when it answered; 0 when unset. */
int64_t lease_remaining_us(const Leased__Wire__LeaseHandle *handle);

struct bytes lease_bytes(ProtobufCBinaryData data);

#endif
