/* SPDX-License-Identifier: Apache-2.0
 *
 * auth/paseto.h - PASETO version 4, purpose public: Ed25519 over the pre-authentication encoding.
 * libsodium must be initialised. Nothing blocks. */
#ifndef LEASED_AUTH_PASETO_H
#define LEASED_AUTH_PASETO_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"

enum { PASETO_PUBLIC = 32, PASETO_SECRET = 64 };

/* A token taken apart; nothing of it is proved yet. */
struct paseto {
	struct bytes message;
	struct bytes footer;
	const uint8_t *signature; /* 64 bytes */
};

/* What is signed beside the token itself: the header is implied. */
struct paseto_extra {
	struct bytes footer;
	struct bytes implicit;
};

/* Takes `token` apart in `arena`. False when it is no v4.public token in its one valid spelling, or
 * when memory is exhausted. */
bool paseto_parse(struct arena *arena, struct bytes token, struct paseto *paseto);

/* The signature is by the owner of this public key. `implicit` is usually empty. */
bool paseto_verify(struct arena *arena, const struct paseto *paseto,
		   const uint8_t public_key[static PASETO_PUBLIC], struct bytes implicit);

/* A token in `arena`, with a NUL behind it; NULL when memory is exhausted. */
const char *paseto_sign(struct arena *arena, const uint8_t secret_key[static PASETO_SECRET],
			struct bytes message, const struct paseto_extra *extra);

#endif
