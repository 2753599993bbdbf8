/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "pg/call.h"
#include "pg/mail.h"

static void ring(struct pg_mail *mail)
{
	uint64_t one = 1;

	(void)!write(mail->bell, &one, sizeof one);
}

enum err pg_mail_init(struct pg_mail *mail, const struct driver_host *host)
{
	*mail = (struct pg_mail){.host = host};
	mail->submitted_end = &mail->submitted;
	mail->answered_end = &mail->answered;
	CHECK(pthread_mutex_init(&mail->lock, NULL) == 0);
	mail->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return mail->bell < 0 ? ERR_SYSTEM : ERR_OK;
}

void pg_mail_fini(struct pg_mail *mail)
{
	close(mail->bell);
	pthread_mutex_destroy(&mail->lock);
}

void pg_mail_submit(struct pg_mail *mail, struct pg_call *call)
{
	bool first;

	call->next_submitted = NULL;
	pthread_mutex_lock(&mail->lock);
	first = !mail->submitted;
	*mail->submitted_end = call;
	mail->submitted_end = &call->next_submitted;
	pthread_mutex_unlock(&mail->lock);
	if (first)
		ring(mail);
}

void pg_mail_cancel(struct pg_mail *mail, struct pg_call *call)
{
	pthread_mutex_lock(&mail->lock);
	call->next_cancelled = mail->cancelled;
	mail->cancelled = call;
	pthread_mutex_unlock(&mail->lock);
	ring(mail);
}

void pg_mail_drain(struct pg_mail *mail)
{
	pthread_mutex_lock(&mail->lock);
	mail->drain = true;
	pthread_mutex_unlock(&mail->lock);
	ring(mail);
}

void pg_mail_stop(struct pg_mail *mail)
{
	pthread_mutex_lock(&mail->lock);
	mail->stop = true;
	pthread_mutex_unlock(&mail->lock);
	ring(mail);
}

struct pg_call *pg_mail_answers(struct pg_mail *mail)
{
	struct pg_call *first;

	pthread_mutex_lock(&mail->lock);
	first = mail->answered;
	mail->answered = NULL;
	mail->answered_end = &mail->answered;
	pthread_mutex_unlock(&mail->lock);
	return first;
}

void pg_mail_take(struct pg_mail *mail, struct pg_delivery *delivery)
{
	pthread_mutex_lock(&mail->lock);
	*delivery = (struct pg_delivery){mail->submitted, mail->cancelled, mail->drain, mail->stop};
	mail->submitted = NULL;
	mail->submitted_end = &mail->submitted;
	mail->cancelled = NULL;
	pthread_mutex_unlock(&mail->lock);
}

void pg_mail_answer(struct pg_mail *mail, struct pg_call *first, struct pg_call **end)
{
	bool empty;

	pthread_mutex_lock(&mail->lock);
	empty = !mail->answered;
	*mail->answered_end = first;
	mail->answered_end = end;
	pthread_mutex_unlock(&mail->lock);
	if (empty)
		mail->host->kick(mail->host->arg);
}
