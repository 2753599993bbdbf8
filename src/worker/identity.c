/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/clock.h"
#include "worker/identity.h"

static const char header[] = "x-mindd-capability";
static const char scheme[] = "bearer";

void identity_open(struct identity *identity, const struct auth_settings *auth)
{
	identity->auth = auth;
	identity->state = NULL;
	if (auth->format < AUTH_TOKENS)
		return;
	identity->state = auth->verifier->open(auth);
	CHECK(identity->state);
}

void identity_close(struct identity *identity)
{
	if (identity->state)
		identity->auth->verifier->close(identity->state);
	identity->state = NULL;
}

static enum err refuse(struct op *op, enum err err, const char *text)
{
	op->answer.text = text;
	return op->answer.result = err;
}

/* `why` holds nothing of the token, so neither does the message. */
static enum err refuse_token(struct op *op, const char *why)
{
	enum { TEXT = 160 };
	char *text = arena_alloc(op->arena, TEXT);

	if (text)
		snprintf(text, TEXT, "invalid token: %s", why);
	return refuse(op, ERR_TOKEN_INVALID, text);
}

/* "Bearer TOKEN" in any case, or TOKEN. The token itself is taken byte for byte. */
static struct bytes token_of(struct bytes value)
{
	size_t len = sizeof scheme - 1, at = len;

	if (value.len < len || strncasecmp((const char *)value.data, scheme, len) != 0 ||
	    (value.len > len && value.data[len] != ' '))
		return value;
	while (at < value.len && value.data[at] == ' ')
		at++;
	return (struct bytes){value.data + at, value.len - at};
}

static enum err verify(struct identity *identity, struct op *op, struct bytes token,
		       const struct capability **capability)
{
	const char *why = NULL;
	enum err err;

	if (token.len == 0)
		return refuse(op, ERR_TOKEN_MISSING, "empty bearer token");
	err = identity->auth->verifier->verify(identity->state, token, clock_wall_us(), capability,
					       &why);
	if (err == ERR_TOKEN_INVALID)
		return refuse_token(op, why);
	if (err != ERR_OK)
		return refuse(op, err, NULL);
	op->request.owner = arena_copy(op->arena, (*capability)->owner);
	return op->request.owner.data ? ERR_OK : refuse(op, ERR_BUG, "out of memory");
}

enum err identity_check(struct identity *identity, struct op *op,
			const grpc_metadata_array *metadata, const struct capability **capability)
{
	size_t found = 0, at = 0;

	for (size_t i = 0; i < metadata->count; i++) {
		if (grpc_slice_str_cmp(metadata->metadata[i].key, header) != 0)
			continue;
		found++;
		at = i;
	}
	*capability = NULL;
	op->request.owner = (struct bytes){NULL, 0};
	op->request.may_break = op->request.may_inspect = !identity->state;
	if (found > 1)
		return refuse_token(op, "more than one x-mindd-capability header");
	if (!identity->state)
		return ERR_OK;
	if (found == 0)
		return refuse(op, ERR_TOKEN_MISSING, NULL);
	return verify(identity, op,
		      token_of((struct bytes){GRPC_SLICE_START_PTR(metadata->metadata[at].value),
					      GRPC_SLICE_LENGTH(metadata->metadata[at].value)}),
		      capability);
}
