/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/probe.h - reading the table without any lock. A record is read, then its seq is looked at
 * again; a miss counts only when the stripe's version did not move meanwhile. Never waits for a
 * writer, not even for a stopped one. */
#ifndef LEASED_SHM_PROBE_H
#define LEASED_SHM_PROBE_H

#include "shm/record.h"

/* A live record as it was at one instant. */
struct shm_snapshot {
	struct shm_grant grant;
	uint32_t waiters;
};

/* The lease on `name` and its payload (`payload` has SHM_PAYLOAD_WORDS). False: no such record; the
 * grant found may be over, that is the caller's to judge. */
bool shm_probe_name(const struct shm_map *map, const struct shm_name *name,
		    struct shm_snapshot *snapshot, uint64_t *payload);

/* The same for the record `index`, if it is (still) live and called `name`. */
bool shm_probe_record(const struct shm_map *map, uint32_t index, const struct shm_name *name,
		      struct shm_snapshot *snapshot, uint64_t *payload);

/* Copies the name of the record `index` when it is live: `words` has SHM_NAME_MAX_WORDS. False: not
 * live. *deadline: of its lease. */
bool shm_probe_label(const struct shm_map *map, uint32_t index, uint32_t *lens, uint64_t *words,
		     int64_t *deadline);

#endif
