/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/mcp.h - a Model Context Protocol server on stdin and stdout: JSON-RPC 2.0, one message a
 * line. */
#ifndef LEASED_LEASECTL_MCP_H
#define LEASED_LEASECTL_MCP_H

#include <jansson.h>

#include "leasectl/session.h"

struct waiter;

struct mcp {
	struct session session;
	struct waiter *waiters; /* acquires that stand in line; waiter.c */
	json_t *batch;		/* answers to a batch are collected; NULL: written at once */
	char client[128];	/* clientInfo of initialize, "" before */
	json_t *losses;		/* sentences that the agent has not been told yet */
};

/* Serves until the end of input or a signal; the exit status. */
int mcp_main(const struct options *options);

/* Writes the result of request `id`; takes over both references. */
void mcp_answer(struct mcp *mcp, json_t *id, json_t *result);

/* Writes an error of JSON-RPC; takes over `id`. */
void mcp_refuse(struct mcp *mcp, json_t *id, int code, const char *text);

#endif
