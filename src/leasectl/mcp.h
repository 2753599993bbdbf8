/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LEASED_LEASECTL_MCP_H
#define LEASED_LEASECTL_MCP_H

#include "leasectl/options.h"

int mcp_main(const struct options *options);

#endif
