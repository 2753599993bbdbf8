/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/failure.h - a call that did not end well: what the status and its details say. */
#ifndef LEASED_LEASECTL_FAILURE_H
#define LEASED_LEASECTL_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leasectl/client.h"
#include "leasectl/options.h"

enum { FAILURE_TEXT = 512, FAILURE_OWNER = 256, FAILURE_REASON = 64, FAILURE_SENTENCE = 1400 };

struct failure {
	grpc_status_code code;
	char text[FAILURE_TEXT];     /* of the status, safe for a terminal */
	char reason[FAILURE_REASON]; /* of the ErrorInfo, "" when there is none */
	bool held;		     /* the rest is known: who holds it */
	char owner[FAILURE_OWNER];   /* "" when the server does not say */
	char since[48];		     /* RFC 3339 */
	int64_t remaining_us;
	int64_t waiters;
	char token[24];
};

/* Reads a call whose code is not OK. An answer that cannot be decoded counts as INTERNAL. */
void failure_read(const struct call *call, struct failure *failure);

/* As one sentence without its subject: "already held by ci-7 for 3m12s, 41s left, 2 waiting". */
void failure_sentence(const struct failure *failure, char text[FAILURE_SENTENCE]);

/* "leasectl: SUBJECT: sentence" on stderr, whether quiet or not; `subject` may be NULL. */
void failure_print(const struct failure *failure, const char *subject);

/* The exit status. NOT_HOLDER is a clean no (STATUS_NO). */
enum exit_status failure_status(const struct failure *failure);

/* True when the same request may succeed later: the server or the way to it is down. */
bool failure_is_passing(const struct failure *failure);

#endif
