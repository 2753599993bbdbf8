/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/log.h"

enum { LINE_MAX_BYTES = 4096 };

static atomic_int least_level = LEVEL_INFO;
static atomic_int line_format = LOG_FORMAT_TEXT;
static atomic_int line_target = LOG_TARGET_STDERR;
static const char *role_name = "master";

static const struct {
	const char *name;
	int priority;
} levels[] = {
    [LEVEL_DEBUG] = {"debug", LOG_DEBUG}, [LEVEL_INFO] = {"info", LOG_INFO},
    [LEVEL_WARN] = {"warn", LOG_WARNING}, [LEVEL_ERROR] = {"error", LOG_ERR},
    [LEVEL_FATAL] = {"fatal", LOG_CRIT},  [LEVEL_BUG] = {"bug", LOG_CRIT},
};

struct line {
	char text[LINE_MAX_BYTES];
	size_t used;
	bool cut;
};

void log_configure(enum log_level least, enum log_format format, enum log_target target)
{
	atomic_store(&least_level, (int)least);
	atomic_store(&line_format, (int)format);
	atomic_store(&line_target, (int)target);
	if (target == LOG_TARGET_SYSLOG)
		openlog("leased", LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void log_role(const char *role)
{
	role_name = role;
}

bool log_enabled(enum log_level level)
{
	return (int)level >= atomic_load_explicit(&least_level, memory_order_relaxed);
}

/* The last four bytes are kept for the mark of a cut line and the newline. */
static void add(struct line *line, const char *data, size_t len)
{
	size_t room = sizeof line->text - 5 - line->used;

	if (line->cut)
		return;
	if (len > room) {
		memcpy(line->text + line->used, "…", 3);
		line->used += 3;
		line->cut = true;
		return;
	}
	memcpy(line->text + line->used, data, len);
	line->used += len;
}

static void add_text(struct line *line, const char *text)
{
	add(line, text, strlen(text));
}

static bool plain(struct bytes value)
{
	if (value.len == 0)
		return false;
	for (size_t i = 0; i < value.len; i++)
		if (value.data[i] <= ' ' || value.data[i] == '"' || value.data[i] == '=' ||
		    value.data[i] == '\\' || value.data[i] >= 0x7f)
			return false;
	return true;
}

/* Quoted, with every byte outside printable ASCII written as \xNN: a name can hold a newline, a
 * terminal escape or half a character, a log line cannot. */
static void add_quoted(struct line *line, struct bytes value)
{
	char escaped[5];

	add(line, "\"", 1);
	for (size_t i = 0; value.data && i < value.len; i++) {
		uint8_t byte = value.data[i];

		if (byte == '"' || byte == '\\')
			add(line, (char[]){'\\', (char)byte}, 2);
		else if (byte >= ' ' && byte < 0x7f)
			add(line, (char[]){(char)byte}, 1);
		else
			add(line, escaped,
			    (size_t)snprintf(escaped, sizeof escaped, "\\x%02x", byte));
	}
	add(line, "\"", 1);
}

static struct bytes field_bytes(const struct log_field *field)
{
	return field->kind == LOG_KIND_BYTES ? field->value.bytes : bytes_of(field->value.text);
}

static void add_field(struct line *line, const struct log_field *field)
{
	char number[24];
	struct bytes value;

	add(line, " ", 1);
	add_text(line, field->key);
	add(line, "=", 1);
	if (field->kind == LOG_KIND_INT) {
		add(line, number,
		    (size_t)snprintf(number, sizeof number, "%lld",
				     (long long)field->value.number));
		return;
	}
	value = field_bytes(field);
	if (plain(value))
		add(line, (const char *)value.data, value.len);
	else
		add_quoted(line, value);
}

static void stamp(char *out, size_t size)
{
	struct timespec now;
	struct tm parts;
	size_t used;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	used = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(out + used, size - used, ".%03ldZ", now.tv_nsec / 1000000);
}

static void write_line(struct line *line)
{
	ssize_t ignored;

	line->text[line->used++] = '\n';
	ignored = write(STDERR_FILENO, line->text, line->used);
	(void)ignored; /* nowhere left to tell */
}

static void format_text(struct line *line, enum log_level level, const char *message, va_list list)
{
	char time[40];

	if (atomic_load(&line_target) == LOG_TARGET_STDERR) {
		stamp(time, sizeof time);
		add_text(line, time);
		add(line, " ", 1);
		add_text(line, levels[level].name);
		add(line, " ", 1);
	}
	add_text(line, role_name);
	add(line, ": ", 2);
	add_text(line, message);
	for (;;) {
		struct log_field field = va_arg(list, struct log_field);

		if (field.kind == LOG_KIND_END)
			return;
		add_field(line, &field);
	}
}

/* A value that is no UTF-8 becomes its escaped form, as in the text format. */
static json_t *json_of(const struct log_field *field)
{
	struct bytes value;
	struct line escaped = {.used = 0};
	json_t *text;

	if (field->kind == LOG_KIND_INT)
		return json_integer(field->value.number);
	value = field_bytes(field);
	text = json_stringn(value.data ? (const char *)value.data : "", value.len);
	if (text)
		return text;
	add_quoted(&escaped, value);
	return json_stringn_nocheck(escaped.text, escaped.used);
}

static void format_json(struct line *line, enum log_level level, const char *message, va_list list)
{
	char time[40];
	json_t *object = json_object();
	char *dump;

	stamp(time, sizeof time);
	json_object_set_new(object, "time", json_string(time));
	json_object_set_new(object, "level", json_string(levels[level].name));
	json_object_set_new(object, "process", json_string(role_name));
	json_object_set_new(object, "message", json_string(message));
	for (;;) {
		struct log_field field = va_arg(list, struct log_field);

		if (field.kind == LOG_KIND_END)
			break;
		json_object_set_new(object, field.key, json_of(&field));
	}
	dump = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(object);
	if (dump && strlen(dump) < sizeof line->text - 5)
		add_text(line, dump);
	else
		add_text(line, "{\"level\":\"error\",\"message\":\"log line too long\"}");
	free(dump);
}

void log_write(enum log_level level, const char *message, ...)
{
	struct line line = {.used = 0};
	va_list list;

	if (!log_enabled(level))
		return;
	va_start(list, message);
	if (atomic_load(&line_format) == LOG_FORMAT_JSON)
		format_json(&line, level, message, list);
	else
		format_text(&line, level, message, list);
	va_end(list);
	if (atomic_load(&line_target) == LOG_TARGET_SYSLOG)
		syslog(levels[level].priority, "%.*s", (int)line.used, line.text);
	else
		write_line(&line);
}
