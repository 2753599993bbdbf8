/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include <sodium.h>

#include "base/check.h"
#include "core/driver.h"
#include "pg/board.h"

enum { PLACES = 4096, NEAR = 16 };

struct place {
	_Atomic uint64_t hash;
	_Atomic uint32_t waiters; /* 0 = the place is free */
};

struct pg_board {
	uint8_t key[crypto_shorthash_KEYBYTES];
	struct place place[DRIVER_WORKERS_MAX][PLACES];
};

struct pg_board *pg_board_make(void)
{
	struct pg_board *board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (board == MAP_FAILED || sodium_init() < 0)
		return NULL;
	randombytes_buf(board->key, sizeof board->key);
	return board;
}

void pg_board_free(struct pg_board *board)
{
	if (board)
		munmap(board, sizeof *board);
}

/* The length first: ("a", "bc") is not ("ab", "c"). */
uint64_t pg_board_hash(const struct pg_board *board, struct bytes name_space, struct bytes key)
{
	uint8_t text[4 + 128 + 512 + 4];
	size_t len = name_space.len + key.len + 1;
	uint64_t hash;

	CHECK(name_space.len < 256 && len <= sizeof text);
	text[0] = (uint8_t)name_space.len;
	if (name_space.len)
		memcpy(text + 1, name_space.data, name_space.len);
	if (key.len)
		memcpy(text + 1 + name_space.len, key.data, key.len);
	crypto_shorthash((unsigned char *)&hash, text, len, board->key);
	return hash;
}

void pg_board_clear(struct pg_board *board, unsigned slot)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (atomic_load(&board->place[slot][i].waiters))
			atomic_store(&board->place[slot][i].waiters, 0);
}

void pg_board_set(struct pg_board *board, unsigned slot, uint64_t hash, uint32_t waiters)
{
	struct place *spare = NULL;

	for (unsigned i = 0; i < NEAR; i++) {
		struct place *place = &board->place[slot][(hash + i) % PLACES];
		uint32_t there = atomic_load(&place->waiters);

		if (there && atomic_load(&place->hash) == hash) {
			atomic_store(&place->waiters, waiters);
			return;
		}
		if (!there && !spare)
			spare = place;
	}
	if (!waiters || !spare) /* too many keys: it is not shown */
		return;
	atomic_store(&spare->hash, hash);
	atomic_store(&spare->waiters, waiters);
}

uint32_t pg_board_waiters(const struct pg_board *board, uint64_t hash)
{
	uint32_t sum = 0;

	for (unsigned slot = 0; slot < DRIVER_WORKERS_MAX; slot++)
		for (unsigned i = 0; i < NEAR; i++) {
			const struct place *place = &board->place[slot][(hash + i) % PLACES];

			if (atomic_load(&place->waiters) && atomic_load(&place->hash) == hash)
				sum += atomic_load(&place->waiters);
		}
	return sum;
}
