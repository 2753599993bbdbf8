/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "pg/barrier.h"
#include "pg/engine.h"
#include "pg/wait.h"

/* More in flight on one connection adds latency, not throughput. */
enum { DEPTH = 32 };

/* Statements in one transaction; and how many such are in flight on a connection while others
 * wait to form the next: one runs, one is there when it ends. */
enum { GROUP_MOST = 16, GROUPS = 2 };

#define STUCK_US       (20 * CLOCK_MILLI)
#define PAUSE_LEAST_US (50 * CLOCK_MILLI)
#define PAUSE_MOST_US  CLOCK_SECOND
#define LIVED_LONG_US  (5 * CLOCK_SECOND)

void pg_link_up(struct pg_engine *engine, struct pg_link *link, struct pg_session *session)
{
	struct pg_ticket *ticket;

	link->pg = session->pg;
	link->self = session->self;
	link->server_start_us = session->server_start_us;
	link->up_us = link->heard_us = engine->now;
	link->want_write = false;
	link->reading = NULL;
	link->groups = 0;
	while ((ticket = pg_tickets_take(&link->limbo)))
		ticket->kind->answer(engine, ticket, PG_LOST, NULL);
}

/* A connection that was lost soon after it was made is not made again at once. */
static void plan_retry(struct pg_engine *engine, struct pg_link *link)
{
	if (engine->now - link->up_us > LIVED_LONG_US)
		link->pause_us = 0;
	link->retry_us = engine->now + link->pause_us;
	link->pause_us = link->pause_us ? 2 * link->pause_us : PAUSE_LEAST_US;
	if (link->pause_us > PAUSE_MOST_US)
		link->pause_us = PAUSE_MOST_US;
}

static void lose_flying(struct pg_engine *engine, struct pg_link *link)
{
	struct pg_tickets lost = {0};
	struct pg_ticket *ticket;

	while ((ticket = pg_tickets_take(&link->flying)))
		pg_tickets_add(&lost, ticket);
	while ((ticket = pg_tickets_take(&lost))) {
		ticket->flying = false;
		PQclear(ticket->result);
		ticket->result = NULL;
		if (ticket->kind->grants)
			pg_tickets_add(&link->limbo, ticket);
		else
			ticket->kind->answer(engine, ticket, PG_LOST, NULL);
	}
}

void pg_link_drop(struct pg_engine *engine, struct pg_link *link, const char *why)
{
	char text[DRIVER_WHY];

	if (!link->pg)
		return;
	if (why) {
		pg_failure_text(text, why, engine->shared->password);
		log_warn("connection to the database lost",
			 LOG_TEXT("backend", engine->shared->backend), LOG_TEXT("why", text));
		snprintf(engine->why, sizeof engine->why, "%s", text);
	}
	PQfinish(link->pg);
	link->pg = NULL;
	plan_retry(engine, link);
	lose_flying(engine, link);
	if (link->role != PG_ROLE_BARRIER)
		return;
	/* What the others have answered since may be lost in a crash of the server. They are only
	 * used beside a barrier that is older than they are, and lives. */
	pg_barrier_lost(engine);
	for (unsigned i = 0; i < engine->works; i++)
		pg_link_drop(engine, &engine->link[i], NULL);
}

/* False: the link is down. */
static bool put(struct pg_engine *engine, struct pg_link *link, struct pg_ticket *ticket)
{
	ticket->link = link->index;
	ticket->sent_us = clock_boot_us();
	ticket->flying = true;
	ticket->ends = false;
	pg_tickets_add(&link->flying, ticket);
	if (ticket->kind->send(engine, ticket, link->pg))
		return true;
	pg_link_drop(engine, link, PQerrorMessage(link->pg));
	return false;
}

static void seal(struct pg_engine *engine, struct pg_link *link)
{
	link->flying.last->ends = true;
	link->groups++;
	link->want_write = true;
	if (PQpipelineSync(link->pg) != 1)
		pg_link_drop(engine, link, PQerrorMessage(link->pg));
}

void pg_link_send(struct pg_engine *engine, struct pg_link *link, struct pg_ticket *ticket)
{
	if (put(engine, link, ticket))
		seal(engine, link);
}

/* An equal share of what is queued, so that all connections work. */
static unsigned share(const struct pg_engine *engine, const struct pg_link *link,
		      const struct pg_tickets *list)
{
	unsigned links = engine->works - (engine->works > 1 && list->first->kind->grants);
	unsigned most = (list->count + links - 1) / links;

	if (most > GROUP_MOST)
		most = GROUP_MOST;
	return most > DEPTH - link->flying.count ? DEPTH - link->flying.count : most;
}

static bool joins(const struct pg_ticket *ticket)
{
	return ticket && ticket->kind->joins && !ticket->alone;
}

void pg_link_send_group(struct pg_engine *engine, struct pg_link *link, struct pg_tickets *list)
{
	struct pg_ticket *group[GROUP_MOST];
	unsigned most = share(engine, link, list), count = 0;

	do {
		struct pg_ticket *ticket = pg_tickets_take(list);
		unsigned at = count++;

		/* In the order of their keys, or groups of two hosts could wait for each other;
		 * those of one key as they came. */
		for (; at > 0 && group[at - 1]->order > ticket->order; at--)
			group[at] = group[at - 1];
		group[at] = ticket;
	} while (joins(group[0]) && joins(list->first) && count < most);
	for (unsigned i = 0; i < count; i++) {
		if (!link->pg) /* lost under the first of them: to another */
			pg_engine_send(engine, group[i], true);
		else
			put(engine, link, group[i]);
	}
	if (link->pg)
		seal(engine, link);
}

