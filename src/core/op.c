/* SPDX-License-Identifier: Apache-2.0 */
#include "core/op.h"

const char *op_name(enum op_kind kind)
{
	static const char *const name[] = {
	    [OP_ACQUIRE] = "lease.acquire", [OP_RENEW] = "lease.renew",
	    [OP_RELEASE] = "lease.release", [OP_INSPECT] = "lease.inspect",
	    [OP_LIST] = "lease.list",
	};

	return name[kind];
}
