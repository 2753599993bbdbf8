/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/driver.h"
#include "core/limits.h"
#include "config/schema.h"

#define SECTION(name, keys)                                                                        \
	{                                                                                          \
		(name), SCHEMA_SECTION, (keys), VALUE_COUNT                                        \
	}
#define VALUE(name, id)                                                                            \
	{                                                                                          \
		(name), SCHEMA_VALUE, NULL, (id)                                                   \
	}
#define SPECIAL(name, kind)                                                                        \
	{                                                                                          \
		(name), (kind), NULL, VALUE_COUNT                                                  \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, SCHEMA_VALUE, NULL, VALUE_COUNT                                              \
	}

static const struct schema_key tls_keys[] = {
    VALUE("cert_file", VALUE_CERT_FILE),
    VALUE("key_file", VALUE_KEY_FILE),
    VALUE("client_ca_file", VALUE_CLIENT_CA_FILE),
    VALUE("require_client_cert", VALUE_REQUIRE_CLIENT_CERT),
    END,
};
static const struct schema_key grpc_keys[] = {
    SPECIAL("tcp", SCHEMA_TCP),
    SPECIAL("uds", SCHEMA_UDS),
    SECTION("tls", tls_keys),
    END,
};
static const struct schema_key server_keys[] = {
    SECTION("grpc", grpc_keys),
    VALUE("shutdown_timeout", VALUE_SHUTDOWN_TIMEOUT),
    VALUE("workers", VALUE_WORKERS),
    VALUE("reflection", VALUE_REFLECTION),
    VALUE("health", VALUE_HEALTH),
    VALUE("state_dir", VALUE_STATE_DIR),
    END,
};
static const struct schema_key logging_keys[] = {
    VALUE("level", VALUE_LOG_LEVEL),
    VALUE("format", VALUE_LOG_FORMAT),
    VALUE("target", VALUE_LOG_TARGET),
    END,
};
static const struct schema_key prometheus_keys[] = {
    VALUE("addr", VALUE_PROMETHEUS_ADDR),
    VALUE("path", VALUE_PROMETHEUS_PATH),
    END,
};
static const struct schema_key metrics_keys[] = {SECTION("prometheus", prometheus_keys), END};
static const struct schema_key observability_keys[] = {
    SECTION("logging", logging_keys),
    SECTION("metrics", metrics_keys),
    END,
};
static const struct schema_key paseto_keys[] = {
    SPECIAL("public_key_hex", SCHEMA_PASETO_KEY),
    SPECIAL("public_key_hexes", SCHEMA_PASETO_KEYS),
    END,
};
static const struct schema_key jwt_keys[] = {SPECIAL("keys", SCHEMA_JWT_KEYS), END};
static const struct schema_key auth_keys[] = {
    VALUE("verifier", VALUE_VERIFIER),
    VALUE("insecure", VALUE_INSECURE),
    VALUE("tokens_file", VALUE_TOKENS_FILE),
    SECTION("paseto", paseto_keys),
    SECTION("jwt", jwt_keys),
    END,
};
static const struct schema_key limits_keys[] = {
    VALUE("max_ttl", VALUE_MAX_TTL),
    VALUE("max_wait", VALUE_MAX_WAIT),
    END,
};
const struct schema_key schema_root[] = {
    SECTION("server", server_keys),
    SECTION("observability", observability_keys),
    SECTION("auth", auth_keys),
    SECTION("limits", limits_keys),
    SPECIAL("backends", SCHEMA_BACKENDS),
    SPECIAL("namespaces", SCHEMA_NAMESPACES),
    END,
};

/* In the order of the enums in base/log.h. */
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const targets[] = {"stderr", "syslog", NULL};
/* In the order of enum auth_format, without AUTH_UNSET. */
static const char *const verifiers[] = {"none", "tokens", "paseto", "jwt", NULL};

const struct option_spec schema_value[VALUE_COUNT] = {
    [VALUE_CERT_FILE] = {"cert_file", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    [VALUE_KEY_FILE] = {"key_file", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    [VALUE_CLIENT_CA_FILE] = {"client_ca_file", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    [VALUE_REQUIRE_CLIENT_CERT] = {"require_client_cert", OPTION_BOOL, {.number = 0}, 0, 1, NULL},
    [VALUE_SHUTDOWN_TIMEOUT] = {"shutdown_timeout",
				OPTION_DURATION,
				{.number = 8 * CLOCK_SECOND},
				0,
				10 * CLOCK_SECOND,
				NULL},
    [VALUE_WORKERS] = {"workers", OPTION_COUNT, {.number = 0}, 0, DRIVER_WORKERS_MAX, NULL},
    [VALUE_REFLECTION] = {"reflection", OPTION_BOOL, {.number = 1}, 0, 1, NULL},
    [VALUE_HEALTH] = {"health", OPTION_BOOL, {.number = 1}, 0, 1, NULL},
    [VALUE_STATE_DIR] = {"state_dir", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    [VALUE_LOG_LEVEL] = {"level", OPTION_CHOICE, {.number = LEVEL_INFO}, 0, 0, levels},
    [VALUE_LOG_FORMAT] = {"format", OPTION_CHOICE, {.number = LOG_FORMAT_TEXT}, 0, 0, formats},
    [VALUE_LOG_TARGET] = {"target", OPTION_CHOICE, {.number = CHOICE_UNSET}, 0, 0, targets},
    [VALUE_PROMETHEUS_ADDR] = {"addr", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    [VALUE_PROMETHEUS_PATH] = {"path", OPTION_TEXT, {.text = "/metrics"}, 0, 0, NULL},
    [VALUE_VERIFIER] = {"verifier", OPTION_CHOICE, {.number = CHOICE_UNSET}, 0, 0, verifiers},
    [VALUE_INSECURE] = {"insecure", OPTION_BOOL, {.number = 0}, 0, 1, NULL},
    [VALUE_TOKENS_FILE] = {"tokens_file", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    [VALUE_MAX_TTL] = {"max_ttl",
		       OPTION_DURATION,
		       {.number = LIMITS_MAX_TTL_DEFAULT},
		       LIMITS_TTL_LEAST,
		       LIMITS_MAX_TTL_MOST,
		       NULL},
    [VALUE_MAX_WAIT] = {"max_wait",
			OPTION_DURATION,
			{.number = LIMITS_MAX_WAIT_DEFAULT},
			0,
			LIMITS_MAX_WAIT_MOST,
			NULL},
};
