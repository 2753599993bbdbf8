/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/credentials.h - what a client shows: the capability from a file, and TLS. */
#ifndef LEASED_LEASECTL_CREDENTIALS_H
#define LEASED_LEASECTL_CREDENTIALS_H

#include <stdbool.h>

#include "leasectl/client.h"

/* The first line of the file without white space around it; "" when `path` is NULL. False with a
 * sentence in `why` when it cannot be read, is empty or is no token. Warns on stderr when others
 * may read the file. Blocks as read(2) does. */
bool credentials_token(const char *path, char token[CLIENT_TOKEN], char why[CLIENT_WHY]);

/* TLS with a CA file, else none. NULL with a sentence in `why` when a file cannot be used. The
 * caller releases it. */
grpc_channel_credentials *credentials_make(const struct client_config *config,
					   char why[CLIENT_WHY]);

#endif
