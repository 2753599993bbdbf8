/* SPDX-License-Identifier: Apache-2.0 */
#include "leasectl/mcp.h"

int mcp_main(const struct options *options)
{
	options_notice(options, "not yet");
	return STATUS_BUG;
}