/* What went wrong in the transaction that ends; NULL = nothing. */
static PGresult *failure_in(const struct pg_ticket *ticket, enum pg_verdict *verdict)
{
	for (;; ticket = ticket->next) {
		PGresult *result = ticket->result;

		*verdict = result ? pg_failure_judge(result) : PG_LOST;
		if (*verdict != PG_DONE)
			return result;
		if (ticket->ends)
			return NULL;
	}
}

/* The first in flight, and those in its transaction, are answered. False: the link is down. */
static bool answered(struct pg_engine *engine, struct pg_link *link)
{
	enum pg_verdict verdict;
	const PGresult *failure = failure_in(link->flying.first, &verdict);
	bool single = link->flying.first->ends, last;

	if (verdict == PG_LOST) {
		pg_link_drop(engine, link,
			     failure ? PQresultErrorMessage(failure) : "an answer without result");
		return false;
	}
	link->groups--;
	link->reading = NULL;
	do {
		struct pg_ticket *ticket = link->flying.first;
		PGresult *result = ticket->result;

		last = ticket->ends;
		pg_tickets_remove(ticket);
		ticket->result = NULL;
		ticket->flying = false;
		ticket->alone = verdict != PG_DONE;
		/* All was rolled back. Alone it will show whose fault it was. */
		if (verdict != PG_DONE && !single)
			ticket->kind->answer(engine, ticket, PG_AGAIN, NULL);
		else
			ticket->kind->answer(engine, ticket, verdict, result);
		PQclear(result);
	} while (!last && link->pg);
	return link->pg != NULL;
}

/* An error counts more than rows before it: the commit may fail when all is done. */
static void keep(struct pg_link *link, PGresult *result)
{
	struct pg_ticket *ticket = link->reading ? link->reading : link->flying.first;

	link->reading = ticket;
	if (ticket->result && pg_failure_judge(ticket->result) != PG_DONE) {
		PQclear(result);
		return;
	}
	PQclear(ticket->result);
	ticket->result = result;
}

/* The results of one statement are complete. */
static void turn_page(struct pg_link *link)
{
	if (link->reading && link->reading->result && !link->reading->ends)
		link->reading = link->reading->next;
}

static void read_notifications(struct pg_engine *engine, struct pg_link *link)
{
	PGnotify *note;

	while ((note = PQnotifies(link->pg))) {
		pg_wait_notified(engine, note->extra);
		PQfreemem(note);
	}
}

void pg_link_read(struct pg_engine *engine, struct pg_link *link)
{
	if (!PQconsumeInput(link->pg)) {
		pg_link_drop(engine, link, PQerrorMessage(link->pg));
		return;
	}
	link->heard_us = clock_boot_us();
	if (link->role == PG_ROLE_WORK)
		engine->heard_us = link->heard_us;
	read_notifications(engine, link);
	while (link->flying.count && !PQisBusy(link->pg)) {
		PGresult *result = PQgetResult(link->pg);

		if (!result) {
			turn_page(link);
			continue;
		}
		if (PQresultStatus(result) != PGRES_PIPELINE_SYNC) {
			keep(link, result);
			if (PQstatus(link->pg) == CONNECTION_OK)
				continue;
			pg_link_drop(engine, link, PQerrorMessage(link->pg));
			return;
		}
		PQclear(result);
		if (!answered(engine, link))
			return;
	}
	read_notifications(engine, link);
}

void pg_link_flush(struct pg_engine *engine, struct pg_link *link)
{
	int left = PQflush(link->pg);

	if (left < 0)
		pg_link_drop(engine, link, PQerrorMessage(link->pg));
	else
		link->want_write = left > 0;
}

int64_t pg_link_silent_since(const struct pg_link *link)
{
	const struct pg_ticket *first = link->flying.first;

	if (!link->pg || !first)
		return CLOCK_NEVER;
	return first->sent_us > link->heard_us ? first->sent_us : link->heard_us;
}

static bool others_up(const struct pg_engine *engine)
{
	for (unsigned i = 1; i < engine->works; i++)
		if (engine->link[i].pg)
			return true;
	return false;
}

/* The connection with the least before it; one that got stuck behind somebody's lock only when
 * there is no other. Grants leave the first connection to those who hold leases already. */
struct pg_link *pg_link_pick(struct pg_engine *engine, const struct pg_ticket_kind *kind,
			     int64_t now)
{
	unsigned first = kind->grants && others_up(engine) ? 1 : 0, least = 2 * DEPTH;
	struct pg_link *best = NULL;

	for (unsigned i = first; i < engine->works; i++) {
		struct pg_link *link = &engine->link[i];
		unsigned load = link->flying.count;

		if (!link->pg || load >= DEPTH || (kind->joins && link->groups >= GROUPS))
			continue;
		if (load && now - pg_link_silent_since(link) > STUCK_US)
			load += DEPTH;
		if (load < least) {
			least = load;
			best = link;
		}
	}
	return best;
}
