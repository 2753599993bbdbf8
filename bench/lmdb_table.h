/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/lmdb_table.h - leases in LMDB, for comparison: each change is one write transaction without
 * sync, in memory, on a map that all processes share. The fastest way that keeps its promises
 * between processes. */
#ifndef LEASED_BENCH_LMDB_TABLE_H
#define LEASED_BENCH_LMDB_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens (or makes) the table in `directory`. In each process anew. */
void lmdb_table_open(const char *directory, size_t map_bytes);

/* Takes the key unless a live lease stands there. */
bool lmdb_table_acquire(const char *key, const unsigned char holder[16], long ttl_s);
bool lmdb_table_release(const char *key, const unsigned char holder[16]);
bool lmdb_table_inspect(const char *key);

#endif
