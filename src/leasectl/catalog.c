/* SPDX-License-Identifier: Apache-2.0 */
#include "leasectl/catalog.h"

#define NAMESPACE                                                                                  \
	"\"namespace\":{\"type\":\"string\",\"description\":\"Namespace on the server; leave it "  \
	"out for the default one.\"}"
#define KEY                                                                                        \
	"\"key\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":512,\"description\":\"What "   \
	"is "                                                                                      \
	"to be guarded: a path, a branch, an environment. All agents must spell it alike.\"}"
#define TTL                                                                                        \
	"\"ttl\":{\"type\":\"string\",\"description\":\"How long the lease lasts when it is not "  \
	"renewed, such as 60s, 5m or 1h30m.\",\"default\":\"2m\"}"
#define HOLDER                                                                                     \
	"\"holder_id\":{\"type\":\"string\",\"description\":\"Only for a lease that this session " \
	"did not take.\"}"

const char catalog_text[] =
    "["
    "{\"name\":\"lease_acquire\",\"title\":\"Take a lease\",\"description\":\"Take the lease on a "
    "key, before changing what it guards. It is renewed by itself until lease_release or the end "
    "of the session. If somebody else holds it, the answer says who, since when, how much time is "
    "left and what to do.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{" NAMESPACE "," KEY
    "," TTL ",\"wait\":{\"type\":\"string\",\"description\":\"Stand in line so long for a "
    "held key, such as 30s; without it a held key is refused at once.\"},\"note\":{\"type\":"
    "\"string\",\"description\":\"What it is taken for; others see it.\"}},\"required\":[\"key\"],"
    "\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":"
    "false,\"idempotentHint\":false,\"openWorldHint\":false}},"

    "{\"name\":\"lease_renew\",\"title\":\"Renew a lease\",\"description\":\"Give a held lease a "
    "new ttl from now on. Not needed to keep it: this session renews its leases by itself.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{" NAMESPACE "," KEY "," TTL "," HOLDER
    "},\"required\":[\"key\"],\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":"
    "false,\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}},"

    "{\"name\":\"lease_release\",\"title\":\"Give a lease back\",\"description\":\"Give back the "
    "lease on a key, so that the next in line may work.\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{" NAMESPACE "," KEY "," HOLDER "},\"required\":[\"key\"],"
    "\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":"
    "false,\"idempotentHint\":true,\"openWorldHint\":false}},"

    "{\"name\":\"lease_inspect\",\"title\":\"Look at one key\",\"description\":\"Who holds a key, "
    "since when, how much time is left, how many wait.\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{" NAMESPACE "," KEY "},\"required\":[\"key\"],\"additionalProperties\":false},"
    "\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}},"

    "{\"name\":\"lease_list\",\"title\":\"All held keys\",\"description\":\"All keys of a "
    "namespace that are held now, in order.\",\"inputSchema\":{\"type\":\"object\","
    "\"properties\":{" NAMESPACE ",\"prefix\":{\"type\":\"string\",\"description\":\"Only keys "
    "that begin so.\"}},\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":true,"
    "\"openWorldHint\":false}}"
    "]";
