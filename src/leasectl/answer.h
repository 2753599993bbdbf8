/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/answer.h - results of tools: a text for the agent and the same as JSON. All take over
 * `id`. */
#ifndef LEASED_LEASECTL_ANSWER_H
#define LEASED_LEASECTL_ANSWER_H

#include "leasectl/mcp.h"

void answer_text(struct mcp *mcp, json_t *id, bool error, const char *text);
void answer_granted(struct mcp *mcp, json_t *id, const Leased__Wire__LeaseHandle *handle);

/* What a refusal means and what to do next; looks at the key for what its holder has noted. Blocks
 * for one more call at most. */
void answer_failure(struct mcp *mcp, json_t *id, const struct lease_request *request,
		    const struct call *call);
void answer_inspected(struct mcp *mcp, json_t *id, const struct lease_request *request,
		      const struct call *call);
void answer_listed(struct mcp *mcp, json_t *id, const struct call *call);

#endif
