/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/mman.h>

#include "core/board.h"
#include "core/driver.h"

struct board_slot {
	_Alignas(64) atomic_bool live;
	atomic_ulong accepted;
};

struct board {
	struct board_slot slot[DRIVER_WORKERS_MAX];
};

struct board *board_create(void)
{
	void *memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void board_enter(struct board *board, unsigned slot)
{
	unsigned long least = 0;
	bool found = false;

	if (!board)
		return;
	/* A newcomer starts level with the least loaded, else it would get every new connection
	 * until it had as many as the others ever took. */
	for (unsigned i = 0; i < DRIVER_WORKERS_MAX; i++) {
		unsigned long taken = atomic_load(&board->slot[i].accepted);

		if (i == slot || !atomic_load(&board->slot[i].live))
			continue;
		least = !found || taken < least ? taken : least;
		found = true;
	}
	atomic_store(&board->slot[slot].accepted, least);
	atomic_store(&board->slot[slot].live, true);
}

void board_leave(struct board *board, unsigned slot)
{
	if (board)
		atomic_store(&board->slot[slot].live, false);
}

void board_accepted(struct board *board, unsigned slot)
{
	if (board)
		atomic_fetch_add(&board->slot[slot].accepted, 1);
}

bool board_is_live(const struct board *board, unsigned slot)
{
	return board && atomic_load(&board->slot[slot].live);
}

bool board_is_least(const struct board *board, unsigned slot)
{
	unsigned long mine;

	if (!board)
		return true;
	mine = atomic_load(&board->slot[slot].accepted);
	for (unsigned i = 0; i < DRIVER_WORKERS_MAX; i++)
		if (atomic_load(&board->slot[i].live) &&
		    atomic_load(&board->slot[i].accepted) < mine)
			return false;
	return true;
}
