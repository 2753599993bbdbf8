/* SPDX-License-Identifier: Apache-2.0
 *
 * t/lib/pg_server.h - a Postgres of the test program's own (t/lib/postgres.sh), started before its
 * first test and removed after the last one. With LEASED_TEST_DSN that one is used. */
#ifndef LEASED_T_PG_SERVER_H
#define LEASED_T_PG_SERVER_H

/* Before the first test and after the last one; t/lib/pg_hooks.c does it for Criterion. The
 * environment carries it to the tests, which are children. */
void pg_server_begin(void);
void pg_server_end(void);

/* DSN of the server. */
const char *pg_server_dsn(void);
/* Runs postgres.sh WHAT on the program's own server; ends the test when that fails. */
void pg_server_do(const char *what);
/* Directory of the program's own server. */
const char *pg_server_dir(void);

#endif
