/* SPDX-License-Identifier: Apache-2.0
 *
 * base/check.h - CHECK(x): what can only fail by a bug ends the process at once, with one log line.
 * A worker that dies so is replaced by the master; the lease table repairs itself. */
#ifndef LEASED_BASE_CHECK_H
#define LEASED_BASE_CHECK_H

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (__builtin_expect(!(condition), 0))                                             \
			check_failed(__FILE__, __LINE__, #condition);                              \
	} while (0)

/* Logs and aborts. Does not return. */
_Noreturn void check_failed(const char *file, int line, const char *what);

#endif
