/* SPDX-License-Identifier: Apache-2.0
 *
 * backends[]: names, drivers and the drivers' own options. */
#include <string.h>

#include "config/reader.h"

enum { NAME_MAX_BYTES = 64, OPTIONS_MAX = 32 };

#define IMPLIED "memory"

static size_t option_count(const struct driver *driver)
{
	size_t count = 0;

	while (driver->options[count].name)
		count++;
	return count;
}

/* A name becomes part of file and segment names. */
static bool good_name(const char *name)
{
	size_t len = strlen(name);

	return len <= NAME_MAX_BYTES && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
		   len;
}

static const char *read_name(struct reader *reader, const struct node *node, const char *path)
{
	const char *name = reader_text(reader, node, path);

	if (!name)
		return NULL;
	if (good_name(name))
		return name;
	reader_error(reader, node, NULL,
		     "%s: at most %d letters, digits, '_', '-' and '.', not first a '.'", path,
		     NAME_MAX_BYTES);
	return NULL;
}

static const struct driver *read_driver(struct reader *reader, const struct node *node,
					const char *path)
{
	const struct driver *const *driver = reader->config->input.drivers;
	const char *name = reader_text(reader, node, path);
	char known[200] = "";
	struct guess guess;

	if (!name)
		return NULL;
	guess_init(&guess, name);
	for (; *driver; driver++) {
		if (strcmp((*driver)->name, name) == 0)
			return *driver;
		guess_offer(&guess, (*driver)->name);
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
			 *known ? ", " : "", (*driver)->name);
	}
	reader_error(reader, node, guess.best, "%s: unknown driver \"%s\" (known: %s)", path, name,
		     known);
	return NULL;
}

/* The driver's defaults; NULL after an error. */
static union option_value *default_values(struct reader *reader, const struct driver *driver)
{
	size_t count = option_count(driver);
	union option_value *value = reader_memory(reader, count, sizeof *value);

	for (size_t i = 0; value && i < count; i++)
		value[i] = driver->options[i].fallback;
	return value;
}

static void read_options(struct reader *reader, const struct node *map, const char *path,
			 const struct driver *driver, union option_value *value)
{
	const char *names[OPTIONS_MAX + 1] = {NULL};
	const struct node *found[OPTIONS_MAX];

	for (size_t i = 0; i < option_count(driver) && i < OPTIONS_MAX; i++)
		names[i] = driver->options[i].name;
	if (!reader_fields(reader, map, path, names, found))
		return;
	for (size_t i = 0; names[i]; i++) {
		char below[PATH_SIZE];

		reader_path(below, path, names[i]);
		if (found[i])
			reader_value(reader, found[i], below, &driver->options[i], &value[i]);
	}
}

static void add_backend(struct reader *reader, const char *name, const struct driver *driver,
			const union option_value *value)
{
	struct settings *settings = &reader->config->settings;

	settings->backend[settings->backend_count++] =
	    (struct backend_settings){.name = name, .driver = driver, .value = value};
}

static void read_backend(struct reader *reader, const struct node *entry, size_t index)
{
	static const char *const names[] = {"name", "driver", "options", NULL};
	const struct node *found[3];
	char path[PATH_SIZE], below[PATH_SIZE];
	const struct driver *driver = NULL;
	union option_value *value = NULL;
	const char *name = NULL;

	snprintf(path, sizeof path, "backends[%zu]", index);
	if (!reader_fields(reader, entry, path, names, found))
		return;
	if (!found[0] || !found[1])
		reader_error(reader, entry, NULL, "%s needs a %s", path,
			     found[0] ? "driver" : "name");
	reader_path(below, path, "name");
	if (found[0])
		name = read_name(reader, found[0], below);
	if (name && backends_find(reader, name) >= 0)
		reader_error(reader, found[0], NULL, "backend \"%s\" is there twice", name);
	reader_path(below, path, "driver");
	if (found[1])
		driver = read_driver(reader, found[1], below);
	if (driver)
		value = default_values(reader, driver);
	reader_path(below, path, "options");
	if (value && found[2])
		read_options(reader, found[2], below, driver, value);
	/* A backend with a bad driver is kept by name, so that its namespaces are no second error.
	 */
	if (name)
		add_backend(reader, name, driver, value);
}

long backends_find(struct reader *reader, const char *name)
{
	const struct settings *settings = &reader->config->settings;

	for (size_t i = 0; i < settings->backend_count; i++)
		if (strcmp(settings->backend[i].name, name) == 0)
			return (long)i;
	return -1;
}

long backends_use(struct reader *reader, const char *name)
{
	const struct driver *driver = reader->config->input.drivers[0];
	union option_value *value;
	long index = backends_find(reader, name);

	if (index >= 0 || strcmp(name, IMPLIED) != 0)
		return index;
	value = default_values(reader, driver);
	if (!value)
		return -1;
	add_backend(reader, IMPLIED, driver, value);
	return (long)reader->config->settings.backend_count - 1;
}

void backends_read(struct reader *reader)
{
	const struct node *list = reader->backends;
	struct settings *settings = &reader->config->settings;
	size_t index = 0;

	/* One more for the implied one. */
	settings->backend = reader_memory(reader, BACKENDS_MAX + 1, sizeof *settings->backend);
	if (!settings->backend || !list || node_empty(list))
		return;
	if (list->kind != NODE_LIST) {
		reader_error(reader, list, NULL, "backends must be a list");
		return;
	}
	if (list->count > BACKENDS_MAX) {
		reader_error(reader, list->key, NULL, "more than %d backends", BACKENDS_MAX);
		return;
	}
	for (const struct node *entry = list->first; entry; entry = entry->next)
		read_backend(reader, entry, index++);
}
