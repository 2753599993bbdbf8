/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "leasectl/duration.h"
#include "leasectl/option.h"
#include "leasectl/options.h"
#include "leasectl/signals.h"

#define DEFAULT_TTL	 (60 * CLOCK_SECOND)
#define DEFAULT_TIMEOUT	 (10 * CLOCK_SECOND)
#define DEFAULT_ENDPOINT "127.0.0.1:7777"

void options_notice(const struct options *options, const char *form, ...)
{
	va_list list;

	if (options->quiet)
		return;
	va_start(list, form);
	fputs("leasectl: ", stderr);
	vfprintf(stderr, form, list);
	fputc('\n', stderr);
	va_end(list);
}

void options_refuse(const char *form, ...)
{
	va_list list;

	va_start(list, form);
	fputs("leasectl: ", stderr);
	vfprintf(stderr, form, list);
	fputs("\nTry \"leasectl --help\".\n", stderr);
	va_end(list);
	exit(STATUS_USAGE);
}

static const char *environment(const char *name, const char *otherwise)
{
	const char *text = getenv(name);

	return text && *text ? text : otherwise;
}

static int64_t read_time(const char *option, const char *text)
{
	int64_t us = 0;
	const char *wrong = duration_parse(text, &us);

	if (wrong)
		options_refuse("%s: \"%s\" %s", option, text, wrong);
	return us;
}

static int64_t read_time_above_zero(const char *option, const char *text)
{
	int64_t us = read_time(option, text);

	if (us == 0)
		options_refuse("%s: must be more than zero", option);
	return us;
}

static int read_status(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (!*text || *end || number < 0 || number > 255)
		options_refuse("--conflict-exit-code: \"%s\" is not between 0 and 255", text);
	return (int)number;
}

static enum output read_output(const char *text)
{
	static const char *const names[] = {"table", "wide", "json", "jsonl", "name"};

	for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
		if (!strcmp(names[i], text))
			return (enum output)i;
	options_refuse("--output: \"%s\" is none of table, wide, json, jsonl and name", text);
}

static bool read_color(const char *text)
{
	if (!strcmp(text, "always"))
		return true;
	if (!strcmp(text, "never"))
		return false;
	if (strcmp(text, "auto") != 0)
		options_refuse("--color: \"%s\" is none of auto, always and never", text);
	return isatty(STDOUT_FILENO) && !*environment("NO_COLOR", "") &&
	       strcmp(environment("TERM", "dumb"), "dumb") != 0;
}

static void read_on_lost(struct options *options, const char *text)
{
	if (!strcmp(text, "kill")) {
		options->on_lost = ON_LOST_KILL;
	} else if (!strcmp(text, "ignore")) {
		options->on_lost = ON_LOST_IGNORE;
	} else if (!strncmp(text, "signal=", 7) && signals_number(text + 7) > 0) {
		options->on_lost = ON_LOST_SIGNAL;
		options->lost_signal = signals_number(text + 7);
	} else {
		options_refuse("--on-lost: \"%s\" is none of kill, ignore and signal=NAME", text);
	}
}

static void add_metadata(struct options *options, const char *text)
{
	if (!strchr(text, '=') || *text == '=')
		options_refuse("--metadata: \"%s\" is not KEY=VALUE", text);
	if (options->metadata_count == METADATA_MOST)
		options_refuse("--metadata: at most %d", METADATA_MOST);
	options->metadata[options->metadata_count++] = text;
}

/* Options that only name something. */
static const char **text_of(struct options *options, enum option_id id)
{
	switch ((int)id) {
	case OPTION_ENDPOINT:
		return &options->client.endpoint;
	case OPTION_TOKEN_FILE:
		return &options->client.token_file;
	case OPTION_CA_FILE:
		return &options->client.ca_file;
	case OPTION_CERT_FILE:
		return &options->client.cert_file;
	case OPTION_KEY_FILE:
		return &options->client.key_file;
	case OPTION_NAMESPACE:
		return &options->name_space;
	case OPTION_KEY:
		return &options->key;
	case OPTION_REQUEST_ID:
		return &options->request_id;
	case OPTION_HOLDER:
		return &options->holder;
	case OPTION_PREFIX:
		return &options->prefix;
	default:
		return NULL;
	}
}

/* Options that are times. */
static int64_t *time_of(struct options *options, enum option_id id)
{
	switch ((int)id) {
	case OPTION_TTL:
		return &options->ttl_us;
	case OPTION_TIMEOUT:
		return &options->timeout_us;
	case OPTION_INTERVAL:
		return &options->interval_us;
	case OPTION_HOLD_MAX:
		return &options->hold_max_us;
	default:
		return NULL;
	}
}

