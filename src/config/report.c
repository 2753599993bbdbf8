/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "config/report.h"
#include "config/utf8.h"

enum { MESSAGE_MAX = 400, LINE_SHOWN = 160, INDENT = 4 };

void report_init(struct report *report, struct arena *arena, const char *source, struct bytes text)
{
	report->source = source;
	report->text = text;
	report->arena = arena;
	report->kept = 0;
	report->count = 0;
}

void report_add(struct report *report, struct mark mark, const char *hint, const char *format, ...)
{
	struct problem *problem;
	char message[MESSAGE_MAX];
	va_list list;

	report->count++;
	if (report->kept == REPORT_MAX)
		return;
	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	problem = &report->problem[report->kept];
	problem->mark = mark;
	problem->order = report->kept++;
	/* With the NUL. Without memory the place alone must do. */
	problem->message =
	    (const char *)arena_copy(report->arena,
				     (struct bytes){(uint8_t *)message, strlen(message) + 1})
		.data;
	problem->hint = hint;
}

struct mark report_mark(const struct report *report, size_t offset)
{
	struct mark mark = {1, 1, 1};
	size_t at = 0;

	while (at < offset && at < report->text.len) {
		size_t line = utf8_break(report->text, at);

		if (line > 0) {
			mark.line++;
			mark.column = 1;
			at += line;
		} else {
			mark.column++;
			at += utf8_length(report->text, at);
		}
	}
	return mark;
}

/* The bytes of a line, without its break; empty when there is no such line. */
static struct bytes line_of(struct bytes text, unsigned number)
{
	size_t start = 0, end, at = 0;

	for (unsigned line = 1; line < number && at < text.len;) {
		size_t width = utf8_break(text, at);

		at += width > 0 ? width : 1;
		if (width > 0)
			line++;
		start = at;
	}
	for (end = start; end < text.len && utf8_break(text, end) == 0;)
		end++;
	return (struct bytes){text.data + start, end - start};
}

bool report_tab(const struct report *report, struct mark mark)
{
	struct bytes line = line_of(report->text, mark.line);
	size_t at = 0;

	for (unsigned column = 1; column < mark.column && at < line.len; column++)
		at += utf8_length(line, at);
	return at < line.len && line.data[at] == '\t';
}

/* Prints one character; whatever could steer a terminal or is no UTF-8 becomes '?'. */
static size_t put_char(FILE *out, struct bytes text, size_t at)
{
	size_t length = utf8_length(text, at);

	if (utf8_printable(text, at) || text.data[at] == '\t')
		fwrite(text.data + at, 1, length, out);
	else
		fputc('?', out);
	return length;
}

static void put_clean(FILE *out, const char *message)
{
	struct bytes text = bytes_of(message);

	for (size_t at = 0; at < text.len;)
		at += put_char(out, text, at);
}

/* The source line, or the part of a long one around the spot, and below it the caret. The part
 * before the caret is repeated as blanks, tabs as tabs, so that both lines run alike. */
static void put_source(FILE *out, struct bytes line, const struct problem *problem)
{
	unsigned first =
	    problem->mark.column > LINE_SHOWN ? problem->mark.column - LINE_SHOWN / 2 : 1;
	unsigned column = 1, width = problem->mark.width;
	char blanks[LINE_SHOWN * 2];
	size_t used = 0, at = 0;

	for (; at < line.len && column < first; column++)
		at += utf8_length(line, at);
	fprintf(out, "%*s", INDENT, "");
	for (; at < line.len && column < first + LINE_SHOWN; column++) {
		if (column < problem->mark.column)
			blanks[used++] = line.data[at] == '\t' ? '\t' : ' ';
		at += put_char(out, line, at);
	}
	/* Past the end of the line: the caret alone. Past the part shown: cut. */
	while (used < problem->mark.column - first && used < sizeof blanks)
		blanks[used++] = ' ';
	if (problem->mark.column + width > column)
		width = column > problem->mark.column ? column - problem->mark.column : 1;
	fprintf(out, "\n%*s%.*s^", INDENT, "", (int)used, blanks);
	while (width-- > 1)
		fputc('~', out);
	if (problem->hint) {
		fputs("  ", out);
		fputs("did you mean \"", out);
		put_clean(out, problem->hint);
		fputs("\"?", out);
	}
	fputc('\n', out);
}

static void put_problem(const struct report *report, FILE *out, const struct problem *problem,
			bool brief)
{
	fprintf(out, "%s:%u:%u: error: ", report->source, problem->mark.line, problem->mark.column);
	put_clean(out, problem->message ? problem->message : "out of memory");
	if (brief && problem->hint) {
		fputs("; did you mean \"", out);
		put_clean(out, problem->hint);
		fputs("\"?", out);
	}
	fputc('\n', out);
	if (!brief)
		put_source(out, line_of(report->text, problem->mark.line), problem);
}

static int by_place(const void *left, const void *right)
{
	const struct problem *a = left, *b = right;

	if (a->mark.line != b->mark.line)
		return a->mark.line < b->mark.line ? -1 : 1;
	if (a->mark.column != b->mark.column)
		return a->mark.column < b->mark.column ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

void report_print(struct report *report, FILE *out, bool brief)
{
	qsort(report->problem, report->kept, sizeof *report->problem, by_place);
	for (unsigned i = 0; i < report->kept; i++)
		put_problem(report, out, &report->problem[i], brief);
	if (report->count > report->kept)
		fprintf(out, "%s: error: %u more errors are not shown\n", report->source,
			report->count - report->kept);
}
