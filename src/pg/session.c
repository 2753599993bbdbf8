/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "pg/ask.h"
#include "pg/failure.h"
#include "pg/schema.h"
#include "pg/session.h"
#include "pg/sql.h"
#include "pg/value.h"

enum { SETTINGS_SIZE = 1536, NUMBER_SIZE = 24 };

/* Only those that this version knows. enable_seqscan: a plan that was made while the table was
 * small must not be kept when it is not. */
static const char settings_text[] =
    "SELECT set_config(s.name, v.value, false) FROM pg_settings s JOIN (VALUES"
    " ('default_transaction_isolation', 'read committed'),"
    " ('default_transaction_read_only', 'off'),"
    " ('default_transaction_deferrable', 'off'),"
    " ('timezone', 'UTC'),"
    " ('jit', 'off'),"
    " ('plan_cache_mode', 'force_generic_plan'),"
    " ('enable_seqscan', '%s'),"
    " ('enable_bitmapscan', 'off'),"
    " ('row_security', 'on'),"
    " ('lock_timeout', '%d'),"
    " ('statement_timeout', '%lld'),"
    " ('transaction_timeout', '0'),"
    " ('idle_session_timeout', '0'),"
    " ('idle_in_transaction_session_timeout', '5000'),"
    " ('synchronous_commit', '%s')"
    ") v(name, value) ON s.name = v.name"
    " WHERE NOT (v.name = 'synchronous_commit' AND v.value = 'on' AND"
    " s.setting IN ('remote_write', 'remote_apply'))";

static const char facts_text[] =
    "SELECT pg_backend_pid(), (SELECT backend_start FROM pg_stat_activity"
    " WHERE pid = pg_backend_pid()), pg_postmaster_start_time(), pg_is_in_recovery(),"
    " current_setting('server_encoding') = 'UTF8',"
    " current_setting('transaction_isolation') = 'read committed'";

/* A row that somebody else locks is tried again; it must not hold up the statements behind. */
enum { LOCK_TIMEOUT_MS = 250 };

static bool fail(struct pg_session *session, const char *text)
{
	snprintf(session->why, sizeof session->why, "%s", text);
	return false;
}

static bool fail_as(const struct driver_shared *shared, struct pg_session *session)
{
	const char *text = PQerrorMessage(session->pg);

	pg_failure_text(session->why, text[0] ? text : "no answer", shared->password);
	return false;
}

/* libpq would write them to stderr. */
static void hush(void *arg, const PGresult *notice)
{
	(void)arg, (void)notice;
}

static bool connect_to(const struct driver_shared *shared, struct pg_session *session)
{
	char seconds[NUMBER_SIZE], patience[NUMBER_SIZE];
	const char *const name[] = {"dbname",
				    "fallback_application_name",
				    "client_encoding",
				    "target_session_attrs",
				    "connect_timeout",
				    "tcp_user_timeout",
				    NULL};
	const char *const value[] = {shared->dsn, "leased", "UTF8", "primary",
				     seconds,	  patience, NULL};

	/* libpq takes less than 2 s as 2 s. */
	snprintf(seconds, sizeof seconds, "%lld",
		 (long long)((shared->timeout_us + CLOCK_SECOND - 1) / CLOCK_SECOND));
	snprintf(patience, sizeof patience, "%lld", (long long)(shared->timeout_us / CLOCK_MILLI));
	session->pg = PQconnectdbParams(name, value, 1);
	if (!session->pg)
		return fail(session, "out of memory");
	return PQstatus(session->pg) == CONNECTION_OK ? true : fail_as(shared, session);
}

static bool set_up(const struct driver_shared *shared, enum pg_role role, struct pg_ask *ask)
{
	bool later =
	    role == PG_ROLE_WATCH || (role == PG_ROLE_WORK && shared->durability != PG_COMMIT);
	char text[SETTINGS_SIZE];

	snprintf(text, sizeof text, settings_text, role == PG_ROLE_WATCH ? "on" : "off",
		 LOCK_TIMEOUT_MS, (long long)(shared->timeout_us / 2 / CLOCK_MILLI),
		 later ? "off" : "on");
	/* First what could cut the rest short. */
	if (!pg_ask_done(ask, "SET statement_timeout = 0") || !pg_ask_done(ask, text))
		return false;
	/* Since version 14, and not on every system. */
	pg_ask_done(ask, "SELECT set_config(name, '500', false) FROM pg_settings"
			 " WHERE name = 'client_connection_check_interval'");
	return true;
}

