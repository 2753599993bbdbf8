/* SPDX-License-Identifier: Apache-2.0
 *
 * config/schema.h - every key of the file but the lists of backends and namespaces, in one table
 * with types, ranges and defaults. The reader walks it, the dump walks it; a key that is not here
 * does not exist. */
#ifndef LEASED_CONFIG_SCHEMA_H
#define LEASED_CONFIG_SCHEMA_H

#include "core/option.h"

enum value_id {
	VALUE_CERT_FILE,
	VALUE_KEY_FILE,
	VALUE_CLIENT_CA_FILE,
	VALUE_REQUIRE_CLIENT_CERT,
	VALUE_SHUTDOWN_TIMEOUT,
	VALUE_WORKERS,
	VALUE_REFLECTION,
	VALUE_HEALTH,
	VALUE_STATE_DIR,
	VALUE_LOG_LEVEL,
	VALUE_LOG_FORMAT,
	VALUE_LOG_TARGET,
	VALUE_PROMETHEUS_ADDR,
	VALUE_PROMETHEUS_PATH,
	VALUE_VERIFIER,
	VALUE_INSECURE,
	VALUE_TOKENS_FILE,
	VALUE_MAX_TTL,
	VALUE_MAX_WAIT,
	VALUE_COUNT,
};

enum { CHOICE_UNSET = -1 }; /* OPTION_CHOICE: not set, and no fixed default */

enum schema_kind {
	SCHEMA_SECTION,
	SCHEMA_VALUE,
	SCHEMA_TCP,
	SCHEMA_UDS,
	SCHEMA_BACKENDS,
	SCHEMA_NAMESPACES,
	SCHEMA_PASETO_KEY,
	SCHEMA_PASETO_KEYS,
	SCHEMA_JWT_KEYS,
};

enum { SCHEMA_KEYS_MAX = 12 }; /* in one section */

struct schema_key {
	const char *name; /* NULL ends a section */
	enum schema_kind kind;
	const struct schema_key *keys; /* SCHEMA_SECTION */
	enum value_id value;	       /* SCHEMA_VALUE */
};

extern const struct schema_key schema_root[];

/* What a SCHEMA_VALUE accepts; its name is the key's. */
extern const struct option_spec schema_value[VALUE_COUNT];

#endif
