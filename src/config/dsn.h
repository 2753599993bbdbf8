/* SPDX-License-Identifier: Apache-2.0
 *
 * config/dsn.h - hiding the passwords of a connection string. */
#ifndef LEASED_CONFIG_DSN_H
#define LEASED_CONFIG_DSN_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces every password in `dsn` by `mask`: what stands between user and host of a URI, and the
 * values of keywords and parameters whose names contain "password" or "secret". Writes at most
 * `size` bytes to `out` with a NUL; what does not fit is cut. True when there was a password. */
bool dsn_mask(const char *dsn, const char *mask, char *out, size_t size);

#endif
