/* SPDX-License-Identifier: Apache-2.0
 *
 * core/verifier.h - who makes a capability of a token. src/auth implements it; only src/main.c
 * names it; the configuration carries it to the workers, as it does the drivers. */
#ifndef LEASED_CORE_VERIFIER_H
#define LEASED_CORE_VERIFIER_H

#include "core/capability.h"

enum auth_format {
	AUTH_UNSET, /* nothing was said: open, so loopback only */
	AUTH_NONE,  /* open, because the file says so */
	AUTH_TOKENS,
	AUTH_PASETO,
	AUTH_JWT,
};

/* What a key is good for: pinned by the configuration, never read from a token. */
enum auth_algorithm { AUTH_V4_PUBLIC, AUTH_RS256, AUTH_ES256, AUTH_HS256 };

enum { AUTH_HASH = 32, AUTH_TOKEN_MAX = 8192 };

struct auth_token {
	uint8_t sha256[AUTH_HASH]; /* of the whole token as it is sent, without "Bearer" */
	struct capability capability;
};

struct auth_key {
	enum auth_algorithm algorithm;
	struct bytes data; /* AUTH_V4_PUBLIC: 32 bytes; else a JSON Web Key (RFC 7517) */
};

struct verifier_state; /* keys made ready, and the tokens that were verified; one per worker */
struct auth_settings;

struct verifier {
	/* NULL, or what is wrong with a key, as the end of a sentence; static. No I/O. */
	const char *(*key_wrong)(const struct auth_key *key);

	/* `auth` is borrowed until close. NULL when memory is exhausted. */
	struct verifier_state *(*open)(const struct auth_settings *auth);

	/* ERR_OK with *capability, borrowed until the next call on `state`. Else ERR_TOKEN_INVALID
	 * or ERR_TOKEN_EXPIRED with *why, which is static and holds nothing of the token. One
	 * thread; microseconds when the token was seen before. */
	enum err (*verify)(struct verifier_state *state, struct bytes token, int64_t wall_us,
			   const struct capability **capability, const char **why);

	void (*close)(struct verifier_state *state);
};

struct auth_settings {
	enum auth_format format;
	const struct verifier *verifier; /* not NULL from AUTH_TOKENS on */
	const struct auth_token *token;	 /* sorted by sha256 */
	size_t token_count;
	const struct auth_key *key;
	size_t key_count;
};

#endif
