/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/config_case.h - reading a configuration from a text in a test. */
#ifndef LEASED_T_CONFIG_CASE_H
#define LEASED_T_CONFIG_CASE_H

#include <stddef.h>

#include "config/config.h"

/* The drivers of t/lib/stub_driver.c, no options given. */
extern const struct config_input config_case_input;

/* Reads `len` bytes as file "f.yaml". The settings, or NULL; *errors is what was written, to be
 * freed, never NULL. */
struct settings *config_case_read_bytes(const char *text, size_t len, char **errors);
struct settings *config_case_read(const char *text, char **errors);

/* As config_renew. */
struct settings *config_case_renew(const struct settings *old, const char *text, char **errors);

/* The dump as a text, to be freed. */
char *config_case_dump(const struct settings *settings);

#endif
