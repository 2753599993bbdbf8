/* SPDX-License-Identifier: Apache-2.0
 *
 * leased-token keypair, mint and show: PASETO v4.public. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "auth/claims.h"
#include "auth/paseto.h"
#include "token/token.h"

enum { SECRET_HEX = 2 * PASETO_SECRET + 1, PUBLIC_HEX = 2 * PASETO_PUBLIC + 1, INPUT = 16384 };

#define DEFAULT_TTL 3600

int token_keypair(const struct token_options *options)
{
	unsigned char public_key[PASETO_PUBLIC], secret_key[PASETO_SECRET];
	char hex[SECRET_HEX];
	bool good;

	if (!options->file) {
		token_fail("keypair needs --file, for the secret key");
		return TOKEN_EXIT_USAGE;
	}
	crypto_sign_keypair(public_key, secret_key);
	sodium_bin2hex(hex, sizeof hex, secret_key, sizeof secret_key);
	good = token_write_secret(options->file, hex);
	sodium_memzero(secret_key, sizeof secret_key);
	sodium_memzero(hex, sizeof hex);
	if (!good)
		return TOKEN_EXIT_FAILED;
	puts(sodium_bin2hex(hex, PUBLIC_HEX, public_key, sizeof public_key));
	return fflush(stdout) == 0 ? 0 : token_fail("the public key cannot be written");
}

/* All of a descriptor, without white space at its end; -1 after a complaint. */
static ssize_t read_text(int fd, const char *name, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used < size && (n = read(fd, text + used, size - used)) != 0) {
		if (n < 0 && errno != EINTR) {
			token_fail("%s: %s", name, strerror(errno));
			return -1;
		}
		used += n > 0 ? (size_t)n : 0;
	}
	if (used == size) {
		token_fail("%s: too long", name);
		return -1;
	}
	while (used && strchr(" \t\r\n", text[used - 1]))
		used--;
	return (ssize_t)used;
}

static bool read_key(const char *file, unsigned char secret_key[static PASETO_SECRET])
{
	char hex[SECRET_HEX + 16];
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t len = -1;
	size_t used = 0;

	if (fd < 0)
		token_fail("%s: %s", file, strerror(errno));
	else
		len = read_text(fd, file, hex, sizeof hex);
	if (fd >= 0)
		close(fd);
	if (len < 0)
		return false;
	if (sodium_hex2bin(secret_key, PASETO_SECRET, hex, (size_t)len, NULL, &used, NULL) != 0 ||
	    used != PASETO_SECRET)
		token_fail("%s: a secret key is 128 hexadecimal digits", file);
	sodium_memzero(hex, sizeof hex);
	return used == PASETO_SECRET;
}

static json_t *time_json(time_t when)
{
	char text[40];
	struct tm parts;

	gmtime_r(&when, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	return json_string(text);
}

static json_t *list_json(const char *const *list)
{
	json_t *array = json_array();

	for (; *list; list++)
		json_array_append_new(array, json_string(*list));
	return array;
}

static json_t *claims_of(const struct token_options *options)
{
	time_t now = time(NULL);
	time_t ttl = options->ttl_us ? (time_t)((options->ttl_us + 999999) / 1000000) : DEFAULT_TTL;
	json_t *claims = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "iss", "mindd", "tenant",
				   options->tenant, "namespaces", list_json(options->namespaces),
				   "ops", list_json(options->ops), "iat", time_json(now), "nbf",
				   time_json(now), "exp", time_json(now + ttl));

	if (claims && options->agent)
		json_object_set_new(claims, "agent", json_string(options->agent));
	if (claims && options->id)
		json_object_set_new(claims, "jti", json_string(options->id));
	return claims;
}

/* What leased itself would say of the claims. */
static int sign(struct arena *arena, const char *text, const unsigned char *secret_key)
{
	struct capability capability;
	const char *why, *token;

	if (claims_read(arena, bytes_of(text), CLAIMS_TEXT, &capability, &why) != ERR_OK)
		return token_fail("no such token would be accepted: %s", why);
	token = paseto_sign(arena, secret_key, bytes_of(text), &(struct paseto_extra){0});
	if (!token)
		return token_fail("out of memory");
	puts(token);
	return fflush(stdout) == 0 ? 0 : token_fail("the token cannot be written");
}

int token_mint(const struct token_options *options)
{
	unsigned char secret_key[PASETO_SECRET];
	struct arena arena;
	json_t *claims;
	char *text;
	int status;

	if (!options->file || !options->tenant || !options->ops[0] || !options->namespaces[0]) {
		token_fail("mint needs --file, --tenant, --op and --namespace");
		return TOKEN_EXIT_USAGE;
	}
	if (options->prefixes[0] || options->max_ttl) {
		token_fail("--key-prefix and --max-ttl are for opaque tokens only");
		return TOKEN_EXIT_USAGE;
	}
	if (!read_key(options->file, secret_key))
		return TOKEN_EXIT_FAILED;
	arena_init(&arena);
	claims = claims_of(options);
	text = claims ? json_dumps(claims, JSON_COMPACT) : NULL;
	status = text ? sign(&arena, text, secret_key) : token_fail("a name is not valid UTF-8");
	sodium_memzero(secret_key, sizeof secret_key);
	free(text);
	json_decref(claims);
	arena_reset(&arena);
	return status;
}

/* Through jansson, so that nothing in a token can play with the terminal. */
static int show_claims(struct bytes message)
{
	json_t *claims =
	    json_loadb((const char *)message.data, message.len, JSON_REJECT_DUPLICATES, NULL);
	int status = 0;

	if (!claims)
		return token_fail("its claims are no JSON");
	if (json_dumpf(claims, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) != 0 || puts("") < 0 ||
	    fflush(stdout) != 0)
		status = token_fail("the claims cannot be written");
	json_decref(claims);
	return status;
}

static int judge(struct arena *arena, const struct paseto *paseto, const char *hex)
{
	unsigned char key[PASETO_PUBLIC];
	size_t len;

	if (!hex) {
		fputs("signature: not checked (--public-key)\n", stderr);
		return 0;
	}
	if (sodium_hex2bin(key, sizeof key, hex, strlen(hex), NULL, &len, NULL) != 0 ||
	    len != sizeof key)
		return token_fail("a public key is 64 hexadecimal digits");
	if (!paseto_verify(arena, paseto, key, (struct bytes){NULL, 0}))
		return token_fail("signature: NOT by this key");
	fputs("signature: good\n", stderr);
	return 0;
}

int token_show(const struct token_options *options)
{
	static char text[INPUT];
	struct paseto paseto;
	struct arena arena;
	ssize_t len = read_text(STDIN_FILENO, "standard input", text, sizeof text);
	int status;

	if (len < 0)
		return TOKEN_EXIT_FAILED;
	arena_init(&arena);
	if (!paseto_parse(&arena, (struct bytes){(const uint8_t *)text, (size_t)len}, &paseto)) {
		status = token_fail("standard input holds no v4.public token");
	} else {
		status = judge(&arena, &paseto, options->public_key);
		if (status == 0)
			status = show_claims(paseto.message);
	}
	arena_reset(&arena);
	return status;
}
