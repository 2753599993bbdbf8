/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that the configuration names: tokens and keys. They are read once, by whoever reads the
 * configuration from disk; workers get the same bytes with a reload, so a file that changes at that
 * moment cannot make them differ. Each piece is its length, eight bytes in the host's order, and
 * its bytes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/reader.h"

enum { WHY = 512 };

static bool replay(struct reader *reader, struct bytes *text)
{
	struct bytes *rest = &reader->attached.rest;
	uint64_t len;

	if (rest->len < sizeof len)
		return false;
	memcpy(&len, rest->data, sizeof len);
	if (len > rest->len - sizeof len)
		return false;
	*text = arena_copy(&reader->config->arena,
			   (struct bytes){rest->data + sizeof len, (size_t)len});
	*rest = (struct bytes){rest->data + sizeof len + len, rest->len - sizeof len - (size_t)len};
	return len == 0 || text->data;
}

static bool keep(struct reader *reader, struct bytes text)
{
	struct attached *attached = &reader->attached;
	uint64_t len = text.len;
	uint8_t *grown = realloc(attached->kept, attached->kept_len + sizeof len + text.len);

	if (!grown)
		return false;
	memcpy(grown + attached->kept_len, &len, sizeof len);
	memcpy(grown + attached->kept_len + sizeof len, text.data, text.len);
	attached->kept = grown;
	attached->kept_len += sizeof len + text.len;
	return true;
}

/* A path may be turned to another file between this look and the reading; whoever can do that owns
 * the directory. What is guarded against here is carelessness. */
static const char *mode_wrong(const char *file)
{
	struct stat status;

	if (stat(file, &status) < 0)
		return strerror(errno);
	if (status.st_mode & S_IRWXO)
		return "everybody may read or change it (chmod 0640)";
	if (status.st_mode & S_IWGRP)
		return "its group may change it (chmod 0640)";
	return status.st_size == 0 && S_ISREG(status.st_mode) ? "the file is empty" : NULL;
}

static bool read_disk(struct reader *reader, const struct node *node, const char *path,
		      struct bytes *text)
{
	const char *wrong = mode_wrong(node->text);
	struct bytes loaded;
	char why[WHY];

	if (wrong) {
		reader_error(reader, node, NULL, "%s: %s: %s", path, node->text, wrong);
		return false;
	}
	if (config_load(node->text, &loaded, why, sizeof why) != ERR_OK) {
		reader_error(reader, node, NULL, "%s: %s", path, why);
		return false;
	}
	*text = arena_copy(&reader->config->arena, loaded);
	if (!keep(reader, loaded) || (loaded.len && !text->data)) {
		reader_error(reader, node, NULL, "out of memory");
		text->data = NULL;
	}
	free((void *)(uintptr_t)loaded.data);
	return text->data != NULL;
}

bool attached_read(struct reader *reader, const struct node *node, const char *path,
		   struct bytes *text)
{
	if (node->text[0] != '/') {
		reader_error(reader, node, NULL, "%s: the path must be absolute", path);
		return false;
	}
	if (!reader->attached.replay)
		return read_disk(reader, node, path, text);
	if (replay(reader, text))
		return true;
	reader_error(reader, node, NULL, "%s: %s did not come with the text", path, node->text);
	return false;
}
