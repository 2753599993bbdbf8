/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <sodium.h>

#include "auth/cache.h"
#include "auth/claims.h"
#include "auth/jwt.h"
#include "auth/opaque.h"
#include "auth/paseto.h"
#include "auth/verifier.h"

struct verifier_state {
	const struct auth_settings *auth;
	struct cache *cache;  /* NULL for opaque tokens: looking them up is as cheap */
	struct jwt_keys jwt;  /* AUTH_JWT: one per key */
	struct arena scratch; /* of one verification */
};

static const char *key_wrong(const struct auth_key *key)
{
	const char *wrong = NULL;

	if (sodium_init() < 0)
		return "cannot be judged: no source of random numbers";
	if (key->algorithm == AUTH_V4_PUBLIC)
		return key->data.len == PASETO_PUBLIC &&
			       crypto_core_ed25519_is_valid_point(key->data.data)
			   ? NULL
			   : "is no Ed25519 public key";
	jwt_key_close(jwt_key_open(key, &wrong));
	return wrong;
}

static void close_state(struct verifier_state *state)
{
	for (size_t i = 0; i < state->jwt.count; i++)
		jwt_key_close(state->jwt.key[i]);
	free(state->jwt.key);
	cache_close(state->cache);
	free(state);
}

static bool open_keys(struct verifier_state *state)
{
	const struct auth_settings *auth = state->auth;
	const char *wrong;

	state->jwt.key = calloc(auth->key_count + 1, sizeof(struct jwt_key *));
	for (; state->jwt.key && state->jwt.count < auth->key_count; state->jwt.count++) {
		struct jwt_key *key = jwt_key_open(&auth->key[state->jwt.count], &wrong);

		if (!key)
			return false;
		state->jwt.key[state->jwt.count] = key;
	}
	return state->jwt.key != NULL;
}

static struct verifier_state *open_state(const struct auth_settings *auth)
{
	struct verifier_state *state = sodium_init() < 0 ? NULL : calloc(1, sizeof *state);

	if (!state)
		return NULL;
	state->auth = auth;
	if (auth->format == AUTH_TOKENS)
		return state;
	state->cache = cache_open();
	if (state->cache && (auth->format != AUTH_JWT || open_keys(state)))
		return state;
	close_state(state);
	return NULL;
}

static bool by_paseto(struct verifier_state *state, struct bytes token, struct bytes *claims,
		      const char **why)
{
	struct paseto paseto;

	*why = "it is no v4.public token";
	if (!paseto_parse(&state->scratch, token, &paseto))
		return false;
	*claims = paseto.message;
	*why = "its signature is not by a key that is known here";
	for (size_t i = 0; i < state->auth->key_count; i++)
		if (paseto_verify(&state->scratch, &paseto, state->auth->key[i].data.data,
				  (struct bytes){NULL, 0}))
			return true;
	return false;
}

/* Signature first: until it is good, nothing that is in the cache is touched. */
static const struct capability *verify_new(struct verifier_state *state, struct bytes token,
					   const uint8_t *hash, int64_t wall_us, const char **why)
{
	bool text = state->auth->format == AUTH_PASETO;
	struct cache_entry *entry;
	struct bytes claims;

	if (!(text ? by_paseto(state, token, &claims, why)
		   : jwt_verify(&state->scratch, &state->jwt, token, &claims, why)))
		return NULL;
	entry = cache_clear_entry(state->cache, hash, wall_us);
	if (claims_read(&entry->arena, claims, text ? CLAIMS_TEXT : CLAIMS_NUMBER,
			&entry->capability, why) != ERR_OK)
		return NULL;
	cache_keep(entry, hash);
	return &entry->capability;
}

static const struct capability *look_up(struct verifier_state *state, struct bytes token,
					int64_t wall_us, const char **why)
{
	const struct capability *capability;
	uint8_t hash[AUTH_HASH];

	if (state->auth->format == AUTH_TOKENS) {
		crypto_hash_sha256(hash, token.data, token.len);
		*why = "it is not known here";
		return opaque_find(state->auth, hash);
	}
	/* BLAKE2b: a signed token is long, and this is a third of the cost. */
	crypto_generichash(hash, sizeof hash, token.data, token.len, NULL, 0);
	capability = cache_find(state->cache, hash);
	if (capability)
		return capability;
	arena_init(&state->scratch);
	capability = verify_new(state, token, hash, wall_us, why);
	arena_reset(&state->scratch);
	return capability;
}

static enum err verify(struct verifier_state *state, struct bytes token, int64_t wall_us,
		       const struct capability **capability, const char **why)
{
	enum err err = ERR_TOKEN_INVALID;

	*capability = NULL;
	if (token.len > AUTH_TOKEN_MAX)
		*why = "it is longer than 8192 bytes";
	else if ((*capability = look_up(state, token, wall_us, why)))
		err = capability_time(*capability, wall_us);
	if (*capability && err == ERR_TOKEN_INVALID)
		*why = "it is not valid yet";
	return err;
}

const struct verifier auth_verifier = {key_wrong, open_state, verify, close_state};
