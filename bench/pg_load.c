/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-pg: load on the Postgres driver, without gRPC.
 *
 *   bench-pg sql                           the driver's acquire and release, one a line
 *   bench-pg DSN pairs CONNECTIONS DURABILITY CALLERS SECONDS|0 PAIRS KEYS
 *   bench-pg DSN refused CONNECTIONS DURABILITY CALLERS SECONDS
 *   bench-pg DSN handoff DURABILITY SECONDS
 *   bench-pg DSN waiters WAITERS KEYS SECONDS
 *
 * Prints one line of NAME=VALUE. CALLERS are calls under way at once, all of one thread. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/die.h"
#include "bench/histogram.h"
#include "bench/pg_host.h"
#include "pg/sql.h"

enum { CALLERS_MAX = 4096 };

static struct pg_host host, other;
static struct pg_player player[CALLERS_MAX], holder[CALLERS_MAX];
static struct histogram latency;
static int64_t end_us;
static uint64_t finished, wanted;
static unsigned keys, callers;

static bool over(void)
{
	return wanted ? finished >= wanted : clock_boot_us() >= end_us;
}

static unsigned number(const char *text, unsigned most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text || value > most)
		die("%s is no number up to %u", text, most);
	return (unsigned)value;
}

static void begin(const char *seconds)
{
	end_us = clock_boot_us() + (int64_t)(strtod(seconds, NULL) * CLOCK_SECOND);
}

static unsigned busy(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < callers; i++)
		count += player[i].busy;
	return count;
}

