/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/board.h - how many acquires of this host wait for a key: a page shared by its workers, made
 * before they are forked. For showing only. Each worker writes its own part, so nothing is locked;
 * a dead one leaves numbers that its successor clears. */
#ifndef LEASED_PG_BOARD_H
#define LEASED_PG_BOARD_H

#include <stdint.h>

#include "base/bytes.h"

struct pg_board;

/* NULL when memory is exhausted. */
struct pg_board *pg_board_make(void);
void pg_board_free(struct pg_board *board);
/* Hash of a key of a namespace, the same in all workers. */
uint64_t pg_board_hash(const struct pg_board *board, struct bytes name_space, struct bytes key);
void pg_board_clear(struct pg_board *board, unsigned slot);
/* Worker in `slot`: so many wait now for that hash. */
void pg_board_set(struct pg_board *board, unsigned slot, uint64_t hash, uint32_t waiters);
/* Of all workers. */
uint32_t pg_board_waiters(const struct pg_board *board, uint64_t hash);

#endif
