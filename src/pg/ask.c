/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "base/clock.h"
#include "pg/ask.h"

bool pg_ask_time_left(const struct pg_ask *ask)
{
	return clock_boot_us() < ask->deadline_us;
}

/* Waits until the connection has something to read. */
static bool wait_for(const struct pg_ask *ask)
{
	struct pollfd fds[] = {{.fd = PQsocket(ask->pg), .events = POLLIN},
			       {.fd = ask->stop, .events = POLLIN}};
	int64_t left = ask->deadline_us - clock_boot_us();

	return left > 0 && poll(fds, 2, (int)((left + 999) / 1000)) > 0 && fds[1].revents == 0;
}

/* The last result. The statements are small enough for any socket's buffer. */
static PGresult *answer(const struct pg_ask *ask)
{
	PGresult *last = NULL, *result;

	for (;;) {
		while (PQisBusy(ask->pg)) {
			if (!wait_for(ask) || !PQconsumeInput(ask->pg)) {
				PQclear(last);
				return NULL;
			}
		}
		result = PQgetResult(ask->pg);
		if (!result)
			return last;
		PQclear(last);
		last = result;
	}
}

static PGresult *judged(PGresult *result)
{
	ExecStatusType status = PQresultStatus(result);

	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
		return result;
	PQclear(result);
	return NULL;
}

PGresult *pg_ask(struct pg_ask *ask, const char *text, int count, const char *const *param)
{
	if (!PQsendQueryParams(ask->pg, text, count, NULL, param, NULL, NULL, 1))
		return NULL;
	return judged(answer(ask));
}

bool pg_ask_done(struct pg_ask *ask, const char *text)
{
	PGresult *result = pg_ask(ask, text, 0, NULL);
	bool done = result != NULL;

	PQclear(result);
	return done;
}

bool pg_ask_prepare(struct pg_ask *ask, const char *name, const char *text)
{
	PGresult *result;
	bool done;

	if (!PQsendPrepare(ask->pg, name, text, 0, NULL))
		return false;
	result = judged(answer(ask));
	done = result != NULL;
	PQclear(result);
	return done;
}
