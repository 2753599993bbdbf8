/* SPDX-License-Identifier: Apache-2.0
 *
 * token/token.h - what the commands of leased-token share. Each prints its result to standard
 * output, complaints to standard error, and returns the exit status. */
#ifndef LEASED_TOKEN_TOKEN_H
#define LEASED_TOKEN_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOKEN_EXIT_FAILED = 1, TOKEN_EXIT_USAGE = 64, TOKEN_LIST_MAX = 64 };

/* As given; NULL or empty = not given. Lists end with NULL. */
struct token_options {
	const char *id, *tenant, *agent;
	const char *ops[TOKEN_LIST_MAX + 1];
	const char *namespaces[TOKEN_LIST_MAX + 1];
	const char *prefixes[TOKEN_LIST_MAX + 1];
	const char *max_ttl;
	int64_t ttl_us; /* until it expires; 0 = not given */
	const char *file;
	const char *public_key;
};

/* An opaque token: its entry for the token file, and the secret, which is shown this once. */
int token_new(const struct token_options *options);

/* A pair of keys: the secret one into a new file, the public one printed. */
int token_keypair(const struct token_options *options);

/* A PASETO v4.public token, signed with the key in options->file. */
int token_mint(const struct token_options *options);

/* The claims of the token on standard input, and whether the signature is good. */
int token_show(const struct token_options *options);

/* Prints "leased-token: …" and returns TOKEN_EXIT_FAILED. */
__attribute__((format(printf, 1, 2))) int token_fail(const char *format, ...);

/* Writes a line into a new file that only the owner may read; false after a complaint. */
bool token_write_secret(const char *file, const char *text);

#endif
