/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pg/sql.h"

/* @ is the table.
 *
 * One reading of the clock decides a row: clock_timestamp() is read in a sub-select behind OFFSET
 * 0, which the planner may not take apart. In DO UPDATE it is read after the row is locked, so that
 * a wait for a lock is never counted as somebody's time.
 *
 * A fencing token is the greater of the last one + 1 and the clock in microseconds, under the row's
 * lock. The row with empty names keeps the greatest token of all rows that were ever removed. */
#define CLOCK  "(SELECT clock_timestamp() AS t OFFSET 0) c"
#define MICROS "(date_part('epoch', t) * 1e6)::bigint"
#define FLOOR  "(SELECT f.fence + 1 FROM @ f WHERE f.namespace = '' AND f.key = '')"
#define COLUMNS                                                                                    \
	"namespace, key, holder_id, fence, acquired_at, expires_at, owner, request_id, metadata"
#define GRANT		  "$3, greatest(l.fence + 1, " MICROS "), t, t + $4, $5, $6, $7"
#define IF_FREE(new, old) "CASE WHEN free THEN " new " ELSE l." old " END"
#define MINE_ONLY                                                                                  \
	"CASE WHEN l.request_id = $6 AND l.owner = $5 THEN l.request_id ELSE '' END AS "           \
	"request_id,"                                                                              \
	" CASE WHEN l.request_id = $6 AND l.owner = $5 THEN l.metadata ELSE '' END AS metadata"
#define MARK  "interval '10 s'"
#define NAMED "octet_length($1) || ':' || $1 || $2"

static const char *const name[PG_STATEMENTS] = {
    [PG_ACQUIRE] = "acquire", [PG_ATTEMPT] = "attempt", [PG_RENEW] = "renew",
    [PG_RELEASE] = "release", [PG_INSPECT] = "inspect", [PG_LIST] = "list",
    [PG_LOOK] = "look",	      [PG_REAP] = "reap",	[PG_FLUSH] = "flush",
    [PG_PING] = "ping",
};

