/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "pg/board.h"
#include "pg/call.h"
#include "pg/engine.h"
#include "pg/thread.h"
#include "pg/worker.h"

struct driver_worker {
	struct driver_host host;
	struct pg_mail mail;
	struct pg_engine engine; /* the I/O thread's */
	pthread_t thread;
	bool draining;
};

static void *run(void *arg)
{
	pg_engine_run(arg);
	return NULL;
}

static enum err start(struct driver_worker *worker, struct driver_shared *shared)
{
	enum err err = pg_connector_start(&worker->engine.connector, shared, worker->mail.bell);

	if (err != ERR_OK)
		return err;
	err = pg_thread_start(&worker->thread, run, &worker->engine);
	if (err != ERR_OK)
		pg_connector_stop(&worker->engine.connector);
	return err;
}

enum err pg_worker_attach(struct driver_shared *shared, const struct driver_host *host,
			  struct driver_worker **out)
{
	struct driver_worker *worker = calloc(1, sizeof *worker);
	enum err err;

	if (!worker)
		return ERR_SYSTEM;
	worker->host = *host;
	pg_board_clear(shared->board, host->slot);
	err = pg_mail_init(&worker->mail, &worker->host);
	if (err == ERR_OK) {
		pg_engine_init(&worker->engine, shared, &worker->mail, host->slot);
		err = start(worker, shared);
		if (err != ERR_OK)
			pg_mail_fini(&worker->mail);
	}
	if (err == ERR_OK)
		*out = worker;
	else
		free(worker);
	return err;
}

enum err pg_worker_submit(struct driver_worker *worker, struct op *op)
{
	struct pg_call *call;

	if (op->kind == OP_ACQUIRE && op->request.wait_us > 0 && worker->draining)
		return op->answer.result = ERR_DRAINING;
	if (op->kind == OP_RENEW && !op->request.holder_known)
		return op->answer.result = ERR_NOT_HOLDER;
	call = pg_call_make(op);
	if (!call)
		return op->answer.result = ERR_BACKEND_DOWN;
	op->driver_data = call;
	pg_mail_submit(&worker->mail, call);
	return ERR_PENDING;
}

void pg_worker_cancel(struct driver_worker *worker, struct op *op)
{
	struct pg_call *call = op->driver_data;

	if (!call || call->cancel_sent)
		return;
	call->cancel_sent = true;
	atomic_fetch_add(&call->refs, 1);
	pg_mail_cancel(&worker->mail, call);
}

void pg_worker_poll(struct driver_worker *worker)
{
	struct pg_call *next;

	for (struct pg_call *call = pg_mail_answers(&worker->mail); call; call = next) {
		struct op *op = call->answered;

		next = call->next_answered;
		op->driver_data = NULL;
		pg_call_unref(call);
		op->done(op);
	}
}

/* The I/O thread kicks. */
int64_t pg_worker_next(struct driver_worker *worker)
{
	(void)worker;
	return CLOCK_NEVER;
}

void pg_worker_drain(struct driver_worker *worker)
{
	worker->draining = true;
	pg_mail_drain(&worker->mail);
}

/* Answers that nobody will hear. */
static void forget(struct pg_call *call)
{
	struct pg_call *next;

	for (; call; call = next) {
		next = call->next_answered;
		pg_call_unref(call);
	}
}

void pg_worker_detach(struct driver_worker *worker)
{
	pg_mail_stop(&worker->mail);
	pthread_join(worker->thread, NULL);
	if (!pg_connector_stop(&worker->engine.connector)) {
		log_warn("a connection to the database is still being made",
			 LOG_TEXT("backend", worker->engine.shared->backend));
		return; /* its thread uses this memory; the process ends soon */
	}
	pg_engine_fini(&worker->engine);
	forget(worker->engine.answered);
	forget(pg_mail_answers(&worker->mail));
	pg_board_clear(worker->engine.shared->board, worker->host.slot);
	pg_mail_fini(&worker->mail);
	free(worker);
}

enum err pg_worker_health(struct driver_worker *worker)
{
	return atomic_load(&worker->mail.up) ? ERR_OK : ERR_BACKEND_DOWN;
}
