/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <yaml.h>

#include "config/document.h"

/* The collections that are open, outermost first. */
struct builder {
	struct report *report;
	struct arena *arena;
	struct node *root;
	unsigned documents;
	size_t depth;
	struct {
		struct node *node;
		struct node *last; /* newest child */
		struct node *key;  /* NODE_MAP: read, its value has not come yet */
	} open[DOCUMENT_DEPTH_MAX];
};

bool node_empty(const struct node *node)
{
	return node->kind == NODE_TEXT && !node->quoted &&
	       (node->len == 0 || strcmp(node->text, "~") == 0);
}

static struct mark mark_of(const yaml_event_t *event)
{
	const yaml_mark_t *start = &event->start_mark, *end = &event->end_mark;
	struct mark mark = {(unsigned)start->line + 1, (unsigned)start->column + 1, 1};

	if (event->type == YAML_SCALAR_EVENT && start->line == end->line &&
	    end->column > start->column)
		mark.width = (unsigned)(end->column - start->column);
	return mark;
}

static bool refuse(struct builder *builder, const yaml_event_t *event, const char *what)
{
	report_add(builder->report, mark_of(event), NULL, "%s", what);
	return false;
}

static struct node *make_node(struct builder *builder, const yaml_event_t *event,
			      enum node_kind kind)
{
	struct node *node = arena_alloc(builder->arena, sizeof *node);

	if (!node) {
		refuse(builder, event, "out of memory");
		return NULL;
	}
	*node = (struct node){.kind = kind, .mark = mark_of(event), .text = ""};
	return node;
}

/* Hangs a finished or just opened node into the innermost collection. */
static bool attach(struct builder *builder, const yaml_event_t *event, struct node *node)
{
	size_t top = builder->depth - 1;
	struct node *parent = builder->depth > 0 ? builder->open[top].node : NULL;

	if (!parent) {
		builder->root = node;
		return true;
	}
	if (parent->kind == NODE_MAP && !builder->open[top].key) {
		if (node->kind != NODE_TEXT)
			return refuse(builder, event, "a key must be a plain word");
		builder->open[top].key = node;
		return true;
	}
	node->key = builder->open[top].key;
	builder->open[top].key = NULL;
	if (builder->open[top].last)
		builder->open[top].last->next = node;
	else
		parent->first = node;
	builder->open[top].last = node;
	parent->count++;
	return true;
}

static bool add_text(struct builder *builder, const yaml_event_t *event)
{
	const char *value = (const char *)event->data.scalar.value;
	struct bytes text = {(const uint8_t *)value, event->data.scalar.length};
	struct node *node = make_node(builder, event, NODE_TEXT);

	if (!node)
		return false;
	if (memchr(value, 0, text.len))
		return refuse(builder, event, "a value must not contain a NUL character");
	node->len = text.len++; /* the library's text ends with a NUL, take it along */
	node->text = (const char *)arena_copy(builder->arena, text).data;
	if (!node->text)
		return refuse(builder, event, "out of memory");
	node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	return attach(builder, event, node);
}

static bool open_node(struct builder *builder, const yaml_event_t *event, enum node_kind kind)
{
	struct node *node;

	if (builder->depth == DOCUMENT_DEPTH_MAX)
		return refuse(builder, event, "nested too deeply");
	node = make_node(builder, event, kind);
	if (!node || !attach(builder, event, node))
		return false;
	builder->open[builder->depth].node = node;
	builder->open[builder->depth].last = NULL;
	builder->open[builder->depth].key = NULL;
	builder->depth++;
	return true;
}

/* What the schema never needs and what hides how much a file really says. */
static bool plain_event(struct builder *builder, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;

	if (event->type == YAML_ALIAS_EVENT)
		return refuse(builder, event, "aliases (*name) are not supported");
	if (event->type == YAML_SCALAR_EVENT) {
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
	} else if (event->type == YAML_SEQUENCE_START_EVENT) {
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
	} else if (event->type == YAML_MAPPING_START_EVENT) {
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
	}
	if (anchor)
		return refuse(builder, event, "anchors (&name) are not supported");
	if (tag)
		return refuse(builder, event, "tags (!type) are not supported");
	return true;
}

static bool take_event(struct builder *builder, const yaml_event_t *event)
{
	if (!plain_event(builder, event))
		return false;
	if (event->type == YAML_DOCUMENT_START_EVENT && builder->documents++ > 0)
		return refuse(builder, event, "only one document is allowed in the file");
	if (event->type == YAML_SCALAR_EVENT)
		return add_text(builder, event);
	if (event->type == YAML_SEQUENCE_START_EVENT)
		return open_node(builder, event, NODE_LIST);
	if (event->type == YAML_MAPPING_START_EVENT)
		return open_node(builder, event, NODE_MAP);
	if (event->type == YAML_SEQUENCE_END_EVENT || event->type == YAML_MAPPING_END_EVENT)
		builder->depth--;
	return true;
}

/* The parser stopped at a place where YAML itself is broken. */
static void refuse_syntax(struct report *report, const yaml_parser_t *parser)
{
	const char *problem = parser->problem ? parser->problem : "cannot be read";
	struct mark mark = {(unsigned)parser->problem_mark.line + 1,
			    (unsigned)parser->problem_mark.column + 1, 1};
	struct mark context = {(unsigned)parser->context_mark.line + 1,
			       (unsigned)parser->context_mark.column + 1, 1};

	if (parser->error == YAML_MEMORY_ERROR) {
		report_add(report, (struct mark){1, 1, 1}, NULL, "out of memory");
	} else if (parser->error == YAML_READER_ERROR) {
		report_add(report, report_mark(report, parser->problem_offset), NULL, "%s",
			   problem);
	} else if (report_tab(report, mark)) {
		report_add(report, mark, NULL, "a tab cannot indent here, use spaces");
	} else if (parser->context &&
		   (context.line != mark.line || context.column != mark.column)) {
		report_add(report, mark, NULL, "%s %s that begins at %u:%u", problem,
			   parser->context, context.line, context.column);
	} else {
		report_add(report, mark, NULL, "%s", problem);
	}
}

bool document_read(struct report *report, struct arena *arena, struct node **root)
{
	struct builder builder = {.report = report, .arena = arena};
	yaml_parser_t parser;
	bool good = true, end = false;

	if (!yaml_parser_initialize(&parser)) {
		report_add(report, (struct mark){1, 1, 1}, NULL, "out of memory");
		return false;
	}
	/* Said, not guessed: else two bytes at the start would make it UTF-16. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, report->text.data, report->text.len);
	while (good && !end) {
		yaml_event_t event;

		if (!yaml_parser_parse(&parser, &event)) {
			refuse_syntax(report, &parser);
			good = false;
			break;
		}
		good = take_event(&builder, &event);
		end = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	*root = builder.root;
	return good;
}
