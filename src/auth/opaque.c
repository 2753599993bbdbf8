/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <sodium.h>

#include "auth/opaque.h"

enum { HEAD = 8 };

/* The first entry whose head is not less. The heads are public to whoever can choose tokens: nobody
 * can choose a hash that is near another one. */
static size_t first_at(const struct auth_settings *auth, const uint8_t *hash)
{
	size_t low = 0, high = auth->token_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (memcmp(auth->token[middle].sha256, hash, HEAD) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct capability *opaque_find(const struct auth_settings *auth,
				     const uint8_t hash[static AUTH_HASH])
{
	for (size_t i = first_at(auth, hash); i < auth->token_count; i++) {
		const struct auth_token *token = &auth->token[i];

		if (memcmp(token->sha256, hash, HEAD) != 0)
			return NULL;
		if (sodium_memcmp(token->sha256, hash, AUTH_HASH) == 0)
			return &token->capability;
	}
	return NULL;
}
