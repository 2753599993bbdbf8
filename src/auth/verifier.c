/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <sodium.h>

#include "auth/opaque.h"
#include "auth/verifier.h"

struct verifier_state {
	const struct auth_settings *auth;
};

static const char *key_wrong(const struct auth_key *key)
{
	(void)key;
	return "is not supported";
}

static struct verifier_state *open_state(const struct auth_settings *auth)
{
	struct verifier_state *state = sodium_init() < 0 ? NULL : calloc(1, sizeof *state);

	if (state)
		state->auth = auth;
	return state;
}

static enum err verify(struct verifier_state *state, struct bytes token, int64_t wall_us,
		       const struct capability **capability, const char **why)
{
	uint8_t hash[AUTH_HASH];
	enum err err;

	if (token.len > AUTH_TOKEN_MAX) {
		*why = "longer than 8192 bytes";
		return ERR_TOKEN_INVALID;
	}
	crypto_hash_sha256(hash, token.data, token.len);
	*capability = opaque_find(state->auth, hash);
	if (!*capability) {
		*why = "not one that is known here";
		return ERR_TOKEN_INVALID;
	}
	err = capability_time(*capability, wall_us);
	*why = err == ERR_TOKEN_INVALID ? "not valid yet" : NULL;
	return err;
}

static void close_state(struct verifier_state *state)
{
	free(state);
}

const struct verifier auth_verifier = {key_wrong, open_state, verify, close_state};
