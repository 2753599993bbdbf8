/* SPDX-License-Identifier: Apache-2.0
 *
 * leasectl/options.h - the command line and the environment, read once. Everything in struct
 * options is borrowed from argv and the environment and lives as long as the process. */
#ifndef LEASED_LEASECTL_OPTIONS_H
#define LEASED_LEASECTL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "leasectl/client.h"

/* sysexits(3), timeout(1) and the shell; leasectl(1) lists them. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_NO = 1,
	STATUS_USAGE = 64,
	STATUS_UNREACHABLE = 69,
	STATUS_BUG = 70,
	STATUS_NOT_OBTAINED = 75,
	STATUS_DENIED = 77,
	STATUS_LOST = 124,
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128,
};

enum verb {
#define VERB(id, name, arguments, function, what) VERB_##id,
#include "leasectl/verbs.def"
#undef VERB
	VERBS
};

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_JSONL, OUTPUT_NAME };
enum on_lost { ON_LOST_KILL, ON_LOST_SIGNAL, ON_LOST_IGNORE };

enum { METADATA_MOST = 64 };

struct options {
	enum verb verb;
	struct client_config client;
	const char *name_space, *key;
	char **rest; /* arguments after the name, NULL at the end; for run the command */
	enum output output;
	bool color, quiet;
	int64_t ttl_us, wait_us, timeout_us, interval_us;
	const char *metadata[METADATA_MOST]; /* KEY=VALUE */
	int metadata_count;
	const char *request_id, *holder, *prefix;
	int conflict_status;
	enum on_lost on_lost;
	int lost_signal;
	int64_t kill_grace_us; /* -1: by the ttl */
	int64_t hold_max_us;   /* 0: no limit */
};

/* Reads everything. Wrong usage, help and version end the process here, with their text and status.
 */
void options_read(int argc, char **argv, struct options *options);

/* "leasectl: " and a line on stderr, unless quiet. */
void options_notice(const struct options *options, const char *form, ...)
    __attribute__((format(printf, 2, 3)));

/* Same, whatever was asked for, and the process ends with STATUS_USAGE. */
_Noreturn void options_refuse(const char *form, ...) __attribute__((format(printf, 1, 2)));

#endif