static void take(struct options *options, enum option_id id, const char *written, const char *text)
{
	if (text_of(options, id))
		*text_of(options, id) = text;
	else if (time_of(options, id))
		*time_of(options, id) = read_time_above_zero(written, text);
	else if (id == OPTION_WAIT)
		options->wait_us = read_time(written, text);
	else if (id == OPTION_NO_WAIT)
		options->wait_us = 0;
	else if (id == OPTION_KILL_GRACE)
		options->kill_grace_us = read_time(written, text);
	else if (id == OPTION_OUTPUT)
		options->output = read_output(text);
	else if (id == OPTION_COLOR)
		options->color = read_color(text);
	else if (id == OPTION_QUIET)
		options->quiet = true;
	else if (id == OPTION_METADATA)
		add_metadata(options, text);
	else if (id == OPTION_CONFLICT)
		options->conflict_status = read_status(text);
	else if (id == OPTION_ON_LOST)
		read_on_lost(options, text);
}

static void set_defaults(struct options *options)
{
	memset(options, 0, sizeof *options);
	options->client.endpoint = environment("LEASED_ENDPOINT", DEFAULT_ENDPOINT);
	options->client.token_file = environment("LEASED_TOKEN_FILE", NULL);
	options->client.ca_file = environment("LEASED_CA_FILE", NULL);
	options->client.cert_file = environment("LEASED_CERT_FILE", NULL);
	options->client.key_file = environment("LEASED_KEY_FILE", NULL);
	options->ttl_us = DEFAULT_TTL;
	options->timeout_us = DEFAULT_TIMEOUT;
	if (*environment("LEASED_TIMEOUT", ""))
		options->timeout_us =
		    read_time_above_zero("LEASED_TIMEOUT", getenv("LEASED_TIMEOUT"));
	options->interval_us = CLOCK_SECOND;
	options->color = read_color("auto");
	options->conflict_status = STATUS_NOT_OBTAINED;
	options->kill_grace_us = -1;
}

/* The part of argv after the first "--" is a command; it is cut off, so that getopt never sees it.
 */
static char **cut_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++)
		if (!strcmp(argv[i], "--")) {
			*argc = i;
			return argv + i + 1;
		}
	return NULL;
}

/* "locks/deploy", or a key alone when the namespace is known from elsewhere. */
static void take_name(struct options *options, char *text)
{
	char *slash = strchr(text, '/');

	if (options->key)
		options_refuse("the key is given twice: \"%s\" and --key", text);
	options->key = text;
	if (options->name_space || !slash)
		return;
	*slash = 0;
	options->name_space = text;
	options->key = slash + 1;
}

static void take_arguments(struct options *options, char **arguments, char **command)
{
	uint32_t verb = OPTION_VERB(options->verb);
	bool key = verb & OPTION_ONE_KEY;

	if (key && !options->key && *arguments)
		take_name(options, *arguments++);
	else if ((verb & OPTION_OF_NAMESPACE) && *arguments)
		options->name_space = *arguments++;
	if (!options->name_space)
		options->name_space = environment("LEASED_NAMESPACE", "locks");
	if (key && (!options->key || !*options->key))
		options_refuse("which key? Write NAMESPACE/KEY");
	if ((verb & OPTION_OF_HOLDER) && !options->holder && *arguments)
		options->holder = *arguments++;
	if (options->verb != VERB_HEALTH && options->verb != VERB_COMPLETION && *arguments)
		options_refuse("\"%s\" is one argument too many%s", *arguments,
			       options->verb == VERB_RUN ? "; the command stands after --" : "");
	if (command && options->verb != VERB_RUN && *command)
		options_refuse("only run takes a command");
	options->rest = options->verb == VERB_RUN ? command : arguments;
	if (options->verb == VERB_RUN && (!command || !*command))
		options_refuse("which command? Write -- COMMAND");
}

void options_read(int argc, char **argv, struct options *options)
{
	char **command = cut_command(&argc, argv);
	static char *empty[] = {NULL};
	uint32_t seen = 0;
	enum option_id id;
	const char *text;

	_Static_assert(OPTIONS <= 32, "a bit for each");
	set_defaults(options);
	option_begin(argc, argv);
	while (option_next(&id, &text)) {
		seen |= UINT32_C(1) << id;
		take(options, id, option_written(id), text);
	}
	if (optind >= argc && !(seen & (UINT32_C(1) << OPTION_VERSION)))
		option_help(VERBS, seen & (UINT32_C(1) << OPTION_HELP) ? STATUS_OK : STATUS_USAGE);
	options->verb = optind < argc ? option_verb(argv[optind]) : VERB_VERSION;
	if (options->verb == VERBS)
		options_refuse("unknown command \"%s\"", argv[optind]);
	if (seen & (UINT32_C(1) << OPTION_HELP))
		option_help(options->verb, STATUS_OK);
	option_check(options->verb, seen);
	argv[argc] = NULL;
	take_arguments(options, optind < argc ? argv + optind + 1 : empty, command);
}
