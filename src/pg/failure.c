/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "pg/failure.h"

struct rule {
	const char *state; /* SQLSTATE, or its class */
	enum pg_verdict verdict;
};

/* The first that matches. */
static const struct rule rules[] = {
    {"40001", PG_AGAIN}, /* serialization failure */
    {"40P01", PG_AGAIN}, /* deadlock */
    {"55P03", PG_AGAIN}, /* lock timeout */
    {"57014", PG_AGAIN}, /* statement timeout, or cancelled by an operator */
    {"25006", PG_LOST},	 /* read-only: the primary became a standby */
    {"25P0", PG_LOST},	 /* a transaction that is not ours to end */
    {"57P", PG_LOST},	 /* shutting down, crashed, starting */
    {"08", PG_LOST},	 /* connection */
    {"26", PG_LOST},	 /* the statement is no longer prepared */
    {"0A", PG_LOST},	 /* the plan's result type changed: the table did */
    {"42", PG_LOST},	 /* table or right gone: say so, when connecting again */
    {"3F", PG_LOST},	 /* schema gone */
    {"XX", PG_LOST},
};

enum pg_verdict pg_failure_judge(const PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);
	const char *state;

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return PG_DONE;
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	if (!state)
		return PG_LOST;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (strncmp(state, rules[i].state, strlen(rules[i].state)) == 0)
			return rules[i].verdict;
	return PG_REFUSED;
}

void pg_failure_text(char *why, const char *message, const char *password)
{
	size_t len = strcspn(message, "\r\n"), used = 0;
	size_t secret = password ? strlen(password) : 0;

	for (size_t i = 0; i < len && used < DRIVER_WHY - 4;) {
		if (secret && strncmp(message + i, password, secret) == 0) {
			memcpy(why + used, "***", 3);
			used += 3;
			i += secret;
		} else {
			why[used++] = message[i++];
		}
	}
	why[used] = 0;
}
