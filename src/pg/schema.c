/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "pg/failure.h"
#include "pg/schema.h"
#include "pg/sql.h"

enum found { NOTHING, MISSING, FOREIGN, FOUND };

/* Names are compared byte for byte, and listed in the order of their bytes: only collation "C" does
 * both. */
static enum found look(const struct driver_shared *shared, struct pg_ask *ask)
{
	enum { SIZE = 1024 };
	char text[SIZE];
	PGresult *result;
	enum found found = NOTHING;

	snprintf(text, sizeof text,
		 "SELECT t IS NULL, (SELECT count(*) = 2 FROM pg_attribute a JOIN pg_collation c"
		 " ON c.oid = a.attcollation WHERE a.attrelid = t AND"
		 " a.attname IN ('namespace', 'key') AND c.collname = 'C')"
		 " FROM to_regclass(%s) t",
		 shared->sql->regclass);
	result = pg_ask(ask, text, 0, NULL);
	if (result && PQntuples(result) == 1)
		found = PQgetvalue(result, 0, 0)[0]   ? MISSING
			: PQgetvalue(result, 0, 1)[0] ? FOUND
						      : FOREIGN;
	PQclear(result);
	return found;
}

/* One at a time in the whole database, or two CREATE … IF NOT EXISTS may collide. The lock ends
 * with the transaction, whatever happens. */
static bool make(const struct driver_shared *shared, struct pg_ask *ask, char *why)
{
	bool made = pg_ask_done(ask, "BEGIN") && pg_ask_done(ask, "SET LOCAL lock_timeout = 0") &&
		    pg_ask_done(ask, "SELECT pg_advisory_xact_lock(7811892390420513)") &&
		    (!shared->sql->schema || pg_ask_done(ask, shared->sql->schema)) &&
		    pg_ask_done(ask, shared->sql->table) && pg_ask_done(ask, "COMMIT");
	char text[DRIVER_WHY];

	if (made) {
		log_debug("the table was made", LOG_TEXT("backend", shared->backend));
		return true;
	}
	pg_failure_text(text, PQerrorMessage(ask->pg), shared->password);
	snprintf(why, DRIVER_WHY,
		 "the table does not exist and cannot be made (%.300s); see etc/schema.sql", text);
	pg_ask_done(ask, "ROLLBACK");
	return false;
}

bool pg_schema_ensure(const struct driver_shared *shared, struct pg_ask *ask, char *why)
{
	switch (look(shared, ask)) {
	case FOUND:
		return true;
	case FOREIGN:
		snprintf(why, DRIVER_WHY,
			 "the table's names are not of collation \"C\"; see etc/schema.sql");
		return false;
	case MISSING:
		if (shared->create)
			return make(shared, ask, why);
		snprintf(why, DRIVER_WHY, "the table does not exist; see etc/schema.sql");
		return false;
	case NOTHING:
		break;
	}
	return false;
}
