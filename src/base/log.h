/* SPDX-License-Identifier: Apache-2.0
 *
 * base/log.h - one line, one event: a message and typed fields, as key=value or as one JSON object.
 * Values are escaped, so a name with a newline stays one line. Thread-safe: a line is one write(2).
 * info = state changed; warn = an operator may act; error = a request or child was lost;
 * fatal = this process ends; bug = CHECK. Expected refusals (held, expired) are no log lines. */
#ifndef LEASED_BASE_LOG_H
#define LEASED_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum log_level {
	LEVEL_DEBUG,
	LEVEL_INFO,
	LEVEL_WARN,
	LEVEL_ERROR,
	LEVEL_FATAL,
	LEVEL_BUG,
};
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

enum log_kind { LOG_KIND_END, LOG_KIND_TEXT, LOG_KIND_BYTES, LOG_KIND_INT };

struct log_field {
	enum log_kind kind;
	const char *key;
	union {
		const char *text;
		struct bytes bytes;
		int64_t number;
	} value;
};

#define LOG_TEXT(k, v)	((struct log_field){LOG_KIND_TEXT, (k), {.text = (v)}})
#define LOG_BYTES(k, v) ((struct log_field){LOG_KIND_BYTES, (k), {.bytes = (v)}})
#define LOG_INT(k, v)	((struct log_field){LOG_KIND_INT, (k), {.number = (v)}})
#define LOG_END		((struct log_field){LOG_KIND_END, 0, {0}})

/* log_info("worker started", LOG_INT("pid", pid)); */
#define log_debug(...) log_write(LEVEL_DEBUG, __VA_ARGS__, LOG_END)
#define log_info(...)  log_write(LEVEL_INFO, __VA_ARGS__, LOG_END)
#define log_warn(...)  log_write(LEVEL_WARN, __VA_ARGS__, LOG_END)
#define log_error(...) log_write(LEVEL_ERROR, __VA_ARGS__, LOG_END)
#define log_fatal(...) log_write(LEVEL_FATAL, __VA_ARGS__, LOG_END)

/* Sets what is written and how. Call before threads exist, and again on reload (atomic words). */
void log_configure(enum log_level least, enum log_format format, enum log_target target);

/* Names this process in every line ("master", "worker-0"); `role` must be static. */
void log_role(const char *role);

/* True when lines of this level are written: for callers with costly fields. */
bool log_enabled(enum log_level level);

/* Writes one line. Fields are struct log_field values, the last one LOG_END. A line over 4 KiB is
 * cut with "…". May block as write(2) or syslog(3) does; never called under a table lock. */
void log_write(enum log_level level, const char *message, ...);

#endif
