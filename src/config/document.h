/* SPDX-License-Identifier: Apache-2.0
 *
 * config/document.h - one YAML document as a tree in which every node knows its place.
 * All values are text: no type is guessed, the schema decides. Anchors, aliases, tags, further
 * documents and deep nesting are errors. The tree lives in the arena it was read into. */
#ifndef LEASED_CONFIG_DOCUMENT_H
#define LEASED_CONFIG_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "config/report.h"

enum { DOCUMENT_DEPTH_MAX = 16 };

enum node_kind { NODE_TEXT, NODE_LIST, NODE_MAP };

struct node {
	enum node_kind kind;
	struct mark mark;
	bool quoted;		/* NODE_TEXT */
	const char *text;	/* NODE_TEXT, never NULL, holds no NUL inside */
	size_t len;		/* NODE_TEXT */
	const struct node *key; /* of a value in a map; always a NODE_TEXT */
	struct node *first;	/* NODE_LIST, NODE_MAP: the items or the values */
	struct node *next;
	size_t count;
};

/* Reads report->text. *root is NULL for a file without content. False after the first error of
 * syntax, which is in the report: what follows it cannot be judged. */
bool document_read(struct report *report, struct arena *arena, struct node **root);

/* Nothing was written where a value could stand: `key:` or `key: ~`. */
bool node_empty(const struct node *node);

#endif
