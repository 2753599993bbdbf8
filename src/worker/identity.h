/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/identity.h - who calls: reads the capability from the call's metadata. */
#ifndef LEASED_WORKER_IDENTITY_H
#define LEASED_WORKER_IDENTITY_H

#include <grpc/grpc.h>

#include "core/op.h"
#include "core/settings.h"

/* Who may be asked, and what was said last. One per worker; the event loop's. */
struct identity {
	const struct auth_settings *auth;
	struct verifier_state *state; /* NULL without auth */
};

/* Makes ready for `auth`, which is borrowed, and forgets all that was verified before. Aborts when
 * memory is exhausted: half a check is none. Does not block. */
void identity_open(struct identity *identity, const struct auth_settings *auth);

/* Gives back what identity_open made. */
void identity_close(struct identity *identity);

/* Verifies the token and fills request.owner (in the op's arena). ERR_OK with *capability, borrowed
 * until the next check, NULL without auth: then everything is allowed and a header is ignored. Else
 * ERR_TOKEN_MISSING, ERR_TOKEN_INVALID or ERR_TOKEN_EXPIRED with answer.text; two headers are
 * refused even without auth. Does not block. */
enum err identity_check(struct identity *identity, struct op *op,
			const grpc_metadata_array *metadata, const struct capability **capability);

#endif
