/* SPDX-License-Identifier: Apache-2.0
 *
 * auth/jwt.h - JSON Web Tokens in compact form. Each key is for one algorithm, and a token has no
 * say in it: what its header claims must be what the key was configured for. Keys are JSON Web
 * Keys, which know their own type, so a public key can never serve as a secret. */
#ifndef LEASED_AUTH_JWT_H
#define LEASED_AUTH_JWT_H

#include "core/verifier.h"

struct jwt_key;

/* Makes a key ready. NULL with *wrong (static, the end of "the key …"). */
struct jwt_key *jwt_key_open(const struct auth_key *key, const char **wrong);
void jwt_key_close(struct jwt_key *key);

/* All keys of a configuration. */
struct jwt_keys {
	struct jwt_key **key;
	size_t count;
};

/* The claims of `token` in `arena` when it is signed by one of the keys; false with *why (static)
 * when not. Does not block. */
bool jwt_verify(struct arena *arena, const struct jwt_keys *keys, struct bytes token,
		struct bytes *claims, const char **why);

#endif