static bool judge(struct pg_session *session, struct pg_ask *ask)
{
	PGresult *result = pg_ask(ask, facts_text, 0, NULL);
	bool whole = result && PQntuples(result) == 1;
	bool standby = true, utf8 = false, committed = false;

	if (whole) {
		session->self.pid = pg_value_int(result, 0, 0);
		session->self.start_us = pg_value_time(result, 0, 1);
		session->server_start_us = pg_value_time(result, 0, 2);
		standby = PQgetvalue(result, 0, 3)[0];
		utf8 = PQgetvalue(result, 0, 4)[0];
		committed = PQgetvalue(result, 0, 5)[0];
	}
	PQclear(result);
	if (!whole)
		return false;
	if (session->self.pid != PQbackendPID(session->pg))
		return fail(session, "the connection goes through a pooler (such as pgbouncer), "
				     "which mixes sessions: name the database server itself");
	if (standby)
		return fail(session, "the server is a read-only standby");
	if (!utf8)
		return fail(session, "the database is not encoded in UTF8");
	return committed || fail(session, "the isolation level cannot be set to read committed");
}

/* Until it is gone it may still grant what was asked of it. A pid is not enough: they come again.
 * An error is no reason to go without: then the session is not used. */
static bool end_past(const struct pg_past *past, struct pg_session *session, struct pg_ask *ask)
{
	char text[256];
	int left = 1;

	if (past->pid == 0 || past->pid == session->self.pid)
		return true;
	snprintf(text, sizeof text,
		 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %d AND"
		 " backend_start = timestamptz 'epoch' + interval '1 us' * %lld::bigint",
		 past->pid, (long long)past->start_us);
	while (left && pg_ask_time_left(ask)) {
		PGresult *result = pg_ask(ask, text, 0, NULL);

		if (!result)
			return false;
		left = PQntuples(result);
		PQclear(result);
		if (left && poll(&(struct pollfd){.fd = ask->stop, .events = POLLIN}, 1, 5) != 0)
			return false;
	}
	return left == 0 || fail(session, "a session of before does not end");
}

static bool prepare(const struct driver_shared *shared, enum pg_role role, struct pg_ask *ask)
{
	static const unsigned char wanted[PG_STATEMENTS] = {
	    [PG_ACQUIRE] = 1 << PG_ROLE_WORK,
	    [PG_ATTEMPT] = 1 << PG_ROLE_WORK,
	    [PG_RENEW] = 1 << PG_ROLE_WORK,
	    [PG_RELEASE] = 1 << PG_ROLE_WORK,
	    [PG_INSPECT] = 1 << PG_ROLE_WORK,
	    [PG_LIST] = 1 << PG_ROLE_WORK,
	    [PG_LOOK] = 1 << PG_ROLE_WATCH | 1 << PG_ROLE_WORK,
	    [PG_REAP] = 1 << PG_ROLE_WATCH,
	    [PG_FLUSH] = 1 << PG_ROLE_BARRIER,
	    [PG_PING] = 1 << PG_ROLE_WORK | 1 << PG_ROLE_WATCH | 1 << PG_ROLE_BARRIER,
	};

	for (int i = 0; i < PG_STATEMENTS; i++)
		if ((wanted[i] & 1 << role) &&
		    !pg_ask_prepare(ask, pg_sql_name((enum pg_statement)i), shared->sql->text[i]))
			return false;
	if (role == PG_ROLE_BARRIER) /* a role may lack the right: now is the time to say so */
		return pg_ask_done(ask, shared->sql->text[PG_FLUSH]);
	return role != PG_ROLE_WATCH || pg_ask_done(ask, "LISTEN leased");
}

static bool open_session(const struct driver_shared *shared, enum pg_role role,
			 const struct pg_past *past, int stop, struct pg_session *session)
{
	struct pg_ask ask = {.stop = stop, .deadline_us = clock_boot_us() + shared->timeout_us};

	if (!connect_to(shared, session))
		return false;
	PQsetNoticeReceiver(session->pg, hush, NULL);
	ask.pg = session->pg;
	ask.deadline_us = clock_boot_us() + shared->timeout_us;
	if (set_up(shared, role, &ask) && judge(session, &ask) && end_past(past, session, &ask) &&
	    (role == PG_ROLE_BARRIER || pg_schema_ensure(shared, &ask, session->why)) &&
	    prepare(shared, role, &ask))
		return PQsetnonblocking(session->pg, 1) == 0 && PQenterPipelineMode(session->pg)
			   ? true
			   : fail_as(shared, session);
	return session->why[0] ? false : fail_as(shared, session);
}

void pg_session_open(const struct driver_shared *shared, enum pg_role role,
		     const struct pg_past *past, int stop, struct pg_session *session)
{
	memset(session, 0, sizeof *session);
	if (open_session(shared, role, past, stop, session))
		return;
	PQfinish(session->pg);
	session->pg = NULL;
}
