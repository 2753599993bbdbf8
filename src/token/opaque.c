/* SPDX-License-Identifier: Apache-2.0
 *
 * leased-token new. The entry goes to standard output, to be pasted or appended; the secret goes to
 * a file or to standard error, never into the same stream. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "token/token.h"

enum {
	RANDOM = 32,
	VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
	SECRET = sodium_base64_ENCODED_LEN(RANDOM, VARIANT),
};

static const char prefix[] = "leased_"; /* so that scanners for secrets can know it */

/* In double quotes any text is itself. */
static void put_quoted(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			printf("\\x%02x", c);
		else
			printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
	}
	putchar('"');
}

static void put_list(const char *name, const char *const *list)
{
	printf("%s: [", name);
	for (size_t i = 0; list[i]; i++) {
		fputs(i ? ", " : "", stdout);
		put_quoted(list[i]);
	}
	putchar(']');
}

static void put_field(const char *name, const char *text)
{
	if (!text)
		return;
	printf("    %s: ", name);
	put_quoted(text);
	putchar('\n');
}

static void put_expiry(int64_t ttl_us)
{
	time_t end = time(NULL) + (time_t)(ttl_us / 1000000);
	char text[40];
	struct tm parts;

	if (ttl_us == 0)
		return;
	gmtime_r(&end, &parts);
	strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
	printf("    expires: %s\n", text);
}

static void put_entry(const struct token_options *options, const char *hash)
{
	fputs("  - id: ", stdout);
	put_quoted(options->id);
	putchar('\n');
	put_field("tenant", options->tenant);
	put_field("agent", options->agent);
	printf("    sha256: \"%s\"\n", hash);
	put_expiry(options->ttl_us);
	fputs("    grants:\n      - { ", stdout);
	put_list("ops", options->ops);
	fputs(", ", stdout);
	put_list("namespaces", options->namespaces);
	if (options->prefixes[0]) {
		fputs(", ", stdout);
		put_list("key_prefixes", options->prefixes);
	}
	if (options->max_ttl)
		printf(", max_ttl: %s", options->max_ttl);
	puts(" }");
}

int token_new(const struct token_options *options)
{
	char secret[sizeof prefix + SECRET], hash[2 * crypto_hash_sha256_BYTES + 1];
	unsigned char random[RANDOM], digest[crypto_hash_sha256_BYTES];

	if (!options->id || !options->tenant || !options->ops[0] || !options->namespaces[0]) {
		token_fail("new needs --id, --tenant, --op and --namespace");
		return TOKEN_EXIT_USAGE;
	}
	randombytes_buf(random, sizeof random);
	memcpy(secret, prefix, sizeof prefix);
	sodium_bin2base64(secret + strlen(prefix), SECRET, random, sizeof random, VARIANT);
	crypto_hash_sha256(digest, (const unsigned char *)secret, strlen(secret));
	sodium_bin2hex(hash, sizeof hash, digest, sizeof digest);
	if (options->file && !token_write_secret(options->file, secret))
		return TOKEN_EXIT_FAILED;
	put_entry(options, hash);
	if (fflush(stdout) != 0)
		return token_fail("the entry cannot be written");
	if (!options->file)
		fprintf(stderr, "The token, shown this once:\n%s\n", secret);
	sodium_memzero(secret, sizeof secret);
	return 0;
}
