/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <string.h>

#include "config/reader.h"
#include "config/scalar.h"

void reader_error(struct reader *reader, const struct node *node, const char *hint,
		  const char *format, ...)
{
	struct mark mark = node ? node->mark : (struct mark){1, 1, 1};
	char message[400];
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	report_add(&reader->report, mark, hint, "%s", message);
}

void *reader_memory(struct reader *reader, size_t count, size_t size)
{
	size_t total;
	void *memory = NULL;

	if (!__builtin_mul_overflow(count, size, &total))
		memory = arena_alloc(&reader->config->arena, total > 0 ? total : 1);
	if (!memory) {
		reader_error(reader, NULL, NULL, "out of memory");
		return NULL;
	}
	return memset(memory, 0, total);
}

void reader_path(char below[static PATH_SIZE], const char *path, const char *name)
{
	int len = snprintf(below, PATH_SIZE, "%s%s%s", path, *path ? "." : "", name);

	(void)len; /* a cut path still tells where */
}

/* A word that is no key here may be one of another section: the usual slip of indentation. */
static bool find_elsewhere(const struct schema_key *keys, const char *prefix, const char *name,
			   char *path)
{
	for (; keys->name; keys++) {
		char own[PATH_SIZE];

		reader_path(own, prefix, keys->name);
		if (strcmp(keys->name, name) == 0) {
			memcpy(path, own, sizeof own);
			return true;
		}
		if (keys->kind == SCHEMA_SECTION && find_elsewhere(keys->keys, own, name, path))
			return true;
	}
	return false;
}

static const char *guess_key(struct reader *reader, const char *name, const char *const *names)
{
	struct guess guess;
	char path[PATH_SIZE];

	guess_init(&guess, name);
	for (; *names; names++)
		guess_offer(&guess, *names);
	if (guess.best || !find_elsewhere(schema_root, "", name, path))
		return guess.best;
	return (const char *)arena_copy(&reader->config->arena,
					(struct bytes){(const uint8_t *)path, strlen(path) + 1})
	    .data;
}

static void take_field(struct reader *reader, const struct node *entry, const char *path,
		       const char *const *names, const struct node **found)
{
	const char *key = entry->key->text;
	const char *in = *path ? " in " : "";
	size_t i = 0;

	while (names[i] && strcmp(names[i], key) != 0)
		i++;
	if (!names[i])
		reader_error(reader, entry->key, guess_key(reader, key, names),
			     "unknown key \"%s\"%s%s", key, in, path);
	else if (found[i])
		reader_error(reader, entry->key, NULL,
			     "duplicate key \"%s\"%s%s (first in line %u)", key, in, path,
			     found[i]->key->mark.line);
	else
		found[i] = entry;
}

bool reader_fields(struct reader *reader, const struct node *map, const char *path,
		   const char *const *names, const struct node **found)
{
	for (size_t i = 0; names[i]; i++)
		found[i] = NULL;
	if (node_empty(map))
		return true;
	if (map->kind != NODE_MAP) {
		reader_error(reader, map, NULL, "%s must be a map of keys, not a %s",
			     *path ? path : "the file", map->kind == NODE_LIST ? "list" : "value");
		return false;
	}
	for (const struct node *entry = map->first; entry; entry = entry->next)
		take_field(reader, entry, path, names, found);
	return true;
}

const char *reader_text(struct reader *reader, const struct node *node, const char *path)
{
	if (node->kind != NODE_TEXT) {
		reader_error(reader, node, NULL, "%s must be one value, not a %s", path,
			     node->kind == NODE_LIST ? "list" : "map");
		return NULL;
	}
	if (node->len == 0) {
		reader_error(reader, node, NULL, "%s has no value", path);
		return NULL;
	}
	return node->text;
}

static bool read_choice(struct reader *reader, const struct node *node, const char *path,
			const char *const *choices, union option_value *value)
{
	char known[200] = "";
	struct guess guess;

	guess_init(&guess, node->text);
	for (int64_t i = 0; choices[i]; i++) {
		if (strcmp(choices[i], node->text) == 0) {
			value->number = i;
			return true;
		}
		guess_offer(&guess, choices[i]);
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s",
			 i > 0 ? ", " : "", choices[i]);
	}
	reader_error(reader, node, guess.best, "%s: unknown value \"%s\" (known: %s)", path,
		     node->text, known);
	return false;
}

static void format_number(const struct option_spec *spec, int64_t number, char *text, size_t size)
{
	if (spec->kind == OPTION_DURATION)
		scalar_duration_format(number, text, size);
	else
		snprintf(text, size, "%lld", (long long)number);
}

static bool read_number(struct reader *reader, const struct node *node, const char *path,
			const struct option_spec *spec, union option_value *value)
{
	char least[48], most[48];
	int64_t number;
	const char *wrong = spec->kind == OPTION_DURATION ? scalar_duration(node->text, &number)
							  : scalar_count(node->text, &number);

	if (wrong) {
		reader_error(reader, node, NULL, "%s: %s", path, wrong);
		return false;
	}
	if (number < spec->least || number > spec->most) {
		format_number(spec, spec->least, least, sizeof least);
		format_number(spec, spec->most, most, sizeof most);
		reader_error(reader, node, NULL, "%s: %s is out of range, %s to %s", path,
			     node->text, least, most);
		return false;
	}
	value->number = number;
	return true;
}

static bool read_bool(struct reader *reader, const struct node *node, const char *path,
		      union option_value *value)
{
	static const char *const yes[] = {"yes", "on", "True", "TRUE", "y", "1", NULL};
	static const char *const no[] = {"no", "off", "False", "FALSE", "n", "0", NULL};
	const char *wrong = scalar_bool(node->text, &value->number), *hint = NULL;

	if (!wrong)
		return true;
	for (size_t i = 0; yes[i]; i++) {
		if (strcmp(node->text, yes[i]) == 0)
			hint = "true";
		if (strcmp(node->text, no[i]) == 0)
			hint = "false";
	}
	reader_error(reader, node, hint, "%s: %s", path, wrong);
	return false;
}

bool reader_value(struct reader *reader, const struct node *node, const char *path,
		  const struct option_spec *spec, union option_value *value)
{
	if (!reader_text(reader, node, path))
		return false;
	switch (spec->kind) {
	case OPTION_TEXT:
	case OPTION_SECRET:
		value->text = node->text;
		return true;
	case OPTION_COUNT:
	case OPTION_DURATION:
		return read_number(reader, node, path, spec, value);
	case OPTION_BOOL:
		return read_bool(reader, node, path, value);
	case OPTION_CHOICE:
		return read_choice(reader, node, path, spec->choices, value);
	}
	return false;
}
