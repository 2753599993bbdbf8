/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "shm/driver.h"
#include "stub_driver.h"

static const char *const modes[] = {"fast", "safe", NULL};

static const struct option_spec memory_options[] = {
    {"capacity", OPTION_COUNT, {.number = 1000000}, 1, 100000000, NULL},
    {"restart_grace", OPTION_DURATION, {.number = 30000000}, 0, 3600000000, NULL},
    {"segment", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    {NULL, OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
};

static const struct option_spec store_options[] = {
    {"dsn", OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
    {"token", OPTION_SECRET, {.text = NULL}, 0, 0, NULL},
    {"poll", OPTION_DURATION, {.number = 100000}, 1000, 60000000, NULL},
    {"pool", OPTION_COUNT, {.number = 4}, 1, 64, NULL},
    {"listen", OPTION_BOOL, {.number = 1}, 0, 1, NULL},
    {"mode", OPTION_CHOICE, {.number = 0}, 0, 0, modes},
    {NULL, OPTION_TEXT, {.text = NULL}, 0, 0, NULL},
};

/* Refuses when the backend's name says so: the start must then fail with this text. */
static enum err prepare(const struct driver_place *place, const union option_value *value,
			struct driver_shared **shared, char *why)
{
	(void)value;
	*shared = NULL;
	if (strncmp(place->backend, "down", 4) != 0)
		return ERR_OK;
	snprintf(why, DRIVER_WHY, "backend \"%s\" does not answer", place->backend);
	return ERR_BACKEND_DOWN;
}

static void finish(struct driver_shared *shared)
{
	(void)shared;
}

/* Under the name that main.c knows. */
const struct driver shm_driver = {
    .name = "memory", .options = memory_options, .prepare = prepare, .close = finish};
const struct driver stub_store = {
    .name = "postgres", .options = store_options, .prepare = prepare, .close = finish};
