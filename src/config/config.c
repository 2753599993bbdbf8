/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts a configuration together: text, tree, sections, what follows from them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <yaml.h>

#include "config/reader.h"

static struct config *config_of(const struct settings *settings)
{
	return (struct config *)(uintptr_t)settings; /* first member */
}

void config_free(struct settings *settings)
{
	if (!settings)
		return;
	arena_reset(&config_of(settings)->arena);
	free(settings);
}

const char *config_yaml_version(void)
{
	return yaml_get_version_string();
}

/* Reads to the end; false with errno when that fails, EFBIG when there is too much. */
static bool read_all(int fd, uint8_t *data, size_t size, size_t *used)
{
	*used = 0;
	for (;;) {
		ssize_t n = pread(fd, data + *used, size - *used, (off_t)*used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0;
		*used += (size_t)n;
		if (*used == size) {
			errno = EFBIG;
			return false;
		}
	}
}

static enum err load(int fd, size_t most, struct bytes *text)
{
	const size_t size = most + 1;
	struct stat status;
	uint8_t *data, *fitting;
	size_t used;

	if (fstat(fd, &status) < 0)
		return ERR_SYSTEM;
	if (!S_ISREG(status.st_mode)) {
		errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
		return ERR_SYSTEM;
	}
	data = malloc(size);
	if (!data)
		return ERR_SYSTEM;
	if (!read_all(fd, data, size, &used)) {
		free(data);
		return ERR_SYSTEM;
	}
	fitting = realloc(data, used + 1);
	*text = (struct bytes){fitting ? fitting : data, used};
	return ERR_OK;
}

enum err config_load(const char *path, struct bytes *text, char *why, size_t size)
{
	/* Not to hang on a pipe without a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum err err = fd < 0 ? ERR_SYSTEM : load(fd, CONFIG_FILE_MAX, text);

	if (err && errno == EFBIG)
		snprintf(why, size, "%s: bigger than %d bytes", path, CONFIG_FILE_MAX);
	else if (err && errno == EINVAL)
		snprintf(why, size, "%s: not a regular file", path);
	else if (err)
		snprintf(why, size, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}

/* One worker per CPU that this process may use. */
static unsigned cpu_count(void)
{
	cpu_set_t set;
	int count = 1;

	if (sched_getaffinity(0, sizeof set, &set) == 0)
		count = CPU_COUNT(&set);
	return count < 1 ? 1 : count > DRIVER_WORKERS_MAX ? DRIVER_WORKERS_MAX : (unsigned)count;
}

static const char *join(struct reader *reader, const char *base, const char *below)
{
	size_t size = strlen(base) + strlen(below) + 1;
	char *path = reader_memory(reader, size, 1);

	if (path)
		snprintf(path, size, "%s%s", base, below);
	return path;
}

static const char *default_state_dir(struct reader *reader)
{
	const char *given = getenv("STATE_DIRECTORY"), *base = getenv("XDG_STATE_HOME");
	const char *below = "/leased";
	struct passwd *entry;

	if (given && given[0] == '/') {
		/* systemd.exec(5): a list with colons; the first is ours. */
		char *path = reader_memory(reader, strcspn(given, ":") + 1, 1);

		return path ? memcpy(path, given, strcspn(given, ":")) : NULL;
	}
	if (geteuid() == 0)
		return "/var/lib/leased";
	if (!base || base[0] != '/') {
		base = getenv("HOME");
		below = "/.local/state/leased";
	}
	if (!base || base[0] != '/') {
		entry = getpwuid(geteuid());
		base = entry ? entry->pw_dir : NULL;
	}
	if (!base || base[0] != '/')
		return "/var/lib/leased";
	return join(reader, base, below);
}

/* The file's level, moved by -v and -q; beyond "error" only the end of the process is told. */
static enum log_level level_of(const struct config *config)
{
	int64_t level = config->value[VALUE_LOG_LEVEL].number - config->input.verbosity;

	return level < LEVEL_DEBUG   ? LEVEL_DEBUG
	       : level > LEVEL_FATAL ? LEVEL_FATAL
				     : (enum log_level)level;
}

/* What the values mean for the server. */
static void conclude(struct reader *reader)
{
	struct config *config = reader->config;
	const union option_value *value = config->value;
	struct settings *settings = &config->settings;
	int64_t workers =
	    config->input.workers ? config->input.workers : value[VALUE_WORKERS].number;
	int64_t target = value[VALUE_LOG_TARGET].number;

	settings->workers = workers ? (unsigned)workers : cpu_count();
	settings->shutdown_timeout_us = value[VALUE_SHUTDOWN_TIMEOUT].number;
	settings->reflection = value[VALUE_REFLECTION].number != 0;
	settings->health = value[VALUE_HEALTH].number != 0;
	settings->log_level = level_of(config);
	settings->log_format = (enum log_format)value[VALUE_LOG_FORMAT].number;
	if (target == CHOICE_UNSET)
		target = config->input.daemon ? LOG_TARGET_SYSLOG : LOG_TARGET_STDERR;
	settings->log_target = (enum log_target)target;
	settings->limits.max_ttl_us = value[VALUE_MAX_TTL].number;
	settings->limits.max_wait_us = value[VALUE_MAX_WAIT].number;
	settings->attached = arena_copy(
	    &config->arena, (struct bytes){reader->attached.kept, reader->attached.kept_len});
	settings->metrics_path = value[VALUE_PROMETHEUS_PATH].text;
	settings->state_dir = value[VALUE_STATE_DIR].text;
	if (!settings->state_dir)
		settings->state_dir = default_state_dir(reader);
}

/* A file of an editor that marks UTF-8 by a byte order mark is as good as any. */
static struct bytes without_mark(struct bytes text)
{
	if (bytes_start_with(text, bytes_of("\xef\xbb\xbf")))
		return (struct bytes){text.data + 3, text.len - 3};
	return text;
}

static void read_text(struct reader *reader)
{
	struct node *root = NULL;

	if (reader->report.text.len > 0 &&
	    !document_read(&reader->report, &reader->config->arena, &root))
		return;
	section_read(reader, root);
	auth_read(reader);
	listen_read(reader);
	backends_read(reader);
	namespaces_read(reader);
	conclude(reader);
}

/* Empty settings whose source name is their own copy; NULL when memory is exhausted. */
static struct config *make_config(const struct config_input *input, const char *source)
{
	struct config *config = calloc(1, sizeof *config);
	struct bytes copy;

	if (!config)
		return NULL;
	arena_init(&config->arena);
	config->input = *input;
	if (!source)
		return config;
	copy =
	    arena_copy(&config->arena, (struct bytes){(const uint8_t *)source, strlen(source) + 1});
	config->settings.source = (const char *)copy.data;
	if (config->settings.source)
		return config;
	config_free(&config->settings);
	return NULL;
}

struct request {
	const struct config_input *input;
	const char *source;
	struct bytes text;
	const struct bytes *attached; /* not to be read from disk again; NULL = read */
	const struct config *old;     /* what runs; NULL for a start */
};

static enum err judge(const struct request *request, struct reader *reader, FILE *errors)
{
	const char *source = request->source;

	reader->resolve = !request->old;
	reader->errors = errors;
	reader->brief = request->old != NULL;
	reader->attached.replay = request->attached != NULL;
	if (request->attached)
		reader->attached.rest = *request->attached;
	report_init(&reader->report, &reader->config->arena, source ? source : "built-in defaults",
		    without_mark(request->text));
	read_text(reader);
	if (reader->report.count == 0 && request->old && !renew_pin(reader->config, request->old))
		reader_error(reader, NULL, NULL, "out of memory");
	if (request->old)
		listen_judge(reader);
	report_print(&reader->report, errors, reader->brief);
	return reader->report.count == 0 ? ERR_OK : ERR_INVALID_ARGUMENT;
}

static enum err make(const struct request *request, FILE *errors, struct settings **settings)
{
	struct config *config = make_config(request->input, request->source);
	struct reader *reader = calloc(1, sizeof *reader);
	enum err err = ERR_INVALID_ARGUMENT;

	*settings = NULL;
	if (config && reader) {
		reader->config = config;
		err = judge(request, reader, errors);
	} else {
		fputs("configuration: error: out of memory\n", errors);
	}
	if (reader)
		free(reader->attached.kept);
	free(reader);
	if (!err)
		*settings = &config->settings;
	else if (config)
		config_free(&config->settings);
	return err;
}

enum err config_read(const struct config_input *input, const char *source, struct bytes text,
		     FILE *errors, struct settings **settings)
{
	const struct request request = {input, source, text, NULL, NULL};

	return make(&request, errors, settings);
}

enum err config_renew(const struct settings *old, struct bytes text, FILE *errors,
		      struct settings **settings)
{
	const struct config *config = config_of(old);
	const struct request request = {&config->input, old->source, text, NULL, config};

	return make(&request, errors, settings);
}

/* The text, and after a NUL, which no valid text holds, the files that it names. */
static void renew_handed(const struct settings *old, struct bytes handed, FILE *errors,
			 struct settings **settings)
{
	const struct config *config = config_of(old);
	const uint8_t *end = handed.len ? memchr(handed.data, 0, handed.len) : NULL;
	size_t len = end ? (size_t)(end - handed.data) : handed.len;
	struct bytes attached = {handed.data + len + 1, end ? handed.len - len - 1 : 0};
	const struct request request = {
	    &config->input, old->source, {handed.data, len}, &attached, config};

	make(&request, errors, settings);
}

struct settings *config_reload(int fd, const struct settings *old)
{
	struct settings *settings = NULL;
	struct bytes text;
	FILE *silence = fopen("/dev/null", "we");

	if (silence && load(fd, CONFIG_HANDED_MAX, &text) == ERR_OK) {
		renew_handed(old, text, silence, &settings);
		free((void *)(uintptr_t)text.data);
	}
	if (silence)
		fclose(silence);
	return settings;
}
