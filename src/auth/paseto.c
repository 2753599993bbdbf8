/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <sodium.h>

#include "auth/paseto.h"

enum { VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING, PIECES = 4 };

static const char header[] = "v4.public.";

/* Strict: no padding, no white space, no spare bits. */
static bool decode(struct arena *arena, struct bytes text, struct bytes *out)
{
	uint8_t *data = arena_alloc(arena, text.len + 1);
	size_t len;

	if (!data || sodium_base642bin(data, text.len + 1, (const char *)text.data, text.len, NULL,
				       &len, NULL, VARIANT) != 0)
		return false;
	*out = (struct bytes){data, len};
	return true;
}

bool paseto_parse(struct arena *arena, struct bytes token, struct paseto *paseto)
{
	size_t start = sizeof header - 1;
	struct bytes body, signed_part;
	const uint8_t *dot;

	if (!bytes_start_with(token, bytes_of(header)))
		return false;
	body = (struct bytes){token.data + start, token.len - start};
	dot = body.len ? memchr(body.data, '.', body.len) : NULL;
	paseto->footer = (struct bytes){NULL, 0};
	if (dot) {
		struct bytes footer = {dot + 1, (size_t)(body.data + body.len - dot - 1)};

		/* "x." would be a second spelling of "x". */
		if (footer.len == 0 || !decode(arena, footer, &paseto->footer))
			return false;
		body.len = (size_t)(dot - body.data);
	}
	if (!decode(arena, body, &signed_part) || signed_part.len < crypto_sign_BYTES)
		return false;
	paseto->message = (struct bytes){signed_part.data, signed_part.len - crypto_sign_BYTES};
	paseto->signature = signed_part.data + paseto->message.len;
	return true;
}

static uint8_t *put_number(uint8_t *at, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		*at++ = (uint8_t)(number >> (8 * i));
	return at;
}

/* PAE: how many pieces, then each with its length, as 64 bits little endian. */
static struct bytes encode(struct arena *arena, struct bytes message,
			   const struct paseto_extra *extra)
{
	const struct bytes piece[PIECES] = {bytes_of(header), message, extra->footer,
					    extra->implicit};
	size_t size = 8;
	uint8_t *data, *at;

	for (size_t i = 0; i < PIECES; i++)
		size += 8 + piece[i].len;
	data = arena_alloc(arena, size);
	if (!data)
		return (struct bytes){NULL, 0};
	at = put_number(data, PIECES);
	for (size_t i = 0; i < PIECES; i++) {
		at = put_number(at, piece[i].len);
		if (piece[i].len)
			memcpy(at, piece[i].data, piece[i].len);
		at += piece[i].len;
	}
	return (struct bytes){data, size};
}

bool paseto_verify(struct arena *arena, const struct paseto *paseto,
		   const uint8_t public_key[static PASETO_PUBLIC], struct bytes implicit)
{
	const struct paseto_extra extra = {paseto->footer, implicit};
	struct bytes encoded = encode(arena, paseto->message, &extra);

	return encoded.data && crypto_sign_verify_detached(paseto->signature, encoded.data,
							   encoded.len, public_key) == 0;
}

const char *paseto_sign(struct arena *arena, const uint8_t secret_key[static PASETO_SECRET],
			struct bytes message, const struct paseto_extra *extra)
{
	size_t body = message.len + crypto_sign_BYTES, start = sizeof header - 1;
	size_t room = sodium_base64_ENCODED_LEN(body, VARIANT);
	size_t footer_room = sodium_base64_ENCODED_LEN(extra->footer.len, VARIANT);
	struct bytes encoded = encode(arena, message, extra);
	uint8_t *signed_part = arena_alloc(arena, body);
	char *token = arena_alloc(arena, start + room + 1 + footer_room);

	if (!encoded.data || !signed_part || !token)
		return NULL;
	if (message.len)
		memcpy(signed_part, message.data, message.len);
	crypto_sign_detached(signed_part + message.len, NULL, encoded.data, encoded.len,
			     secret_key);
	memcpy(token, header, start);
	sodium_bin2base64(token + start, room, signed_part, body, VARIANT);
	if (extra->footer.len) {
		char *end = token + strlen(token);

		*end++ = '.';
		sodium_bin2base64(end, footer_room, extra->footer.data, extra->footer.len, VARIANT);
	}
	return token;
}
