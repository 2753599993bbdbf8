/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/sql.h - every statement of the driver, with the name of the table put in. The rules are those
 * of core/rules.h; only the database's clock decides. */
#ifndef LEASED_PG_SQL_H
#define LEASED_PG_SQL_H

#include <stdbool.h>

enum pg_statement {
	PG_ACQUIRE, /* an acquire that does not wait */
	PG_ATTEMPT, /* one that waits: takes the lease, or leaves a mark that somebody waits */
	PG_RENEW,
	PG_RELEASE,
	PG_INSPECT,
	PG_LIST,
	PG_LOOK, /* at all keys waited for */
	PG_REAP,
	PG_FLUSH, /* makes all that was committed before durable */
	PG_PING,
	PG_STATEMENTS
};

/* Columns of PG_ACQUIRE, PG_ATTEMPT, PG_RENEW, PG_INSPECT, PG_LIST. */
enum pg_column {
	PG_VERDICT, /* 1 = yours, 0 = somebody else's */
	PG_NOW,
	PG_HOLDER,
	PG_FENCE,
	PG_ACQUIRED,
	PG_EXPIRES,
	PG_OWNER,
	PG_REQUEST_ID, /* these two only when they are the caller's business */
	PG_METADATA,
	PG_KEY, /* PG_LIST only */
};

/* First column of PG_RELEASE; no row = PG_RELEASE_FREE. */
enum pg_release {
	PG_RELEASE_OTHERS, /* held, and not by the caller */
	PG_RELEASE_DONE,
	PG_RELEASE_FREE,
	PG_RELEASE_OVER,  /* free, and the caller was the last to hold it */
	PG_RELEASE_RACED, /* changed while the statement ran: ask again */
};

struct pg_sql {
	char *text[PG_STATEMENTS];
	char *regclass; /* quoted name of the table, as a literal for to_regclass */
	char *schema;	/* statement that makes the schema; NULL = none was named */
	char *table;	/* statement that makes the table */
};

/* `schema` may be NULL: then the search path decides. Both are quoted, whatever they hold. NULL
 * when memory is exhausted. */
struct pg_sql *pg_sql_make(const char *schema, const char *table);
void pg_sql_free(struct pg_sql *sql);

/* Name under which a statement is prepared; static. */
const char *pg_sql_name(enum pg_statement statement);

#endif
