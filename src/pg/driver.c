/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "pg/board.h"
#include "pg/driver.h"
#include "pg/shared.h"
#include "pg/sql.h"
#include "pg/worker.h"

enum {
	OPTION_DSN,
	OPTION_SCHEMA,
	OPTION_TABLE,
	OPTION_CREATE,
	OPTION_CONNECTIONS,
	OPTION_DURABILITY,
	OPTION_TIMEOUT,
	OPTION_POLL,
	OPTION_WAITERS,
	OPTION_KEEP,
};

static const char *const durabilities[] = {
    [PG_BARRIER] = "barrier", [PG_COMMIT] = "commit", [PG_ASYNC] = "async", NULL};

static const struct option_spec options[] = {
    [OPTION_DSN] = {.name = "dsn", .kind = OPTION_SECRET},
    [OPTION_SCHEMA] = {.name = "schema", .kind = OPTION_TEXT},
    [OPTION_TABLE] = {.name = "table", .kind = OPTION_TEXT, .fallback.text = "leases"},
    [OPTION_CREATE] = {.name = "create_table", .kind = OPTION_BOOL, .fallback.number = 1},
    [OPTION_CONNECTIONS] = {.name = "connections",
			    .kind = OPTION_COUNT,
			    .fallback.number = 2,
			    .least = 1,
			    .most = PG_CONNECTIONS_MAX},
    [OPTION_DURABILITY] = {.name = "durability",
			   .kind = OPTION_CHOICE,
			   .fallback.number = PG_BARRIER,
			   .choices = durabilities},
    [OPTION_TIMEOUT] = {.name = "timeout",
			.kind = OPTION_DURATION,
			.fallback.number = 5 * CLOCK_SECOND,
			.least = CLOCK_SECOND,
			.most = 60 * CLOCK_SECOND},
    [OPTION_POLL] = {.name = "poll_interval",
		     .kind = OPTION_DURATION,
		     .fallback.number = 100 * CLOCK_MILLI,
		     .least = 10 * CLOCK_MILLI,
		     .most = 5 * CLOCK_SECOND},
    [OPTION_WAITERS] = {.name = "waiters",
			.kind = OPTION_COUNT,
			.fallback.number = 131072,
			.least = 1,
			.most = 1000000},
    [OPTION_KEEP] = {.name = "keep_expired",
		     .kind = OPTION_DURATION,
		     .fallback.number = 3600 * CLOCK_SECOND,
		     .least = 600 * CLOCK_SECOND,
		     .most = 30 * (INT64_C(86400) * CLOCK_SECOND)},
    {.name = NULL},
};

static enum err refuse(char *why, const char *text)
{
	snprintf(why, DRIVER_WHY, "%s", text);
	return ERR_SYSTEM;
}

/* What stands in quotes is a piece of the DSN, perhaps of the password. */
static void mask_quoted(char *why, const char *message)
{
	bool inside = false;
	size_t used = (size_t)snprintf(why, DRIVER_WHY, "dsn: ");

	for (; *message && *message != '\n' && used < DRIVER_WHY - 4; message++) {
		if (*message == '"') {
			why[used++] = '"';
			inside = !inside;
			if (inside) {
				memcpy(why + used, "***", 3);
				used += 3;
			}
		} else if (!inside) {
			why[used++] = *message;
		}
	}
	why[used] = 0;
}

/* The password of a valid DSN, allocated; NULL when there is none. */
static char *password_in(const PQconninfoOption *option)
{
	for (; option->keyword; option++)
		if (strcmp(option->keyword, "password") == 0 && option->val && option->val[0])
			return strdup(option->val);
	return NULL;
}

static enum err read_dsn(struct driver_shared *shared, const char *dsn, char *why)
{
	PQconninfoOption *parsed;
	char *message = NULL;

	if (!dsn || !dsn[0])
		return refuse(why, "dsn is missing: where is the database?");
	parsed = PQconninfoParse(dsn, &message);
	if (!parsed) {
		mask_quoted(why, message ? message : "out of memory");
		PQfreemem(message);
		return ERR_SYSTEM;
	}
	shared->dsn = strdup(dsn);
	shared->password = password_in(parsed);
	PQconninfoFree(parsed);
	return shared->dsn ? ERR_OK : refuse(why, "out of memory");
}

/* Names go into SQL in quotes; the server's limit is 63 bytes, and it cuts without a word. */
static bool good_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 63 && !strchr(name, '\\');
}

static void discard(struct driver_shared *shared)
{
	pg_board_free(shared->board);
	pg_sql_free(shared->sql);
	if (shared->password)
		explicit_bzero(shared->password, strlen(shared->password));
	if (shared->dsn)
		explicit_bzero(shared->dsn, strlen(shared->dsn));
	free(shared->password);
	free(shared->dsn);
	free(shared->backend);
	free(shared);
}

static enum err fill(struct driver_shared *shared, const struct driver_place *place,
		     const union option_value *value, char *why)
{
	const char *schema = value[OPTION_SCHEMA].text, *table = value[OPTION_TABLE].text;

	shared->connections = (unsigned)value[OPTION_CONNECTIONS].number;
	shared->timeout_us = value[OPTION_TIMEOUT].number;
	shared->poll_us = value[OPTION_POLL].number;
	shared->keep_us = value[OPTION_KEEP].number;
	shared->waiters = value[OPTION_WAITERS].number;
	shared->durability = (enum pg_durability)value[OPTION_DURABILITY].number;
	shared->create = value[OPTION_CREATE].number;
	if (schema && !schema[0])
		schema = NULL;
	if (!table || !good_name(table) || (schema && !good_name(schema)))
		return refuse(why, "schema and table are names of at most 63 bytes");
	shared->backend = strdup(place->backend);
	shared->sql = pg_sql_make(schema, table);
	shared->board = pg_board_make();
	return shared->backend && shared->sql && shared->board ? ERR_OK
							       : refuse(why, "out of memory");
}

/* Nothing is sent: a database that is down at the start is no reason not to serve the other
 * backends, and a connection could not be used after the fork. */
static enum err prepare(const struct driver_place *place, const union option_value *value,
			struct driver_shared **out, char *why)
{
	struct driver_shared *shared = calloc(1, sizeof *shared);
	enum err err;

	if (!shared)
		return refuse(why, "out of memory");
	err = read_dsn(shared, value[OPTION_DSN].text, why);
	if (err == ERR_OK)
		err = fill(shared, place, value, why);
	if (err == ERR_OK)
		*out = shared;
	else
		discard(shared);
	return err;
}

static void bury(struct driver_shared *shared, unsigned slot)
{
	pg_board_clear(shared->board, slot);
}

const struct driver pg_driver = {
    .name = "postgres",
    .options = options,
    .prepare = prepare,
    .attach = pg_worker_attach,
    .submit = pg_worker_submit,
    .cancel = pg_worker_cancel,
    .poll = pg_worker_poll,
    .next = pg_worker_next,
    .drain = pg_worker_drain,
    .detach = pg_worker_detach,
    .health = pg_worker_health,
    .bury = bury,
    .close = discard,
};
