/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/identity.h"

static const char header[] = "x-mindd-capability";

enum err identity_check(struct op *op, const grpc_metadata_array *metadata)
{
	size_t found = 0;

	for (size_t i = 0; i < metadata->count; i++)
		found += grpc_slice_str_cmp(metadata->metadata[i].key, header) == 0;
	op->request.owner = (struct bytes){NULL, 0};
	op->request.may_break = false;
	if (found <= 1)
		return ERR_OK;
	op->answer.text = "invalid token: more than one x-mindd-capability header";
	return op->answer.result = ERR_TOKEN_INVALID;
}
