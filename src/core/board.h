/* SPDX-License-Identifier: Apache-2.0
 *
 * core/board.h - a small shared page apart from every lease table: how many connections each worker
 * took. Made by the master before the first fork. Plain atomic counters: a dead writer leaves
 * nothing half done, and a wrong number costs balance, never correctness. */
#ifndef LEASED_CORE_BOARD_H
#define LEASED_CORE_BOARD_H

#include <stdbool.h>

struct board;

/* NULL when memory is exhausted: then nothing is balanced, which all functions below accept. */
struct board *board_create(void);

/* Master: a worker lives in `slot` from now on, with no connections; or none does. */
void board_enter(struct board *board, unsigned slot);
void board_leave(struct board *board, unsigned slot);

/* Worker: one more connection. */
void board_accepted(struct board *board, unsigned slot);

/* Whether a worker that was ready lives in `slot`. */
bool board_is_live(const struct board *board, unsigned slot);

/* True when no live worker has taken fewer connections than `slot`. */
bool board_is_least(const struct board *board, unsigned slot);

#endif
