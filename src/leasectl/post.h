/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/post.h - what the two processes of `run` tell each other over a socket pair. The
 * supervisor starts the command and never touches gRPC; the keeper speaks to the server and never
 * forks. Moments are CLOCK_BOOTTIME in microseconds, the same in both. */
#ifndef LEASED_LEASECTL_POST_H
#define LEASED_LEASECTL_POST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "leasectl/duration.h"
#include "leasectl/lease.h"

enum post_kind {
	POST_NONE,
	/* from the keeper */
	POST_GRANTED,  /* holder, token, expires, end_us */
	POST_FAILED,   /* not obtained: status; the keeper has said why and ends */
	POST_RENEWED,  /* end_us */
	POST_LOST,     /* the server says that the lease is no longer ours: text */
	POST_RELEASED, /* the keeper ends */
	/* from the supervisor */
	POST_STARTED, /* group of the command, 0 when it is the caller's own */
	POST_RELEASE, /* give the lease back, or give up waiting for it, and end */
};

struct post {
	enum post_kind kind;
	int status;
	pid_t group;
	int64_t end_us; /* nobody else can hold the lease before */
	uint64_t token;
	char holder[LEASE_ID_ROOM];
	char expires[DURATION_ROOM];
	char text[256];
};

/* Both ends, close-on-exec. False with errno. */
bool post_pair(int ends[2]);

/* Never blocks, never signals; what cannot be sent is lost: the other side sees the end of file. */
void post_send(int fd, const struct post *post);

/* Blocks unless `now`. False at the end of file (post->kind is POST_NONE when nothing was there).
 */
bool post_receive(int fd, struct post *post, bool now);

#endif