/* clang-format off: it has no rest with strings that are made of macros */
static const char *const text[PG_STATEMENTS] = {
    /* Looks first: a refusal writes nothing. 0 rows = somebody was quicker this
       instant. */
    [PG_ACQUIRE] =
	"WITH h AS MATERIALIZED (SELECT clock_timestamp() AS t, l.holder_id, l.fence,"
	" l.acquired_at, l.expires_at, l.owner, " MINE_ONLY
	" FROM @ l WHERE l.namespace = $1::text AND l.key = $2::text"
	" AND l.expires_at > clock_timestamp() AND l.holder_id <> $3::uuid),"
	" i AS (INSERT INTO @ AS l (" COLUMNS ")"
	" SELECT $1, $2, $3, greatest(" MICROS ", " FLOOR "), t, t + $4::interval, $5::text,"
	" $6::text, $7::text FROM " CLOCK " WHERE NOT EXISTS (SELECT 1 FROM h)"
	" ON CONFLICT (namespace, key) DO UPDATE SET (holder_id, fence, acquired_at, "
	"expires_at,"
	" owner, request_id, metadata) = (SELECT " GRANT " FROM " CLOCK ")"
	" WHERE l.expires_at <= clock_timestamp() OR l.holder_id = $3"
	" RETURNING clock_timestamp() AS t, l.holder_id, l.fence, l.acquired_at, "
	"l.expires_at,"
	" l.owner, '' AS request_id, '' AS metadata)"
	" SELECT 1, * FROM i UNION ALL SELECT 0, * FROM h",
    /* Always takes the row's lock: grant or mark, so that a release sees the mark or
     * the attempt sees the release. $8: others stand behind in this worker. */
    [PG_ATTEMPT] =
	"INSERT INTO @ AS l (" COLUMNS ", waiters_until)"
	" SELECT $1::text, $2::text, $3::uuid, greatest(" MICROS ", " FLOOR "), t,"
	" t + $4::interval, $5::text, $6::text, $7::text,"
	" CASE WHEN $8::bool THEN t + " MARK " ELSE '-infinity' END FROM " CLOCK
	" ON CONFLICT (namespace, key) DO UPDATE SET (holder_id, fence, acquired_at, "
	"expires_at,"
	" owner, request_id, metadata, waiters_until) = (SELECT " IF_FREE(
	    "$3",
	    "holder"
	    "_id") ","
		   " " IF_FREE("greatest(l.fence + 1, " MICROS ")", "fence") ", " IF_FREE(
		       "t",
		       "acq"
		       "uir"
		       "ed_"
		       "at") ", " IF_FREE("t + $4",
					  "expires_at") ", " IF_FREE("$5",
								     "owner") ", " IF_FREE("$"
											   "6",
											   "r"
											   "e"
											   "q"
											   "u"
											   "e"
											   "s"
											   "t"
											   "_"
											   "i"
											   "d") ","
												" " IF_FREE(
												    "$7",
												    "metadat"
												    "a") ","
													 " C"
													 "AS"
													 "E "
													 "WH"
													 "EN"
													 " f"
													 "re"
													 "e "
													 "AN"
													 "D "
													 "NO"
													 "T "
													 "$8"
													 " T"
													 "HE"
													 "N "
													 "l."
													 "wa"
													 "it"
													 "er"
													 "s_"
													 "un"
													 "ti"
													 "l"
													 " E"
													 "LS"
													 "E "
													 "gr"
													 "ea"
													 "te"
													 "st"
													 "(l"
													 ".w"
													 "ai"
													 "te"
													 "rs"
													 "_u"
													 "nt"
													 "il"
													 ", "
													 "t "
													 "+"
													 " " MARK
													 ") "
													 "EN"
													 "D"
													 " F"
													 "RO"
													 "M "
													 "(S"
													 "EL"
													 "EC"
													 "T "
													 "t,"
													 " l"
													 ".e"
													 "xp"
													 "ir"
													 "es"
													 "_a"
													 "t "
													 "<="
													 " t"
													 " O"
													 "R "
													 "l."
													 "ho"
													 "ld"
													 "er"
													 "_i"
													 "d "
													 "= "
													 "$3"
													 " A"
													 "S "
													 "fr"
													 "ee"
													 " F"
													 "RO"
													 "M"
													 " " CLOCK
													 " O"
													 "FF"
													 "SE"
													 "T "
													 "0)"
													 " d"
													 ")"
													 " R"
													 "ET"
													 "UR"
													 "NI"
													 "NG"
													 " ("
													 "l."
													 "ho"
													 "ld"
													 "er"
													 "_i"
													 "d "
													 "= "
													 "$3"
													 "):"
													 ":i"
													 "nt"
													 ", "
													 "cl"
													 "oc"
													 "k_"
													 "ti"
													 "me"
													 "st"
													 "am"
													 "p("
													 "),"
													 " l"
													 ".h"
													 "ol"
													 "de"
													 "r_"
													 "id"
													 ", "
													 "l."
													 "fe"
													 "nc"
													 "e,"
													 " l"
													 ".a"
													 "cq"
													 "ui"
													 "re"
													 "d_"
													 "at"
													 ", "
													 "l."
													 "ex"
													 "pi"
													 "re"
													 "s_"
													 "at"
													 ", "
													 "l."
													 "ow"
													 "ne"
													 "r,"
													 " l"
													 ".r"
													 "eq"
													 "ue"
													 "st"
													 "_i"
													 "d,"
													 " C"
													 "AS"
													 "E "
													 "WH"
													 "EN"
													 " l"
													 ".r"
													 "eq"
													 "ue"
													 "st"
													 "_i"
													 "d "
													 "= "
													 "$6"
													 " A"
													 "ND"
													 " l"
													 ".o"
													 "wn"
													 "er"
													 " ="
													 " $"
													 "5 "
													 "TH"
													 "EN"
													 " l"
													 ".m"
													 "et"
													 "ad"
													 "at"
													 "a "
													 "EL"
													 "SE"
													 " '"
													 "' "
													 "EN"
													 "D",
    /* By way of a conflict, for only there the clock is read under the lock: an UPDATE
     * that waited for a row nobody changed in the end would not look at the clock
     * again, and revive. */
    [PG_RENEW] = "WITH o AS MATERIALIZED (SELECT " COLUMNS ", waiters_until FROM @"
		 " WHERE namespace = $1::text AND key = $2::text AND holder_id = $3::uuid"
		 " AND owner = $5::text AND expires_at > clock_timestamp()),"
		 " i AS (INSERT INTO @ AS l (" COLUMNS ", waiters_until)"
		 " SELECT " COLUMNS ", waiters_until FROM o"
		 " ON CONFLICT (namespace, key) DO UPDATE SET expires_at = clock_timestamp() + "
		 "$4::interval"
		 " WHERE l.holder_id = $3 AND l.owner = $5 AND l.expires_at > clock_timestamp()"
		 " RETURNING clock_timestamp() AS t, l.holder_id, l.fence, l.acquired_at, "
		 "l.expires_at,"
		 " l.owner, l.request_id, l.metadata, l.waiters_until)"
		 " SELECT 1, i.t, i.holder_id, i.fence, i.acquired_at, i.expires_at, i.owner, "
		 "i.request_id,"
		 " i.metadata, CASE WHEN i.waiters_until > i.t AND i.expires_at < o.expires_at"
		 " THEN pg_notify('leased', " NAMED ")::text END FROM i, o",
    [PG_RELEASE] = "WITH r AS (UPDATE @ SET expires_at = least(expires_at, clock_timestamp())"
		   " WHERE namespace = $1::text AND key = $2::text AND holder_id = $3::uuid"
		   " AND (owner = $4::text OR $5::bool) AND expires_at > clock_timestamp()"
		   " RETURNING waiters_until)"
		   " SELECT 1, CASE WHEN waiters_until > clock_timestamp()"
		   " THEN pg_notify('leased', " NAMED ")::text END FROM r"
		   " UNION ALL SELECT CASE WHEN expires_at <= clock_timestamp()"
		   " THEN CASE WHEN holder_id = $3 AND (owner = $4 OR $5) THEN 3 ELSE 2 END"
		   " WHEN holder_id = $3 AND (owner = $4 OR $5) THEN 4 ELSE 0 END, NULL"
		   " FROM @ WHERE namespace = $1 AND key = $2 AND NOT EXISTS (SELECT 1 FROM r)",
    [PG_INSPECT] =
	"SELECT 1, t, holder_id, fence, acquired_at, expires_at, owner, "
	"request_id, metadata"
	" FROM " CLOCK ", @ WHERE namespace = $1::text AND key = $2::text AND expires_at > t",
    [PG_LIST] =
	"SELECT 1, t, holder_id, fence, acquired_at, expires_at, owner, "
	"request_id, metadata, key"
	" FROM " CLOCK ", @ WHERE namespace = $1::text AND key > $2::text AND key >= $3::text"
	" AND key <= $4::text AND expires_at > t ORDER BY key LIMIT $5::bigint",
    /* Renews marks that are half over, without waiting for locked rows. */
    [PG_LOOK] =
	"WITH w AS (SELECT n, k, i FROM unnest($1::text[], $2::text[]) WITH ORDINALITY "
	"u(n, k, i)),"
	" s AS (SELECT l.ctid AS c FROM w JOIN @ l ON l.namespace = w.n AND l.key = w.k"
	" WHERE l.expires_at > clock_timestamp()"
	" AND l.waiters_until < clock_timestamp() + " MARK " / 2 FOR UPDATE OF l SKIP LOCKED),"
	" m AS (UPDATE @ l SET waiters_until = clock_timestamp() + " MARK
	" FROM s WHERE l.ctid = s.c)"
	" SELECT w.i, clock_timestamp(), l.expires_at, l.fence, l.acquired_at, l.owner"
	" FROM w LEFT JOIN @ l ON l.namespace = w.n AND l.key = w.k",
    [PG_REAP] = "WITH d AS (SELECT ctid FROM @ WHERE expires_at < now() - $1::interval"
		" AND waiters_until < now() AND namespace <> '' LIMIT 1000 FOR UPDATE SKIP "
		"LOCKED),"
		" x AS (DELETE FROM @ l USING d WHERE l.ctid = d.ctid RETURNING l.fence),"
		" f AS (INSERT INTO @ AS l (namespace, key, holder_id, fence, acquired_at, "
		"expires_at)"
		" SELECT '', '', '00000000-0000-0000-0000-000000000000', max(fence), "
		"'-infinity',"
		" '-infinity' FROM x HAVING count(*) > 0"
		" ON CONFLICT (namespace, key) DO UPDATE SET fence = greatest(l.fence, "
		"EXCLUDED.fence))"
		" SELECT count(*) FROM x",
    /* Only a record of one's own makes a commit wait for the log; an empty one does
       not. */
    [PG_FLUSH] = "SELECT pg_logical_emit_message(true, 'leased', '')::text",
    [PG_PING] = "SELECT 1",
};
/* clang-format on */