/* Until every player has stopped by itself. */
static void finish(void)
{
	while (!over())
		pg_host_turn(&host, wanted ? CLOCK_NEVER : end_us);
	while (busy())
		pg_host_turn(&host, clock_boot_us() + CLOCK_MILLI);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static void acquired(struct pg_player *one);

/* Each player goes round keys of its own. */
static void next_pair(struct pg_player *one)
{
	unsigned self = (unsigned)(one - player), own = keys / callers, at = number(one->key, ~0U);

	at = own < 2 ? self : self * own + (at + 1) % own;
	snprintf(one->key, sizeof one->key, "%u", at);
	one->then = acquired;
	pg_player_acquire(one, 0);
}

static void released(struct pg_player *one)
{
	if (one->op.answer.result != ERR_OK || !one->op.answer.existed)
		die("a release failed");
	finished++;
	histogram_add(&latency, (uint64_t)(clock_boot_us() - one->begun_us) * 1000);
	if (!over())
		next_pair(one);
}

static void acquired(struct pg_player *one)
{
	if (one->op.answer.result != ERR_OK)
		die("an acquire failed with %d", (int)one->op.answer.result);
	one->then = released;
	pg_player_release(one);
}

static void pairs(char **argument)
{
	int64_t from;

	pg_host_open(&host, argument[0], number(argument[1], 16), argument[2]);
	callers = number(argument[3], CALLERS_MAX);
	wanted = number(argument[5], 1000000000);
	keys = number(argument[6], 1000000000);
	begin(argument[4]);
	from = clock_boot_us();
	for (unsigned i = 0; i < callers; i++) {
		pg_player_init(&player[i], &host, "0");
		next_pair(&player[i]);
	}
	finish();
	printf("pairs=%llu rate=%.0f release_p50_us=%.0f\n", (unsigned long long)finished,
	       (double)finished * CLOCK_SECOND / (double)(clock_boot_us() - from),
	       (double)histogram_percentile(&latency, 0.5) / 1e3);
}

/* --- refusals --------------------------------------------------------------------------------- */

static void granted(struct pg_player *one)
{
	if (one->op.answer.result != ERR_OK)
		die("an acquire failed with %d", (int)one->op.answer.result);
}

/* As leases of another host: this one knows nothing of them. */
static void hold_keys(unsigned count)
{
	bool open = true;

	for (unsigned i = 0; i < count; i++) {
		char key[32];

		snprintf(key, sizeof key, "held-%u", i);
		pg_player_init(&holder[i], &other, key);
		holder[i].then = granted;
		pg_player_acquire(&holder[i], 0);
	}
	while (open) {
		pg_host_turn(&other, clock_boot_us() + CLOCK_MILLI);
		open = false;
		for (unsigned i = 0; i < count; i++)
			open = open || holder[i].busy;
	}
}

static void refuse(struct pg_player *one)
{
	if (one->op.answer.result != ERR_HELD)
		die("a held key was not refused");
	finished++;
	if (!over())
		pg_player_acquire(one, 0);
}

static void refused(char **argument)
{
	int64_t from;

	pg_host_open(&other, argument[0], 2, "async");
	pg_host_open(&host, argument[0], number(argument[1], 16), argument[2]);
	callers = number(argument[3], CALLERS_MAX);
	hold_keys(callers);
	/* The driver at the other end measures the log from here to the end. */
	printf("ready=1\n");
	fflush(stdout);
	if (getchar() == EOF)
		die("nobody waits for the result");
	begin(argument[4]);
	from = clock_boot_us();
	for (unsigned i = 0; i < callers; i++) {
		pg_player_init(&player[i], &host, holder[i].key);
		player[i].then = refuse;
		pg_player_acquire(&player[i], 0);
	}
	finish();
	printf("refused=%llu rate=%.0f\n", (unsigned long long)finished,
	       (double)finished * CLOCK_SECOND / (double)(clock_boot_us() - from));
	fflush(stdout);
	(void)getchar();
}

/* --- hand-off --------------------------------------------------------------------------------- */

static void answered(struct pg_player *one)
{
	if (one->op.answer.result != ERR_OK)
		die("a call failed with %d", (int)one->op.answer.result);
}

static void until_idle(struct pg_player *one)
{
	while (one->busy)
		pg_host_turn(one->host, clock_boot_us() + CLOCK_SECOND);
}

/* One holds, the other waits and gets it; then the roles change. */
static void handoff(char **argument)
{
	struct pg_player *has = &player[0], *wants = &player[1];

	pg_host_open(&host, argument[0], 2, argument[1]);
	pg_host_open(&other, argument[0], 2, argument[1]);
	pg_player_init(has, &host, "ball");
	pg_player_init(wants, &other, "ball");
	has->then = wants->then = answered;
	pg_player_acquire(has, 0);
	until_idle(has);
	begin(argument[2]);
	while (!over()) {
		struct pg_player *last = has;
		int64_t quiet = clock_boot_us() + 5 * CLOCK_MILLI, sent;

		pg_player_acquire(wants, 60 * CLOCK_SECOND);
		while (clock_boot_us() < quiet)
			pg_host_turn(wants->host, quiet);
		sent = clock_boot_us();
		pg_player_release(has);
		until_idle(wants);
		histogram_add(&latency, (uint64_t)(clock_boot_us() - sent) * 1000);
		until_idle(has);
		has = wants;
		wants = last;
	}
	pg_player_release(has);
	until_idle(has);
	printf("handoffs=%llu p50_us=%.0f p99_us=%.0f\n", (unsigned long long)latency.total,
	       (double)histogram_percentile(&latency, 0.5) / 1e3,
	       (double)histogram_percentile(&latency, 0.99) / 1e3);
}

/* --- waiters ---------------------------------------------------------------------------------- */

static void waiters(char **argument)
{
	unsigned on = number(argument[2], CALLERS_MAX);

	pg_host_open(&other, argument[0], 2, "async");
	pg_host_open(&host, argument[0], 2, "barrier");
	callers = number(argument[1], CALLERS_MAX);
	hold_keys(on);
	for (unsigned i = 0; i < callers; i++) {
		pg_player_init(&player[i], &host, holder[i % on].key);
		player[i].then = answered;
		pg_player_acquire(&player[i], 3600 * CLOCK_SECOND);
	}
	begin("2"); /* all are known and have their marks */
	while (!over())
		pg_host_turn(&host, end_us);
	printf("ready=1\n");
	fflush(stdout);
	begin(argument[3]);
	while (!over())
		pg_host_turn(&host, end_us);
	printf("waiting=%u\n", busy());
	fflush(stdout);
	(void)getchar();
	exit(0); /* the waits need no end of their own */
}

static void show_sql(void)
{
	struct pg_sql *sql = pg_sql_make(NULL, "leases");

	if (!sql)
		die("out of memory");
	printf("%s\n%s\n", sql->text[PG_ACQUIRE], sql->text[PG_RELEASE]);
	pg_sql_free(sql);
}

int main(int count, char **argument)
{
	if (count == 2 && strcmp(argument[1], "sql") == 0) {
		show_sql();
		return 0;
	}
	if (count < 5)
		die("see the head of bench/pg_load.c");
	const char *what = argument[2];

	argument[2] = argument[1];
	if (strcmp(what, "pairs") == 0 && count == 9)
		pairs(argument + 2);
	else if (strcmp(what, "refused") == 0 && count == 7)
		refused(argument + 2);
	else if (strcmp(what, "handoff") == 0 && count == 5)
		handoff(argument + 2);
	else if (strcmp(what, "waiters") == 0 && count == 6)
		waiters(argument + 2);
	else
		die("see the head of bench/pg_load.c");
	return 0;
}
