/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leasectl/option.h"

#define V(id)	OPTION_VERB(VERB_##id)
#define ALL	(UINT32_MAX)
#define ONE_KEY OPTION_ONE_KEY
#define TAKES	(V(ACQUIRE) | V(RUN))
#define SHOWS	(V(ACQUIRE) | V(RENEW) | V(RELEASE) | V(INSPECT) | V(LIST) | V(HEALTH))

static const struct option_row rows[] = {
#define OPTION(id, name, letter, argument, verbs, what) {name, letter, argument, verbs, what},
#include "leasectl/options.def"
#undef OPTION
};

static const char *const written[] = {
#define OPTION(id, name, letter, argument, verbs, what) "--" name,
#include "leasectl/options.def"
#undef OPTION
};

static const struct verb_row verbs[] = {
#define VERB(id, name, arguments, function, what) {name, arguments, what},
#include "leasectl/verbs.def"
#undef VERB
};

/* getopt's own tables, made from rows by option_begin. */
static struct {
	int argc;
	char **argv;
	char letters[2 * OPTIONS + 2];
	struct option longs[OPTIONS + 1];
} reading;

enum { LONG_BASE = 256 };

const struct option_row *option_row(enum option_id id)
{
	return &rows[id];
}

const struct verb_row *option_verb_row(enum verb verb)
{
	return &verbs[verb];
}

const char *option_written(enum option_id id)
{
	return written[id];
}

void option_begin(int argc, char **argv)
{
	char *letter = reading.letters;

	reading.argc = argc;
	reading.argv = argv;
	*letter++ = ':';
	for (int i = 0; i < OPTIONS; i++) {
		bool argument = *rows[i].argument != 0;

		reading.longs[i] = (struct option){
		    rows[i].name, argument ? required_argument : no_argument, NULL, LONG_BASE + i};
		if (!rows[i].letter)
			continue;
		*letter++ = rows[i].letter;
		if (argument)
			*letter++ = ':';
	}
}

bool option_next(enum option_id *id, const char **text)
{
	int got = getopt_long(reading.argc, reading.argv, reading.letters, reading.longs, NULL);
	const char *last = reading.argv[optind > 0 ? optind - 1 : 0];

	if (got == -1)
		return false;
	if (got == ':')
		options_refuse("%s needs a value", last);
	if (got == '?' && optopt && optopt < LONG_BASE)
		options_refuse("unknown option -%c", optopt);
	if (got == '?')
		options_refuse(optopt ? "%s takes no value" : "unknown or ambiguous option %s",
			       last);
	*id = (enum option_id)0; /* getopt only answers with what stands in rows */
	for (int i = 0; i < OPTIONS; i++)
		if (got == LONG_BASE + i || (rows[i].letter && got == rows[i].letter))
			*id = (enum option_id)i;
	*text = *rows[*id].argument ? optarg : NULL;
	return true;
}

enum verb option_verb(const char *name)
{
	int verb = 0;

	while (verb < VERBS && strcmp(verbs[verb].name, name) != 0)
		verb++;
	return (enum verb)verb;
}

void option_check(enum verb verb, uint32_t seen)
{
	for (int i = 0; i < OPTIONS; i++)
		if ((seen & UINT32_C(1) << i) && !(rows[i].verbs & OPTION_VERB(verb)))
			options_refuse("%s is no option of %s", written[i], verbs[verb].name);
}

static void help_options(FILE *to, enum verb verb)
{
	fputs("\nOptions:\n", to);
	for (int i = 0; i < OPTIONS; i++) {
		char left[64];
		int used;

		if (verb == VERBS ? rows[i].verbs != ALL : !(rows[i].verbs & OPTION_VERB(verb)))
			continue;
		used = rows[i].letter ? snprintf(left, sizeof left, "-%c, ", rows[i].letter)
				      : snprintf(left, sizeof left, "    ");
		snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", rows[i].name,
			 *rows[i].argument ? "=" : "", rows[i].argument);
		fprintf(to, "  %-34s %s\n", left, rows[i].what);
	}
}

_Noreturn void option_help(enum verb verb, int status)
{
	FILE *to = status ? stderr : stdout;

	if (verb == VERBS) {
		fputs("Usage: leasectl COMMAND [OPTION...] [ARGUMENT...]\n\n"
		      "Takes, shows and gives back leases of a leased server.\n\nCommands:\n",
		      to);
		for (int i = 0; i < VERBS; i++)
			fprintf(to, "  %-11s %s\n", verbs[i].name, verbs[i].what);
	} else {
		fprintf(to, "Usage: leasectl %s [OPTION...] %s\n\nTo %s.\n", verbs[verb].name,
			verbs[verb].arguments, verbs[verb].what);
	}
	help_options(to, verb);
	fputs(verb == VERBS ? "\nleasectl COMMAND --help names the options of one command; "
			      "leasectl(1) tells all.\n"
			    : "\nSee leasectl(1).\n",
	      to);
	exit(status);
}
