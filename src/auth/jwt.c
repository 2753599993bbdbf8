/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <cjose/cjose.h>
#include <jansson.h>
#include <sodium.h>

#include "auth/jwt.h"

/* RFC 7518: at least the hash's size for HMAC, 2048 bits for RSA. */
enum { HMAC_BITS_LEAST = 256, RSA_BITS_LEAST = 2048 };

struct jwt_key {
	const char *algorithm;
	cjose_jwk_t *jwk;
};

static const char *name_of(enum auth_algorithm algorithm)
{
	return algorithm == AUTH_RS256 ? "RS256" : algorithm == AUTH_ES256 ? "ES256" : "HS256";
}

static const char *type_wrong(enum auth_algorithm algorithm, cjose_jwk_t *jwk)
{
	cjose_jwk_kty_t type = cjose_jwk_get_kty(jwk, NULL);
	size_t bits = cjose_jwk_get_keysize(jwk, NULL);

	if (algorithm == AUTH_HS256)
		return type != CJOSE_JWK_KTY_OCT ? "is no secret (kty oct), as HS256 needs"
		       : bits < HMAC_BITS_LEAST	 ? "is shorter than 256 bits"
						 : NULL;
	if (algorithm == AUTH_RS256)
		return type != CJOSE_JWK_KTY_RSA ? "is no RSA key, as RS256 needs"
		       : bits < RSA_BITS_LEAST	 ? "is shorter than 2048 bits"
						 : NULL;
	return type != CJOSE_JWK_KTY_EC || cjose_jwk_EC_get_curve(jwk, NULL) != CJOSE_JWK_EC_P_256
		   ? "is no key on the curve P-256, as ES256 needs"
		   : NULL;
}

struct jwt_key *jwt_key_open(const struct auth_key *key, const char **wrong)
{
	struct jwt_key *made = calloc(1, sizeof *made);

	*wrong = "cannot be kept: out of memory";
	if (!made)
		return NULL;
	made->algorithm = name_of(key->algorithm);
	made->jwk = cjose_jwk_import((const char *)key->data.data, key->data.len, NULL);
	*wrong =
	    made->jwk ? type_wrong(key->algorithm, made->jwk) : "is no JSON Web Key (RFC 7517)";
	if (!*wrong)
		return made;
	jwt_key_close(made);
	return NULL;
}

void jwt_key_close(struct jwt_key *key)
{
	if (!key)
		return;
	if (key->jwk)
		cjose_jwk_release(key->jwk);
	free(key);
}

/* The library decodes base64url loosely; two spellings of one token are none of ours. */
static bool strict(struct bytes token)
{
	size_t dots = 0;

	for (size_t i = 0; i < token.len; i++) {
		uint8_t c = token.data[i];

		dots += c == '.';
		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
		      c == '-' || c == '_' || c == '.'))
			return false;
	}
	return dots == 2 && token.len && token.data[token.len - 1] != '.' && token.data[0] != '.';
}

static struct bytes header_of(struct arena *arena, struct bytes token)
{
	const uint8_t *dot = memchr(token.data, '.', token.len);
	size_t len = (size_t)(dot - token.data), used;
	uint8_t *data = arena_alloc(arena, len + 1);

	if (!data || sodium_base642bin(data, len + 1, (const char *)token.data, len, NULL, &used,
				       NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
		return (struct bytes){NULL, 0};
	return (struct bytes){data, used};
}

/* alg as a text; extensions that must be understood are not. */
static bool read_header(struct bytes json, char *algorithm, size_t size)
{
	json_t *root =
	    json.data ? json_loadb((const char *)json.data, json.len, JSON_REJECT_DUPLICATES, NULL)
		      : NULL;
	const char *name = json_string_value(json_object_get(root, "alg"));
	bool good = name && strlen(name) < size && !json_object_get(root, "crit") &&
		    !json_object_get(root, "b64") && !json_object_get(root, "zip");

	if (good)
		memcpy(algorithm, name, strlen(name) + 1);
	json_decref(root);
	return good;
}

static bool read_claims(struct arena *arena, cjose_jws_t *jws, struct bytes *claims)
{
	uint8_t *data;
	size_t len;

	if (!cjose_jws_get_plaintext(jws, &data, &len, NULL))
		return false;
	*claims = arena_copy(arena, (struct bytes){data, len});
	return claims->data != NULL;
}

/* A new one per key: what a failed look leaves behind in the library is not to be relied on. */
static bool fits(struct arena *arena, const struct jwt_key *key, struct bytes token,
		 struct bytes *claims)
{
	cjose_jws_t *jws = cjose_jws_import((const char *)token.data, token.len, NULL);
	bool good = jws && cjose_jws_verify(jws, key->jwk, NULL) && read_claims(arena, jws, claims);

	if (jws)
		cjose_jws_release(jws);
	return good;
}

bool jwt_verify(struct arena *arena, const struct jwt_keys *keys, struct bytes token,
		struct bytes *claims, const char **why)
{
	char algorithm[8];
	bool pinned = false;

	*why = "it is no JSON Web Token";
	if (!strict(token) || !read_header(header_of(arena, token), algorithm, sizeof algorithm))
		return false;
	for (size_t i = 0; i < keys->count; i++) {
		if (strcmp(keys->key[i]->algorithm, algorithm) != 0)
			continue;
		pinned = true;
		if (fits(arena, keys->key[i], token, claims))
			return true;
	}
	*why = pinned ? "its signature is not by a key that is known here"
		      : "its algorithm is not one that is accepted here";
	return false;
}
