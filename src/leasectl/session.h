/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/session.h - the leases that one MCP session holds: renewed at a third of their ttl while
 * it lives, given back when it ends. Every call has a connection of its own, so that none waits for
 * another. One thread. */
#ifndef LEASED_LEASECTL_SESSION_H
#define LEASED_LEASECTL_SESSION_H

#include "leasectl/failure.h"
#include "leasectl/lease.h"
#include "leasectl/options.h"

/* A call under way with the connection it has. */
struct flight {
	struct client *client;
	struct call call;
};

struct held {
	struct held *next;
	char *name_space, *key;
	char holder[LEASE_ID_ROOM];
	uint64_t token;
	int64_t ttl_us;
	int64_t end_us;	 /* until then it is ours */
	int64_t next_us; /* of the next renewal */
	struct flight renewal;
};

struct session {
	const struct options *options;
	struct held *held;
	/* Called when a lease is lost; `why` is a sentence. May not change the session. */
	void (*lost)(void *context, const struct held *held, const char *why);
	void *context;
};

/* False with a sentence in `why` when no client can be made. */
bool session_send(const struct session *session, struct flight *flight, enum lease_call which,
		  const struct lease_request *request, char why[CLIENT_WHY]);

/* Whether it is done; does not block. */
bool session_done(struct flight *flight);

/* Cancels what is not done, frees. */
void session_land(struct flight *flight);

/* Takes what was granted into care. */
void session_take(struct session *session, const struct lease_request *request,
		  const struct flight *flight, const Leased__Wire__LeaseHandle *handle);

/* The lease of that name, NULL when the session has none. */
struct held *session_find(const struct session *session, const char *name_space, const char *key);

/* No longer in care: released, or lost. */
void session_drop(struct session *session, struct held *held);

/* A renewal was granted that was asked for elsewhere. */
void session_renewed(struct held *held, int64_t ttl_us, const struct call *call,
		     const Leased__Wire__LeaseHandle *handle);

/* Sends renewals that are due and takes in answers. Does not block. */
void session_work(struct session *session);

/* When session_work wants to be called next. */
int64_t session_next(const struct session *session);

/* Gives everything back, within two seconds. */
void session_end(struct session *session);

#endif
