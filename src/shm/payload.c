/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "shm/payload.h"

static uint8_t *put_number(uint8_t *at, size_t number)
{
	uint16_t value = (uint16_t)number;

	memcpy(at, &value, sizeof value);
	return at + sizeof value;
}

static uint8_t *put_bytes(uint8_t *at, struct bytes bytes)
{
	if (bytes.len)
		memcpy(at, bytes.data, bytes.len);
	return at + bytes.len;
}

static size_t get_number(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

uint32_t shm_payload_encode(uint64_t words[static SHM_PAYLOAD_WORDS], struct bytes owner,
			    struct bytes request_id, const struct metadata *metadata)
{
	uint8_t *start = (uint8_t *)words, *at = start;
	uint32_t size;

	if (owner.len == 0 && request_id.len == 0 && metadata->count == 0)
		return 0;
	at = put_number(at, owner.len);
	at = put_number(at, request_id.len);
	at = put_number(at, metadata->count);
	at = put_number(at, 0);
	at = put_bytes(at, owner);
	at = put_bytes(at, request_id);
	for (size_t i = 0; i < metadata->count; i++) {
		at = put_number(at, metadata->entry[i].key.len);
		at = put_number(at, metadata->entry[i].value.len);
		at = put_bytes(at, metadata->entry[i].key);
		at = put_bytes(at, metadata->entry[i].value);
	}
	size = (uint32_t)(at - start);
	memset(at, 0, (8 - size % 8) % 8);
	return size;
}

void shm_payload_identity(const uint64_t *words, uint32_t size, struct bytes *owner,
			  struct bytes *request_id)
{
	const uint8_t *at = (const uint8_t *)words;

	*owner = *request_id = (struct bytes){NULL, 0};
	if (size < SHM_PAYLOAD_HEAD)
		return;
	*owner = (struct bytes){at + SHM_PAYLOAD_HEAD, get_number(at)};
	*request_id = (struct bytes){owner->data + owner->len, get_number(at + 2)};
	if (SHM_PAYLOAD_HEAD + owner->len + request_id->len > size)
		*owner = *request_id = (struct bytes){NULL, 0};
}

static bool take_part(struct bytes *from, size_t len, struct arena *arena, struct bytes *part)
{
	if (len > from->len)
		return false;
	*part = arena_copy(arena, (struct bytes){from->data, len});
	from->data += len;
	from->len -= len;
	return part->data || len == 0;
}

static bool take_entry(struct bytes *from, struct arena *arena, struct metadata_entry *entry)
{
	size_t key, value;

	if (from->len < 4)
		return false;
	key = get_number(from->data);
	value = get_number(from->data + 2);
	from->data += 4;
	from->len -= 4;
	return take_part(from, key, arena, &entry->key) &&
	       take_part(from, value, arena, &entry->value);
}

enum err shm_payload_decode(const uint64_t *words, uint32_t size, struct arena *arena,
			    struct lease *lease)
{
	const uint8_t *start = (const uint8_t *)words;
	struct bytes rest;
	size_t count;

	lease->owner = lease->request_id = (struct bytes){NULL, 0};
	lease->metadata = (struct metadata){NULL, 0};
	if (size == 0)
		return ERR_OK;
	if (size < SHM_PAYLOAD_HEAD || size > SHM_PAYLOAD_MAX)
		return ERR_BUG;
	rest = (struct bytes){start + SHM_PAYLOAD_HEAD, size - SHM_PAYLOAD_HEAD};
	count = get_number(start + 4);
	if (count > LEASE_METADATA_ENTRIES_MAX ||
	    !take_part(&rest, get_number(start), arena, &lease->owner) ||
	    !take_part(&rest, get_number(start + 2), arena, &lease->request_id))
		return ERR_BUG;
	if (count == 0)
		return ERR_OK;
	lease->metadata.entry = arena_alloc(arena, count * sizeof *lease->metadata.entry);
	if (!lease->metadata.entry)
		return ERR_SYSTEM;
	for (; lease->metadata.count < count; lease->metadata.count++)
		if (!take_entry(&rest, arena, &lease->metadata.entry[lease->metadata.count]))
			return ERR_BUG;
	return ERR_OK;
}
