/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "shm/driver.h"
#include "config_case.h"
#include "stub_driver.h"

static const struct driver *const drivers[] = {&shm_driver, &stub_store, NULL};
const struct config_input config_case_input = {.drivers = drivers};

struct settings *config_case_read_bytes(const char *text, size_t len, char **errors)
{
	/* A copy of exactly this size: reading past it is then seen. */
	char *copy = malloc(len > 0 ? len : 1);
	struct bytes bytes = {(const uint8_t *)copy, len};
	struct settings *settings = NULL;
	size_t size;
	FILE *out = open_memstream(errors, &size);

	CHECK(copy && out);
	memcpy(copy, text, len);
	config_read(&config_case_input, "f.yaml", bytes, out, &settings);
	fclose(out);
	free(copy);
	return settings;
}

struct settings *config_case_read(const char *text, char **errors)
{
	return config_case_read_bytes(text, strlen(text), errors);
}

struct settings *config_case_renew(const struct settings *old, const char *text, char **errors)
{
	struct settings *settings = NULL;
	size_t size;
	FILE *out = open_memstream(errors, &size);

	CHECK(out);
	config_renew(old, bytes_of(text), out, &settings);
	fclose(out);
	return settings;
}

char *config_case_dump(const struct settings *settings)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	CHECK(config_dump(settings, out));
	fclose(out);
	return text;
}
