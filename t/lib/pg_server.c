/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "pg_server.h"

const char *pg_server_dsn(void)
{
	const char *dsn = getenv("LEASED_TEST_DSN");

	CHECK(dsn);
	return dsn;
}

const char *pg_server_dir(void)
{
	const char *dir = getenv("LEASED_TEST_PG_DIR");

	CHECK(dir);
	return dir;
}

static FILE *run(const char *what, const char *more)
{
	char command[1024];

	snprintf(command, sizeof command, "bash '%s' %s '%s' %s", POSTGRES_SH, what,
		 pg_server_dir(), more);
	return popen(command, "r");
}

void pg_server_do(const char *what)
{
	FILE *pipe = run(what, "");

	CHECK(pipe && pclose(pipe) == 0);
}

void pg_server_begin(void)
{
	char dir[] = "/tmp/leased-t-pg-XXXXXX", dsn[512] = "";
	FILE *pipe;

	if (getenv("LEASED_TEST_DSN"))
		return;
	CHECK(mkdtemp(dir));
	setenv("LEASED_TEST_PG_DIR", dir, 1);
	pipe = run("start", "max_connections=60");
	CHECK(pipe && fgets(dsn, sizeof dsn, pipe) && pclose(pipe) == 0);
	dsn[strcspn(dsn, "\n")] = 0;
	setenv("LEASED_TEST_DSN", dsn, 1);
}

void pg_server_end(void)
{
	if (getenv("LEASED_TEST_PG_DIR"))
		pg_server_do("stop");
}