/* etc/schema.sql says the same, with comments. */
static const char table_text[] =
    "CREATE TABLE IF NOT EXISTS @ ("
    " namespace text COLLATE \"C\" NOT NULL,"
    " key text COLLATE \"C\" NOT NULL,"
    " holder_id uuid NOT NULL,"
    " fence bigint NOT NULL,"
    " acquired_at timestamptz NOT NULL,"
    " expires_at timestamptz NOT NULL,"
    " waiters_until timestamptz NOT NULL DEFAULT '-infinity',"
    " owner text COLLATE \"C\" NOT NULL DEFAULT '',"
    " request_id text COLLATE \"C\" NOT NULL DEFAULT '',"
    " metadata text COLLATE \"C\" NOT NULL DEFAULT '{}',"
    " PRIMARY KEY (namespace, key)"
    ") WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0,"
    " autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_insert_threshold = -1,"
    " autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0,"
    " autovacuum_analyze_threshold = 20000)";

const char *pg_sql_name(enum pg_statement statement)
{
	return name[statement];
}

/* `quote` around `plain`, doubled inside. NULL when memory is exhausted. */
static char *quoted(const char *plain, char quote)
{
	char *out = malloc(2 * strlen(plain) + 3), *to = out;

	if (!out)
		return NULL;
	*to++ = quote;
	for (; *plain; plain++) {
		if (*plain == quote)
			*to++ = quote;
		*to++ = *plain;
	}
	*to++ = quote;
	*to = 0;
	return out;
}

