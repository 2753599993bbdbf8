/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "pg/barrier.h"
#include "pg/call.h"
#include "pg/engine.h"
#include "pg/reap.h"
#include "pg/sql.h"
#include "pg/value.h"
#include "pg/wait.h"

/* Before the same statement is tried again. */
#define LATER_US       (20 * CLOCK_MILLI)
#define PAUSE_MOST_US  CLOCK_SECOND
#define PAUSE_LEAST_US (50 * CLOCK_MILLI)
#define FIRST_REAP_US  (10 * CLOCK_SECOND)
#define STOP_US	       CLOCK_SECOND
#define IDLE_US	       (60 * CLOCK_SECOND)

void pg_engine_send(struct pg_engine *engine, struct pg_ticket *ticket, bool soon)
{
	if (soon) {
		pg_tickets_add(ticket->kind->grants ? &engine->grants : &engine->urgent, ticket);
		return;
	}
	ticket->sent_us = clock_boot_us() + LATER_US;
	pg_tickets_add(&engine->later, ticket);
}

/* --- pings: a dead connection is seen before somebody needs it -------------------------------- */

static bool ping_send(struct pg_engine *engine, struct pg_ticket *ticket, PGconn *pg)
{
	struct pg_params params = {0};

	(void)engine, (void)ticket;
	return pg_params_send(&params, pg, pg_sql_name(PG_PING));
}

static void ping_answer(struct pg_engine *engine, struct pg_ticket *ticket, enum pg_verdict verdict,
			const PGresult *result)
{
	(void)engine, (void)ticket, (void)verdict, (void)result;
}

static const struct pg_ticket_kind ping_kind = {.send = ping_send, .answer = ping_answer};

/* --- connections ------------------------------------------------------------------------------ */

static bool barrier_up(const struct pg_engine *engine)
{
	return engine->shared->durability != PG_BARRIER || engine->link[engine->barrier].pg;
}

static void refused(struct pg_engine *engine, struct pg_link *link, const char *why)
{
	/* Without the barrier no other is to be had: its own failure says why. */
	bool news = link->role != PG_ROLE_WORK || barrier_up(engine);

	if (news && (strcmp(engine->why, why) != 0 || !engine->told_down))
		log_warn("cannot connect to the database",
			 LOG_TEXT("backend", engine->shared->backend), LOG_TEXT("why", why));
	engine->told_down = true;
	snprintf(engine->why, sizeof engine->why, "%s", why);
	link->pause_us = link->pause_us ? 2 * link->pause_us : PAUSE_LEAST_US;
	if (link->pause_us > PAUSE_MOST_US)
		link->pause_us = PAUSE_MOST_US;
	link->retry_us = engine->now + link->pause_us;
}

/* A work connection is of use only beside a barrier that was there before it, in the same life of
 * the same server: only then does the barrier speak for its commits. */
static const char *unfit(const struct pg_engine *engine, const struct pg_link *link,
			 const struct pg_session *session)
{
	if (!session->pg)
		return session->why;
	if (link->role != PG_ROLE_WORK || engine->shared->durability != PG_BARRIER)
		return NULL;
	if (!engine->link[engine->barrier].pg)
		return "the connection that makes durable is lost";
	if (engine->link[engine->barrier].server_start_us != session->server_start_us)
		return "connections lead to different servers";
	return NULL;
}

static void take_session(struct pg_engine *engine)
{
	struct pg_session session;
	struct pg_link *link;
	const char *why;
	unsigned index;

	if (!pg_connector_take(&engine->connector, &index, &session))
		return;
	link = &engine->link[index];
	link->asked = false;
	why = unfit(engine, link, &session);
	if (!why) {
		pg_link_up(engine, link, &session);
		return;
	}
	PQfinish(session.pg);
	refused(engine, link, why);
}

static void order_sessions(struct pg_engine *engine)
{
	for (unsigned i = 0; i < engine->links; i++) {
		struct pg_link *link = &engine->link[i];

		if (link->pg || link->asked || engine->now < link->retry_us ||
		    (link->role == PG_ROLE_WORK && !barrier_up(engine)))
			continue;
		link->asked = true;
		pg_connector_order(&engine->connector, i, link->role, &link->self);
	}
}

