/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/mail.h - between the worker's event loop and the driver's I/O thread: calls one way, answers
 * the other. One mutex, held for a few instructions on both sides.
 *
 * A call is counted: one for the event loop until it has run done, one for the I/O thread until its
 * last statement is answered, one for a cancel on its way. Whoever drops the last one frees. */
#ifndef LEASED_PG_MAIL_H
#define LEASED_PG_MAIL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/driver.h"

struct pg_call;

struct pg_mail {
	const struct driver_host *host;
	int bell;	/* eventfd: wakes the I/O thread */
	atomic_bool up; /* written by the I/O thread: for health */
	pthread_mutex_t lock;
	/* lock */
	struct pg_call *submitted, **submitted_end;
	struct pg_call *cancelled;
	struct pg_call *answered, **answered_end;
	bool drain, stop;
};

struct pg_delivery {
	struct pg_call *submitted; /* through next_submitted, in order */
	struct pg_call *cancelled; /* through next_cancelled; after those submitted */
	bool drain, stop;
};

enum err pg_mail_init(struct pg_mail *mail, const struct driver_host *host);
void pg_mail_fini(struct pg_mail *mail);

/* Event loop. */
void pg_mail_submit(struct pg_mail *mail, struct pg_call *call);
void pg_mail_cancel(struct pg_mail *mail, struct pg_call *call);
void pg_mail_drain(struct pg_mail *mail);
void pg_mail_stop(struct pg_mail *mail);
/* All that were answered, through next_answered, in order. */
struct pg_call *pg_mail_answers(struct pg_mail *mail);

/* I/O thread. */
void pg_mail_take(struct pg_mail *mail, struct pg_delivery *delivery);
/* A list through next_answered that ends at `end`; kicks the host. */
void pg_mail_answer(struct pg_mail *mail, struct pg_call *first, struct pg_call **end);

#endif
