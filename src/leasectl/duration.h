/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/duration.h - durations and moments as people and as protobuf's JSON write them.
 * Pure functions, except that nothing here reads a clock. */
#ifndef LEASED_LEASECTL_DURATION_H
#define LEASED_LEASECTL_DURATION_H

#include <stddef.h>
#include <stdint.h>

enum { DURATION_ROOM = 48 };

/* Reads 500ms, 60s, 5m, 1h30m, 1.5h, 7d; a bare number counts seconds, as in timeout(1). Units
 * fall. NULL and *us >= 0 on success, else what is wrong with it, as the end of a sentence; static.
 */
const char *duration_parse(const char *text, int64_t *us);

/* The two largest units, for people: "3m12s", "41s", "0.2s". What is below zero is written as "0s".
 */
void duration_text(int64_t us, char text[DURATION_ROOM]);

/* google.protobuf.Duration in JSON: "60s", "0.250s". */
void duration_json(int64_t seconds, int32_t nanos, char text[DURATION_ROOM]);

/* google.protobuf.Timestamp in JSON: RFC 3339 in UTC with 0, 3, 6 or 9 decimals. */
void duration_moment(int64_t seconds, int32_t nanos, char text[DURATION_ROOM]);

/* Reads what duration_moment writes; microseconds since 1970, or INT64_MIN. */
int64_t duration_moment_parse(const char *text);

#endif
