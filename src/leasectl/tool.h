/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/tool.h - the tools that an MCP client may call. */
#ifndef LEASED_LEASECTL_TOOL_H
#define LEASED_LEASECTL_TOOL_H

#include "leasectl/mcp.h"

enum { TOOL_TEXT = 4096 };

/* The result of tools/list; the caller owns it. */
json_t *tool_list(void);

/* tools/call: answers now, or later from waiter_work. Borrows `params`, takes over `id`. */
void tool_call(struct mcp *mcp, json_t *id, json_t *params);

#endif
