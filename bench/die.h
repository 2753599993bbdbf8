/* SPDX-License-Identifier: Apache-2.0
 *
 * bench/die.h - a benchmark that cannot go on says why and ends with 1. */
#ifndef LEASED_BENCH_DIE_H
#define LEASED_BENCH_DIE_H

_Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
