/* SPDX-License-Identifier: Apache-2.0
 *
 * leased-token: makes what leased verifies. No secret is taken from the command line. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "config.h"
#include "base/bytes.h"
#include "config/scalar.h"
#include "core/capability.h"
#include "token/token.h"

static const struct {
	const char *name;
	int (*run)(const struct token_options *options);
} commands[] = {
    {"new", token_new},
    {"keypair", token_keypair},
    {"mint", token_mint},
    {"show", token_show},
};

static const struct option long_options[] = {
    {"id", required_argument, NULL, 'i'},
    {"tenant", required_argument, NULL, 't'},
    {"agent", required_argument, NULL, 'a'},
    {"op", required_argument, NULL, 'o'},
    {"namespace", required_argument, NULL, 'n'},
    {"key-prefix", required_argument, NULL, 'p'},
    {"max-ttl", required_argument, NULL, 'm'},
    {"ttl", required_argument, NULL, 'l'},
    {"file", required_argument, NULL, 'f'},
    {"public-key", required_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

int token_fail(const char *format, ...)
{
	va_list list;

	fputs("leased-token: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	return TOKEN_EXIT_FAILED;
}

bool token_write_secret(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool good = fd >= 0 && dprintf(fd, "%s\n", text) == (int)strlen(text) + 1 && fsync(fd) == 0;

	if (!good)
		token_fail("%s: %s", file, strerror(errno));
	if (fd >= 0 && close(fd) != 0)
		good = false;
	if (fd >= 0 && !good)
		unlink(file);
	return good;
}

static int help(void)
{
	puts("Usage: leased-token new --id ID --tenant T [--agent A] --op OP... --namespace NS...\n"
	     "                        [--key-prefix P...] [--max-ttl D] [--ttl D] [--file FILE]\n"
	     "       leased-token keypair --file FILE\n"
	     "       leased-token mint --file FILE --tenant T [--agent A] [--id ID] --op OP...\n"
	     "                         --namespace NS... [--ttl D] >TOKEN\n"
	     "       leased-token show [--public-key HEX] <TOKEN\n"
	     "Makes and shows capability tokens for leased(8); see leased-token(1).");
	return fflush(stdout) == 0 ? 0 : TOKEN_EXIT_FAILED;
}

static int misuse(const char *what)
{
	token_fail("%s\nTry 'leased-token --help'.", what);
	return TOKEN_EXIT_USAGE;
}

/* Adds the parts of "a,b"; the text is cut up in place. NULL, or what is wrong. */
static const char *add(const char *list[static TOKEN_LIST_MAX + 1], char *text)
{
	size_t count = 0;
	char *rest = NULL;

	while (list[count])
		count++;
	for (char *part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		if (count == TOKEN_LIST_MAX)
			return "too many entries in a list";
		list[count++] = part;
	}
	return NULL;
}

static const char *check_lists(const struct token_options *options)
{
	for (size_t i = 0; options->ops[i]; i++)
		if (!capability_op(bytes_of(options->ops[i])))
			return "an op is acquire, renew, release, inspect, list, break or *, with "
			       "or without \"lease.\"";
	for (size_t i = 0; options->namespaces[i]; i++)
		if (!capability_pattern_possible(bytes_of(options->namespaces[i])))
			return "a namespace is written lease/NAME, lease/START* or *";
	return NULL;
}

static const char *take_duration(const char *text, int64_t *us)
{
	const char *wrong = scalar_duration(text, us);

	return !wrong && *us <= 0 ? "a duration must be more than nothing" : wrong;
}

static const char *take(struct token_options *options, int option)
{
	int64_t unused;

	switch (option) {
	case 'i':
		options->id = optarg;
		return NULL;
	case 't':
		options->tenant = optarg;
		return NULL;
	case 'a':
		options->agent = optarg;
		return NULL;
	case 'o':
		return add(options->ops, optarg);
	case 'n':
		return add(options->namespaces, optarg);
	case 'p':
		return add(options->prefixes, optarg);
	case 'm':
		options->max_ttl = optarg;
		return take_duration(optarg, &unused);
	case 'l':
		return take_duration(optarg, &options->ttl_us);
	case 'f':
		options->file = optarg;
		return NULL;
	case 'k':
		options->public_key = optarg;
		return NULL;
	default:
		return "an option is unknown or has no value";
	}
}

int main(int argc, char **argv)
{
	struct token_options options = {0};
	const char *wrong;
	int option;

	while ((option = getopt_long(argc, argv, ":hV", long_options, NULL)) != -1) {
		if (option == 'h')
			return help();
		if (option == 'V')
			return printf("leased-token %s\n", PACKAGE_VERSION) < 0;
		if ((wrong = take(&options, option)))
			return misuse(wrong);
	}
	if (optind + 1 != argc)
		return misuse("exactly one command is needed");
	if ((wrong = check_lists(&options)))
		return misuse(wrong);
	if (sodium_init() < 0)
		return token_fail("no source of random numbers");
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, argv[optind]) == 0)
			return commands[i].run(&options);
	return misuse("the commands are new, keypair, mint and show");
}
