/* SPDX-License-Identifier: Apache-2.0
 *
 * core/settings.h - the effective configuration as plain data. Made by config/, read by everybody,
 * never changed: a reload makes a new one. All memory belongs to one owner that is freed with it.
 */
#ifndef LEASED_CORE_SETTINGS_H
#define LEASED_CORE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/log.h"
#include "core/driver.h"
#include "core/limits.h"
#include "core/verifier.h"

enum listen_kind { LISTEN_TCP, LISTEN_UNIX };

struct listen_settings {
	enum listen_kind kind;
	const char
	    *host; /* LISTEN_TCP: IPv4 or IPv6 literal or a name, without brackets; "" = any */
	const char *port;
	const char *path; /* LISTEN_UNIX */
	const char *text; /* as written, for messages */
};

struct backend_settings {
	const char *name;
	const struct driver *driver;
	const union option_value *value; /* one per driver->options entry */
};

struct namespace_settings {
	struct bytes name;
	size_t backend; /* index in settings.backend */
};

struct settings {
	const char *source; /* file, NULL = built-in defaults */
	unsigned workers;   /* effective number, 1..DRIVER_WORKERS_MAX */

	struct listen_settings *listen;
	size_t listen_count;
	struct listen_settings metrics; /* host a literal or ""; text NULL = not served */
	const char *metrics_path;
	int64_t shutdown_timeout_us;
	bool reflection;
	bool health;

	enum log_level log_level;
	enum log_format log_format;
	enum log_target log_target;

	struct limits limits;
	struct auth_settings auth;

	struct backend_settings *backend;
	size_t backend_count;
	struct namespace_settings *name_space; /* sorted by name in byte order */
	size_t namespace_count;

	const char *state_dir;

	/* The files that the configuration names, as they were read: a reload hands them to the
	 * workers with the text, so that all see the same. */
	struct bytes attached;
};

/* The namespace called `name` (binary search), or NULL. Does not block. */
const struct namespace_settings *settings_namespace(const struct settings *settings,
						    struct bytes name);

#endif