static void judge_up(struct pg_engine *engine)
{
	bool up = false;

	for (unsigned i = 0; i < engine->works; i++)
		up = up || engine->link[i].pg;
	up = up && barrier_up(engine);
	if (up && !engine->up) {
		log_info("database is there", LOG_TEXT("backend", engine->shared->backend));
		engine->told_down = false;
		engine->heard_us = engine->now;
	}
	engine->up = up;
	atomic_store(&engine->mail->up, up);
	if (!up && engine->waiting && engine->now - engine->heard_us > engine->shared->timeout_us)
		pg_wait_end_all(engine, ERR_BACKEND_DOWN);
}

/* A connection on which nothing is heard is asked; one that owes an answer for too long is dropped,
 * so that an outage is known after the timeout at most. */
static void watch_silence(struct pg_engine *engine)
{
	int64_t timeout = engine->shared->timeout_us;

	for (unsigned i = 0; i < engine->links; i++) {
		struct pg_link *link = &engine->link[i];
		int64_t since = pg_link_silent_since(link);

		if (!link->pg)
			continue;
		if (since != CLOCK_NEVER && engine->now - since > timeout / 4 * 3)
			pg_link_drop(engine, link, "the database does not answer");
		else if (since == CLOCK_NEVER && engine->now - link->heard_us > timeout / 4)
			pg_link_send(engine, link, &engine->ping[i].ticket);
	}
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Everything unfinished ends; what it may have taken is given back. */
static void begin_stop(struct pg_engine *engine)
{
	struct pg_timer *timer;

	engine->stopping = engine->draining = true;
	engine->stop_us = engine->now + STOP_US;
	while ((timer = pg_timers_take(&engine->timers, CLOCK_NEVER)))
		if (timer->due == pg_call_due)
			pg_call_answer(engine, pg_call_of_timer(timer), ERR_CANCELLED);
}

static void take_mail(struct pg_engine *engine)
{
	struct pg_delivery mail;
	struct pg_call *next;

	pg_mail_take(engine->mail, &mail);
	if (mail.drain && !engine->draining) {
		engine->draining = true;
		pg_wait_end_all(engine, ERR_DRAINING);
	}
	for (struct pg_call *call = mail.submitted; call; call = next) {
		next = call->next_submitted;
		pg_call_start(engine, call);
	}
	for (struct pg_call *call = mail.cancelled; call; call = next) {
		next = call->next_cancelled;
		pg_call_cancel(engine, call);
	}
	if (mail.stop && !engine->stopping)
		begin_stop(engine);
}

static void run_due(struct pg_engine *engine)
{
	struct pg_timer *timer;

	while ((timer = pg_timers_take(&engine->timers, engine->now)))
		timer->due(engine, timer);
	while (engine->later.first && engine->later.first->sent_us <= engine->now)
		pg_engine_send(engine, pg_tickets_take(&engine->later), true);
}

static void send_from(struct pg_engine *engine, struct pg_tickets *list)
{
	while (engine->up && list->first) {
		struct pg_link *link = pg_link_pick(engine, list->first->kind, clock_boot_us());

		if (!link)
			return;
		pg_link_send_group(engine, link, list);
	}
}

static void send_all(struct pg_engine *engine)
{
	send_from(engine, &engine->urgent);
	send_from(engine, &engine->grants);
	if (engine->up)
		pg_look_turn(engine);
	pg_reap_turn(engine);
	pg_barrier_turn(engine);
	for (unsigned i = 0; i < engine->links; i++)
		if (engine->link[i].pg && engine->link[i].want_write)
			pg_link_flush(engine, &engine->link[i]);
}

static void mail_answers(struct pg_engine *engine)
{
	if (!engine->answered)
		return;
	pg_mail_answer(engine->mail, engine->answered, engine->answered_end);
	engine->answered = NULL;
	engine->answered_end = &engine->answered;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t next_turn(const struct pg_engine *engine)
{
	int64_t timeout = engine->shared->timeout_us;
	int64_t at = earlier(pg_timers_next(&engine->timers), engine->now + IDLE_US);

	if (engine->later.first)
		at = earlier(at, engine->later.first->sent_us);
	if (engine->keys.count && !engine->look.ticket.flying)
		at = earlier(at, engine->look.due_us);
	if (engine->slot == 0 && !engine->reap.ticket.flying && engine->link[engine->watch].pg)
		at = earlier(at, engine->reap.due_us);
	if (engine->undurable.count && !engine->flush.ticket.flying)
		at = earlier(at, engine->flush.due_us);
	if (engine->waiting && !engine->up)
		at = earlier(at, engine->heard_us + timeout + 1);
	if (engine->stopping) /* only for what is still to be taken back */
		at = engine->undoing && engine->up ? earlier(at, engine->stop_us) : engine->now;
	for (unsigned i = 0; i < engine->links; i++) {
		const struct pg_link *link = &engine->link[i];
		int64_t since = pg_link_silent_since(link);

		if (!link->pg && !link->asked && (link->role != PG_ROLE_WORK || barrier_up(engine)))
			at = earlier(at, link->retry_us);
		else if (link->pg)
			at = earlier(at, since == CLOCK_NEVER ? link->heard_us + timeout / 4 + 1
							      : since + timeout / 4 * 3 + 1);
	}
	return at;
}

static void sleep_until(struct pg_engine *engine, int64_t at)
{
	struct pollfd fds[PG_LINKS_MAX + 1] = {{.fd = engine->mail->bell, .events = POLLIN}};
	int64_t left = at - clock_boot_us();
	struct timespec limit = {0, 0};
	uint64_t rung;

	if (left > 0)
		limit = (struct timespec){left / CLOCK_SECOND, left % CLOCK_SECOND * 1000};
	for (unsigned i = 0; i < engine->links; i++) {
		const struct pg_link *link = &engine->link[i];

		fds[i + 1].fd = link->pg ? PQsocket(link->pg) : -1;
		fds[i + 1].events = (short)(link->want_write ? POLLIN | POLLOUT : POLLIN);
	}
	ppoll(fds, engine->links + 1, &limit, NULL);
	engine->now = clock_boot_us();
	if (fds[0].revents)
		(void)!read(engine->mail->bell, &rung, sizeof rung);
	for (unsigned i = 0; i < engine->links; i++) {
		struct pg_link *link = &engine->link[i];

		if (link->pg && PQsocket(link->pg) == fds[i + 1].fd &&
		    (fds[i + 1].revents & ~POLLOUT))
			pg_link_read(engine, link);
	}
}

void pg_engine_run(struct pg_engine *engine)
{
	while (!engine->stopping ||
	       (engine->undoing && engine->up && engine->now < engine->stop_us)) {
		take_mail(engine);
		take_session(engine);
		run_due(engine);
		watch_silence(engine);
		judge_up(engine);
		send_all(engine);
		judge_up(engine);
		order_sessions(engine);
		mail_answers(engine);
		sleep_until(engine, next_turn(engine));
	}
	mail_answers(engine);
}

static void add_link(struct pg_engine *engine, enum pg_role role)
{
	struct pg_link *link = &engine->link[engine->links];

	link->role = role;
	link->index = engine->links++;
	/* Never up: not one that lived long. */
	link->up_us = engine->now;
}

void pg_engine_init(struct pg_engine *engine, const struct driver_shared *shared,
		    struct pg_mail *mail, unsigned slot)
{
	*engine = (struct pg_engine){.shared = shared, .mail = mail, .slot = slot};
	engine->now = engine->heard_us = clock_boot_us();
	engine->answered_end = &engine->answered;
	engine->works = shared->connections;
	for (unsigned i = 0; i < engine->works; i++)
		add_link(engine, PG_ROLE_WORK);
	engine->barrier = engine->links;
	if (shared->durability == PG_BARRIER)
		add_link(engine, PG_ROLE_BARRIER);
	engine->watch = engine->links;
	add_link(engine, PG_ROLE_WATCH);
	engine->flush.ticket.kind = &pg_barrier_kind;
	engine->flush.link = &engine->link[engine->barrier];
	engine->look.ticket.kind = &pg_look_kind;
	engine->reap.ticket.kind = &pg_reap_kind;
	engine->reap.due_us = engine->now + FIRST_REAP_US;
	for (unsigned i = 0; i < engine->links; i++)
		engine->ping[i].ticket.kind = &ping_kind;
}

static void lose_all(struct pg_engine *engine, struct pg_tickets *list)
{
	struct pg_ticket *ticket;

	while ((ticket = pg_tickets_take(list)))
		ticket->kind->answer(engine, ticket, PG_LOST, NULL);
}

void pg_engine_fini(struct pg_engine *engine)
{
	engine->ended = true;
	for (unsigned i = 0; i < engine->links; i++) {
		pg_link_drop(engine, &engine->link[i], NULL);
		lose_all(engine, &engine->link[i].limbo);
	}
	lose_all(engine, &engine->undurable);
	lose_all(engine, &engine->sealing);
	lose_all(engine, &engine->urgent);
	lose_all(engine, &engine->grants);
	lose_all(engine, &engine->later);
	pg_keys_free(&engine->keys);
	pg_timers_free(&engine->timers);
	free(engine->looked);
}
