/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/option.h - the table of options and verbs: reading argv by it, help, completion. */
#ifndef LEASED_LEASECTL_OPTION_H
#define LEASED_LEASECTL_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "leasectl/options.h"

enum option_id {
#define OPTION(id, name, letter, argument, verbs, what) OPTION_##id,
#include "leasectl/options.def"
#undef OPTION
	OPTIONS
};

/* Sets of verbs, as bits. */
#define OPTION_VERB(verb) (UINT32_C(1) << (verb))
#define OPTION_ONE_KEY                                                                             \
	(OPTION_VERB(VERB_ACQUIRE) | OPTION_VERB(VERB_RENEW) | OPTION_VERB(VERB_RELEASE) |         \
	 OPTION_VERB(VERB_INSPECT) | OPTION_VERB(VERB_RUN))
#define OPTION_OF_NAMESPACE                                                                        \
	(OPTION_VERB(VERB_LIST) | OPTION_VERB(VERB_WATCH) | OPTION_VERB(VERB_TOP))
#define OPTION_OF_HOLDER (OPTION_VERB(VERB_RENEW) | OPTION_VERB(VERB_RELEASE))

struct option_row {
	const char *name;
	char letter;	      /* 0: none */
	const char *argument; /* "": a flag */
	uint32_t verbs;
	const char *what;
};

struct verb_row {
	const char *name, *arguments, *what;
};

const struct option_row *option_row(enum option_id id);
const struct verb_row *option_verb_row(enum verb verb);

/* Starts over argv; options may stand anywhere. */
void option_begin(int argc, char **argv);

/* The next option and its argument (NULL for a flag); false at the end. What is unknown or lacks
 * its argument ends the process with STATUS_USAGE. */
bool option_next(enum option_id *id, const char **text);

/* "--name", static. */
const char *option_written(enum option_id id);

/* The verb of that name, VERBS when there is none. */
enum verb option_verb(const char *name);

/* Refuses options (bits of option_id) that do not belong to the verb. */
void option_check(enum verb verb, uint32_t seen);

/* Prints help on one verb, or on all with VERBS, and ends the process: to stdout for status 0. */
_Noreturn void option_help(enum verb verb, int status);

#endif
