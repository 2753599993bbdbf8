/* SPDX-License-Identifier: Apache-2.0
 *
 * config/reader.h - what the parts of the reader share: the settings in the making, the report, and
 * where each value stood. Private to config/. */
#ifndef LEASED_CONFIG_READER_H
#define LEASED_CONFIG_READER_H

#include "base/arena.h"
#include "config/config.h"
#include "config/document.h"
#include "config/report.h"
#include "config/schema.h"

enum { PATH_SIZE = 128, BACKENDS_MAX = 32, LISTEN_MAX = 64 };

/* An entry of another block of the suite, skipped. */
struct skipped {
	const char *block;
	unsigned line;
};

/* Where a JWT key came from, for the dump. */
struct key_source {
	const char *algorithm, *file;
};

/* The settings with what dump and renewal need to know of them. `settings` comes first: the two
 * have the same address. */
struct config {
	struct settings settings;
	struct arena arena;
	struct config_input input;

	union option_value value[VALUE_COUNT];
	const char **tcp, **uds; /* as written; end with NULL */
	const char *address;	 /* first one beyond loopback, or NULL */
	const struct skipped *skipped;
	size_t skipped_count;
	struct key_source *jwt_key; /* one per settings.auth.key when the format is AUTH_JWT */
	const char *restart[4];	    /* keys that differ but wait for a restart; ends with NULL */
};

/* The bytes of the files that the configuration names. */
struct attached {
	bool replay; /* `rest` holds them; else they are read and piled up in `kept` */
	struct bytes rest;
	uint8_t *kept; /* malloc */
	size_t kept_len;
};

struct reader {
	struct config *config;
	struct report report;
	bool resolve; /* host names may be looked up */
	const struct node *value[VALUE_COUNT];
	const struct node *tcp, *uds, *backends, *namespaces;
	const struct node *paseto_key, *paseto_keys, *jwt_keys;
	FILE *errors; /* for the errors of further files */
	bool brief;
	struct attached attached;
};

/* "path.name", or "name" in the outermost map; cut when it does not fit. */
void reader_path(char below[static PATH_SIZE], const char *path, const char *name);

/* A mapping's entries by name. `found` gets one entry per name (NULL = absent) and every name must
 * be in `names` (ends with NULL) and there once; else errors. An empty node is a map without
 * entries; false when it is no map. `path` names the map in messages, "" is the whole file. */
bool reader_fields(struct reader *reader, const struct node *map, const char *path,
		   const char *const *names, const struct node **found);

/* Reads one value as `spec` says; `path` names it. False after an error; *value is then untouched.
 */
bool reader_value(struct reader *reader, const struct node *node, const char *path,
		  const struct option_spec *spec, union option_value *value);

/* The text of a node that must be a non-empty text; NULL after an error. */
const char *reader_text(struct reader *reader, const struct node *node, const char *path);

/* Memory that lives as long as the settings, cleared; NULL after an error ("out of memory"). */
void *reader_memory(struct reader *reader, size_t count, size_t size);

/* Error at a node; `hint` may be NULL. */
__attribute__((format(printf, 4, 5))) void reader_error(struct reader *reader,
							const struct node *node, const char *hint,
							const char *format, ...);

/* The sections; each reads its nodes into reader->config and reports. */
void section_read(struct reader *reader, const struct node *root);
void listen_read(struct reader *reader);

/* After renew_pin: the addresses that are served may be open to others than what the text says. */
void listen_judge(struct reader *reader);
void backends_read(struct reader *reader);
void namespaces_read(struct reader *reader);

void auth_read(struct reader *reader);

/* Grants of the token file `text`, named `source`: fills settings.auth.token. Errors are printed
 * with their place in that file; returns how many. */
unsigned tokens_read(struct reader *reader, const char *source, struct bytes text);

/* Reads a file that only its owner and group may read, or takes it from what was read before (see
 * struct attached). False after an error at `node`. Blocks on the file only. */
bool attached_read(struct reader *reader, const struct node *node, const char *path,
		   struct bytes *text);

/* Index of the backend called `name`, -1 when there is none. */
long backends_find(struct reader *reader, const char *name);

/* As backends_find, for a namespace: the implied backend "memory" is made when it is asked for. */
long backends_use(struct reader *reader, const char *name);

/* Keeps in `config` what `old` runs with and only a restart changes; fills config->restart. False
 * when memory is exhausted. */
bool renew_pin(struct config *config, const struct config *old);

#endif
