/* SPDX-License-Identifier: Apache-2.0
 *
 * auth/verifier.h - the verifier of capability tokens: opaque, PASETO v4.public, JWT. */
#ifndef LEASED_AUTH_VERIFIER_H
#define LEASED_AUTH_VERIFIER_H

#include "core/verifier.h"

extern const struct verifier auth_verifier;

#endif
