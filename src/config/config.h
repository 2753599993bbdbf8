/* SPDX-License-Identifier: Apache-2.0
 *
 * config/config.h - from a YAML file to core/settings.h and back.
 * Used by: main.c; the master gets the functions it needs handed down. Not thread-safe; no state
 * outside the settings that are made here. */
#ifndef LEASED_CONFIG_CONFIG_H
#define LEASED_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"
#include "core/settings.h"

enum { CONFIG_FILE_MAX = 1024 * 1024, CONFIG_HANDED_MAX = 40 * CONFIG_FILE_MAX };

/* What is known beside the file. Borrowed for as long as the settings made from it, and those
 * reloaded from them, live. */
struct config_input {
	const struct driver *const *drivers; /* ends with NULL; the first one is the default */
	const struct verifier *verifier;     /* judges keys; NULL = no keys can be used */
	unsigned workers;		     /* -w; 0 = the file decides */
	int verbosity;			     /* -v is +1, -q is -1, added to the file's level */
	bool daemon;			     /* logs go to syslog unless the file says otherwise */
};

/* Reads the whole of `path` into *text (malloc, the caller frees text->data). ERR_SYSTEM with a
 * line in `why` when it is no regular file, too big or cannot be read. Blocks on the file only. */
enum err config_load(const char *path, struct bytes *text, char *why, size_t size);

/* Judges `text` (NULL data = no file, the defaults) and makes settings, to be freed with
 * config_free. `source` names the file in messages; it is copied. On any error, all of them are
 * written to `errors` with the place, the line and a caret, and ERR_INVALID_ARGUMENT comes back.
 * Blocks while host names in addresses resolve. */
enum err config_read(const struct config_input *input, const char *source, struct bytes text,
		     FILE *errors, struct settings **settings);

/* As config_read, for a server that runs with `old`: what only a restart can change (listen,
 * backends, state_dir) is kept from `old`, in the same order, and namespaces on backends that do
 * not run yet are left out. Errors are one line each, without the source line, for the log. No name
 * is resolved. Does not block. */
enum err config_renew(const struct settings *old, struct bytes text, FILE *errors,
		      struct settings **settings);

/* The `reload` of struct worker_setup: config_renew of what `fd` holds (the text and, after
 * a NUL, settings->attached), silently. NULL on failure.
 * `fd` stays the caller's. */
struct settings *config_reload(int fd, const struct settings *old);

/* Frees settings made here; NULL is allowed. */
void config_free(struct settings *settings);

/* Sets the log as the settings say. */
void config_apply_log(const struct settings *settings);

/* Logs what an operator should know of settings that are valid: entries skipped, keys that have no
 * effect yet, keys that only a restart applies, risky file modes. For the master, once per read. */
void config_log_notes(const struct settings *settings);

/* Writes the effective configuration as YAML that config_read accepts, with every key; keys that
 * are not set stand as comments, secrets are masked. False when writing failed. */
bool config_dump(const struct settings *settings, FILE *out);

/* Version of the YAML library in use; static. */
const char *config_yaml_version(void);

#endif
