/* SPDX-License-Identifier: Apache-2.0
 *
 * auth/claims.h - from the claims of a signed token, whose signature was found good, to a
 * capability. Pure but for the arena. */
#ifndef LEASED_AUTH_CLAIMS_H
#define LEASED_AUTH_CLAIMS_H

#include "core/capability.h"

enum claims_time {
	CLAIMS_TEXT,   /* PASETO: RFC 3339 */
	CLAIMS_NUMBER, /* JWT: seconds since 1970 */
};

/* ERR_OK with *capability in `arena`, or ERR_TOKEN_INVALID with *why (static). A claim that is not
 * known is ignored, one of the wrong type is an error. */
enum err claims_read(struct arena *arena, struct bytes json, enum claims_time times,
		     struct capability *capability, const char **why);

/* "2027-06-01T12:00:00Z", "…:00.5+02:00" to microseconds of the wall clock; false when it is not
 * one. */
bool claims_time_parse(const char *text, int64_t *wall_us);

#endif
