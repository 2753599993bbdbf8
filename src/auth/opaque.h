/* SPDX-License-Identifier: Apache-2.0
 *
 * auth/opaque.h - tokens that are random and mean nothing: only their hash is known here. */
#ifndef LEASED_AUTH_OPAQUE_H
#define LEASED_AUTH_OPAQUE_H

#include "core/verifier.h"

/* The capability of the token with this hash, or NULL. */
const struct capability *opaque_find(const struct auth_settings *auth,
				     const uint8_t hash[static AUTH_HASH]);

#endif
