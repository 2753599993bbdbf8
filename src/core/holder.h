/* SPDX-License-Identifier: Apache-2.0
 *
 * core/holder.h - making, writing and reading holder ids. */
#ifndef LEASED_CORE_HOLDER_H
#define LEASED_CORE_HOLDER_H

#include "core/lease.h"

/* A new random id (getrandom(2), kept by the page: one system call per 256 ids). Thread-safe, and
 * safe after fork: the store of a forked child is empty. Never fails; blocks only before the
 * kernel's generator is seeded. */
struct holder_id holder_make(void);

/* The canonical text, LEASE_HOLDER_TEXT bytes, no NUL. */
void holder_format(struct holder_id id, char text[static LEASE_HOLDER_TEXT]);

/* Reads exactly the canonical lower-case form. False for anything else: such a text belongs to no
 * lease (the contract treats it as a wrong holder, never as malformed). */
bool holder_parse(struct bytes text, struct holder_id *id);

/* All 16 bytes equal, in constant time. */
bool holder_equal(struct holder_id a, struct holder_id b);

#endif
