/* SPDX-License-Identifier: Apache-2.0
 *
 * core/op.h - one call on its way down to a driver and its answer on the way up.
 *
 * Ownership: the caller (worker/call.c) owns the op and its arena until `done` has run; a driver
 * borrows it from submit until then. All pointers in the request part stay valid that long.
 * Threads: submit, cancel, poll and done all run on the worker's event loop thread. */
#ifndef LEASED_CORE_OP_H
#define LEASED_CORE_OP_H

#include "core/lease.h"

enum op_kind {
	OP_ACQUIRE,
	OP_RENEW,
	OP_RELEASE,
	OP_INSPECT,
	OP_LIST,
};

struct op_request {
	struct bytes name_space;
	struct bytes key;
	struct bytes owner; /* capability subject of the caller, empty without auth */
	bool may_break;	    /* the capability grants lease.break, or nobody needs one */
	bool may_inspect;   /* likewise lease.inspect: a refusal may name the owner */

	int64_t ttl_us;	 /* OP_ACQUIRE, OP_RENEW: > 0, at most limits.max_ttl_us */
	int64_t wait_us; /* OP_ACQUIRE: 0 = fail at once; counted from submit */
	struct metadata metadata;
	struct bytes request_id;

	struct holder_id holder; /* OP_RENEW, OP_RELEASE */
	bool holder_known;	 /* false: the text was no canonical UUID, so nobody's */

	uint32_t page_size;	 /* OP_LIST: 0 = everything */
	struct bytes key_prefix; /* OP_LIST */
	struct bytes after;	 /* OP_LIST: only keys greater than this, when after_set */
	bool after_set;
};

struct op_answer {
	enum err result;
	/* OP_ACQUIRE, OP_RENEW: the lease granted. OP_INSPECT: the lease when `held`.
	 * ERR_HELD: the lease that is in the way, when `held`; its holder id is never sent. */
	struct lease lease;
	bool repeated; /* OP_ACQUIRE: an earlier request made this lease, see request_id */
	bool held;
	bool existed;	      /* OP_RELEASE */
	uint32_t waiters;     /* OP_INSPECT, ERR_HELD: queued on the key */
	struct lease *leases; /* OP_LIST: ordered by key, in the op's arena */
	size_t lease_count;
	bool more;	   /* OP_LIST: the page is full and there are more */
	const char *field; /* ERR_INVALID_ARGUMENT: the field at fault, static */
	const char *text;  /* message instead of err_text(result); arena or static; NULL = none */
};

struct op {
	enum op_kind kind;
	struct op_request request;
	struct op_answer answer;
	struct arena *arena;
	void (*done)(struct op *op); /* exactly once when submit answered ERR_PENDING */
	void *caller;		     /* for done */
	void *driver_data;	     /* the driver's, from submit until done */
};

/* Name of the operation as in capabilities and logs ("lease.acquire"); static. */
const char *op_name(enum op_kind kind);

#endif
