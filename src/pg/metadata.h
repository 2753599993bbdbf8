/* SPDX-License-Identifier: Apache-2.0
 *
 * pg/metadata.h - a lease's metadata as one JSON object of strings, as it stands in the table for
 * anybody to read. */
#ifndef LEASED_PG_METADATA_H
#define LEASED_PG_METADATA_H

#include "core/lease.h"

/* In `arena`; data is NULL only when memory is exhausted. Keys and values are valid UTF-8 without
 * NUL (core/service saw to it), their order is kept. */
struct bytes pg_metadata_write(struct arena *arena, const struct metadata *metadata);

/* Entries in `arena`, sorted by key; what is no string in the table (somebody's hand) is left out.
 * False when memory is exhausted. */
bool pg_metadata_read(struct arena *arena, struct bytes text, struct metadata *metadata);

#endif
