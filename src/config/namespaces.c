/* SPDX-License-Identifier: Apache-2.0
 *
 * namespaces[]: the names that are served and where their leases live. The file may be shared with
 * other services of the suite: entries of another block are theirs and only noted. */
#include <stdlib.h>
#include <string.h>

#include "core/lease.h"
#include "config/reader.h"

#define OWN_BLOCK	"lease"
#define DEFAULT_BACKEND "memory"
#define DEFAULT_NAME	"locks"

/* One entry on its way: the place is kept for the report of duplicates. */
struct entry {
	struct namespace_settings name_space;
	const struct node *node;
};

static long read_backend_name(struct reader *reader, const struct node *node, const char *path)
{
	const struct settings *settings = &reader->config->settings;
	const char *name = node ? reader_text(reader, node, path) : DEFAULT_BACKEND;
	struct guess guess;
	long index;

	if (!name)
		return -1;
	index = backends_use(reader, name);
	if (index >= 0)
		return index;
	guess_init(&guess, name);
	guess_offer(&guess, DEFAULT_BACKEND);
	for (size_t i = 0; i < settings->backend_count; i++)
		guess_offer(&guess, settings->backend[i].name);
	reader_error(reader, node, guess.best, "%s: backend \"%s\" is not defined under backends",
		     path, name);
	return -1;
}

static bool read_own(struct reader *reader, const struct node *map, const char *path,
		     struct entry *entry)
{
	static const char *const names[] = {"block", "name", "backend", NULL};
	const struct node *found[3];
	char below[PATH_SIZE];
	const char *name;
	long backend;

	if (!reader_fields(reader, map, path, names, found))
		return false;
	if (!found[1]) {
		reader_error(reader, map, NULL, "%s needs a name", path);
		return false;
	}
	reader_path(below, path, "name");
	name = reader_text(reader, found[1], below);
	if (name && found[1]->len > LEASE_NAMESPACE_MAX) {
		reader_error(reader, found[1], NULL, "%s: longer than %d bytes", below,
			     LEASE_NAMESPACE_MAX);
		name = NULL;
	}
	reader_path(below, path, "backend");
	backend = read_backend_name(reader, found[2], below);
	if (!name || backend < 0)
		return false;
	*entry = (struct entry){{bytes_of(name), (size_t)backend}, found[1]};
	return true;
}

/* The block an entry is for; NULL when it says none. Its other keys are not looked at. */
static const struct node *block_of(const struct node *map)
{
	for (const struct node *value = map->first; value; value = value->next)
		if (map->kind == NODE_MAP && strcmp(value->key->text, "block") == 0)
			return value;
	return NULL;
}

static bool read_entry(struct reader *reader, const struct node *map, size_t index,
		       struct entry *entry, struct skipped *skipped)
{
	const struct node *block = block_of(map);
	char path[PATH_SIZE];
	struct guess guess;

	snprintf(path, sizeof path, "namespaces[%zu]", index);
	if (map->kind != NODE_MAP) {
		reader_error(reader, map, NULL, "%s must be a map of keys, not a %s", path,
			     map->kind == NODE_LIST ? "list" : "value");
		return false;
	}
	if (!block || strcmp(block->text, OWN_BLOCK) == 0) {
		if (!block)
			reader_error(reader, map, NULL, "%s needs a block, such as lease", path);
		return read_own(reader, map, path, entry) && block;
	}
	if (block->kind != NODE_TEXT || block->len == 0) {
		reader_error(reader, block, NULL, "%s.block must be one word", path);
		return false;
	}
	/* A slip of the own name would make a namespace vanish. */
	guess_init(&guess, block->text);
	guess.distance = 3;
	guess_offer(&guess, OWN_BLOCK);
	if (guess.best) {
		reader_error(reader, block, guess.best, "%s.block: unknown block \"%s\"", path,
			     block->text);
		return false;
	}
	*skipped = (struct skipped){block->text, map->mark.line};
	return false;
}

static int by_name(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = bytes_compare(a->name_space.name, b->name_space.name);

	if (order != 0)
		return order;
	return a->node->mark.line < b->node->mark.line ||
		       (a->node->mark.line == b->node->mark.line &&
			a->node->mark.column < b->node->mark.column)
		   ? -1
		   : 1;
}

static void store(struct reader *reader, struct entry *entry, size_t count)
{
	struct settings *settings = &reader->config->settings;

	qsort(entry, count, sizeof *entry, by_name);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && bytes_equal(entry[i - 1].name_space.name, entry[i].name_space.name))
			reader_error(reader, entry[i].node, NULL, "namespace \"%s\" is there twice",
				     entry[i].node->text);
		settings->name_space[i] = entry[i].name_space;
	}
	settings->namespace_count = count;
}

static void read_default(struct reader *reader)
{
	struct settings *settings = &reader->config->settings;
	long backend = backends_use(reader, DEFAULT_BACKEND);

	settings->name_space = reader_memory(reader, 1, sizeof *settings->name_space);
	if (!settings->name_space || backend < 0)
		return;
	settings->name_space[0] =
	    (struct namespace_settings){bytes_of(DEFAULT_NAME), (size_t)backend};
	settings->namespace_count = 1;
}

void namespaces_read(struct reader *reader)
{
	const struct node *list = reader->namespaces;
	struct config *config = reader->config;
	struct skipped *skipped;
	struct entry *entry;
	size_t index = 0, count = 0;

	if (!list || node_empty(list)) {
		read_default(reader);
		return;
	}
	if (list->kind != NODE_LIST) {
		reader_error(reader, list, NULL, "namespaces must be a list");
		return;
	}
	entry = reader_memory(reader, list->count, sizeof *entry);
	skipped = reader_memory(reader, list->count, sizeof *skipped);
	config->settings.name_space =
	    reader_memory(reader, list->count, sizeof *config->settings.name_space);
	if (!entry || !skipped || !config->settings.name_space)
		return;
	for (const struct node *map = list->first; map; map = map->next) {
		if (read_entry(reader, map, index++, &entry[count],
			       &skipped[config->skipped_count]))
			count++;
		else if (skipped[config->skipped_count].block)
			config->skipped_count++;
	}
	config->skipped = skipped;
	store(reader, entry, count);
}