/* A copy of `template` with `table` for each @. */
static char *filled(const char *template, const char *table)
{
	size_t count = 0, len = strlen(table);
	char *out, *to;

	for (const char *at = template; (at = strchr(at, '@')); at++)
		count++;
	to = out = malloc(strlen(template) + count * len + 1);
	for (const char *at = template; out && *at; at++) {
		if (*at == '@') {
			memcpy(to, table, len);
			to += len;
		} else {
			*to++ = *at;
		}
	}
	if (out)
		*to = 0;
	return out;
}

static char *full_name(const char *schema, const char *table)
{
	char *first = schema ? quoted(schema, '"') : NULL, *second = quoted(table, '"');
	char *out = NULL;

	if (second && (first || !schema) &&
	    asprintf(&out, "%s%s%s", first ? first : "", first ? "." : "", second) < 0)
		out = NULL;
	free(first);
	free(second);
	return out;
}

static bool fill(struct pg_sql *sql, const char *schema, const char *table)
{
	bool whole;

	sql->regclass = quoted(table, '\'');
	sql->table = filled(table_text, table);
	whole = sql->regclass && sql->table;
	for (int i = 0; i < PG_STATEMENTS; i++)
		whole = (sql->text[i] = filled(text[i], table)) && whole;
	if (schema) {
		char *name_quoted = quoted(schema, '"');

		if (!name_quoted ||
		    asprintf(&sql->schema, "CREATE SCHEMA IF NOT EXISTS %s", name_quoted) < 0)
			sql->schema = NULL;
		free(name_quoted);
	}
	return whole && (sql->schema || !schema);
}

struct pg_sql *pg_sql_make(const char *schema, const char *table)
{
	struct pg_sql *sql = calloc(1, sizeof *sql);
	char *whole = full_name(schema, table);

	if (sql && (!whole || !fill(sql, schema, whole))) {
		pg_sql_free(sql);
		sql = NULL;
	}
	free(whole);
	return sql;
}

void pg_sql_free(struct pg_sql *sql)
{
	if (!sql)
		return;
	for (int i = 0; i < PG_STATEMENTS; i++)
		free(sql->text[i]);
	free(sql->regclass);
	free(sql->schema);
	free(sql->table);
	free(sql);
}
