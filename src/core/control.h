/* SPDX-License-Identifier: Apache-2.0
 *
 * core/control.h - the few words between the master and a worker, over one SOCK_SEQPACKET pair made
 * before the fork. The master's end closes with the master: end of file tells a worker that it is
 * orphaned, and it must exit at once. */
#ifndef LEASED_CORE_CONTROL_H
#define LEASED_CORE_CONTROL_H

#include "base/err.h"

enum control_word {
	CONTROL_READY,	/* worker -> master: accepting connections */
	CONTROL_RELOAD, /* master -> worker, with a descriptor: read-only memfd of the new file */
	CONTROL_DRAIN,	/* master -> worker: stop gracefully, then exit 0 */
};

/* Sends a word, with `fd` when it is not -1 (the receiver gets a copy; the caller keeps its own).
 * Never blocks: ERR_SYSTEM when the pair is full or the peer is gone (errno says which). */
enum err control_send(int socket, enum control_word word, int fd);

/* Receives one word; *fd is -1 or a descriptor that the caller now owns (close-on-exec).
 * ERR_OK; ERR_PENDING when nothing is there (non-blocking socket); ERR_SYSTEM on end of file or
 * error. */
enum err control_receive(int socket, enum control_word *word, int *fd);

#endif
