/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "wire/lease_wire.pb-c.h"

#include "bench/die.h"
#include "bench/lease_message.h"

static ProtobufCBinaryData text(const char *value)
{
	return (ProtobufCBinaryData){strlen(value), (uint8_t *)(uintptr_t)value};
}

static void put(struct exchange *exchange, const ProtobufCMessage *message)
{
	uint8_t packed[CONNECTION_MESSAGE_MAX];

	if (protobuf_c_message_get_packed_size(message) > sizeof packed)
		die("message is too large");
	exchange_put(exchange, packed, protobuf_c_message_pack(message, packed));
}

void lease_put_acquire(struct exchange *exchange, const char *key, int ttl_s, int wait_s)
{
	Leased__Wire__AcquireRequest request = LEASED__WIRE__ACQUIRE_REQUEST__INIT;
	Google__Protobuf__Duration ttl = GOOGLE__PROTOBUF__DURATION__INIT, wait = ttl;

	ttl.seconds = ttl_s;
	wait.seconds = wait_s;
	request.namespace_ = text("locks");
	request.key = text(key);
	request.ttl = &ttl;
	request.wait_for = wait_s ? &wait : NULL;
	put(exchange, &request.base);
}

void lease_put_release(struct exchange *exchange, const char *key, const uint8_t *holder)
{
	Leased__Wire__ReleaseRequest request = LEASED__WIRE__RELEASE_REQUEST__INIT;

	request.namespace_ = text("locks");
	request.key = text(key);
	request.holder_id = (ProtobufCBinaryData){HOLDER_LEN, (uint8_t *)(uintptr_t)holder};
	put(exchange, &request.base);
}

void lease_put_inspect(struct exchange *exchange, const char *key)
{
	Leased__Wire__InspectRequest request = LEASED__WIRE__INSPECT_REQUEST__INIT;

	request.namespace_ = text("locks");
	request.key = text(key);
	put(exchange, &request.base);
}

static void must_be_ok(const struct exchange *exchange)
{
	if (exchange->status != 0 || exchange->response_len < 5)
		die("%s ended with status %d", exchange->path, exchange->status);
}

void lease_get_holder(const struct exchange *exchange, uint8_t holder[static HOLDER_LEN])
{
	Leased__Wire__AcquireResponse *response;

	must_be_ok(exchange);
	response = leased__wire__acquire_response__unpack(NULL, exchange->response_len - 5,
							  exchange->response + 5);
	if (!response || !response->handle || response->handle->holder_id.len != HOLDER_LEN)
		die("no handle in the answer");
	memcpy(holder, response->handle->holder_id.data, HOLDER_LEN);
	leased__wire__acquire_response__free_unpacked(response, NULL);
}

unsigned lease_get_waiters(const struct exchange *exchange)
{
	Leased__Wire__InspectResponse *response;
	unsigned waiters;

	must_be_ok(exchange);
	response = leased__wire__inspect_response__unpack(NULL, exchange->response_len - 5,
							  exchange->response + 5);
	if (!response)
		die("malformed answer");
	waiters = response->waiters;
	leased__wire__inspect_response__free_unpacked(response, NULL);
	return waiters;
}
