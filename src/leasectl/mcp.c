/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "config.h"
#include "leasectl/mcp.h"
#include "leasectl/tool.h"
#include "leasectl/waiter.h"

enum {
	LINE_MOST = 1 << 20,
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	NO_METHOD = -32601,
};

#define LOOK (20 * CLOCK_MILLI)

static const char instructions[] =
    "Leases let agents that work side by side take turns. Before you change something that others "
    "may change too (a path, a branch, an environment), take a lease on its name with "
    "lease_acquire, and give it back with lease_release when you are done. While this session "
    "lives, its leases are renewed by themselves; when it ends, they are given back. When a lease "
    "is refused, somebody else works there: wait, or do something else. When you are told that a "
    "lease was lost, stop changing what it guarded and take it again first.";

static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

static void put(struct mcp *mcp, json_t *message)
{
	json_object_set_new(message, "jsonrpc", json_string("2.0"));
	if (mcp->batch) {
		json_array_append_new(mcp->batch, message);
		return;
	}
	json_dumpf(message, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(message);
}

void mcp_answer(struct mcp *mcp, json_t *id, json_t *result)
{
	put(mcp, json_pack("{s:o, s:o}", "id", id, "result", result));
}

void mcp_refuse(struct mcp *mcp, json_t *id, int code, const char *text)
{
	put(mcp,
	    json_pack("{s:o, s:{s:i, s:s}}", "id", id, "error", "code", code, "message", text));
}

/* Told twice: at once as a log message, and with the next result, which the agent surely reads. */
static void tell_loss(void *context, const struct held *held, const char *why)
{
	struct mcp *mcp = context;
	char text[TOOL_TEXT];

	snprintf(text, sizeof text,
		 "The lease on %s/%s was lost: %s. Stop changing what it guards; another may hold "
		 "it. Take it again before you go on.",
		 held->name_space, held->key, why);
	json_array_append_new(mcp->losses, json_string(text));
	put(mcp, json_pack("{s:s, s:{s:s, s:s, s:s}}", "method", "notifications/message", "params",
			   "level", "warning", "logger", "leasectl", "data", text));
}

static json_t *initialize(struct mcp *mcp, json_t *params)
{
	const char *asked = "", *name = "", *version = versions[0];

	(void)json_unpack(params, "{s?s, s?{s?s}}", "protocolVersion", &asked, "clientInfo", "name",
			  &name);
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (!strcmp(versions[i], asked))
			version = versions[i];
	snprintf(mcp->client, sizeof mcp->client, "%s", name);
	return json_pack("{s:s, s:{s:{s:b}, s:{}}, s:{s:s, s:s, s:s}, s:s}", "protocolVersion",
			 version, "capabilities", "tools", "listChanged", 0, "logging",
			 "serverInfo", "name", "leasectl", "title", "Leases", "version",
			 PACKAGE_VERSION, "instructions", instructions);
}

static void request(struct mcp *mcp, json_t *id, const char *method, json_t *params)
{
	if (!strcmp(method, "initialize"))
		mcp_answer(mcp, id, initialize(mcp, params));
	else if (!strcmp(method, "ping") || !strcmp(method, "logging/setLevel"))
		mcp_answer(mcp, id, json_object());
	else if (!strcmp(method, "tools/list"))
		mcp_answer(mcp, id, tool_list());
	else if (!strcmp(method, "tools/call"))
		tool_call(mcp, id, params);
	else
		mcp_refuse(mcp, id, NO_METHOD, "method not found");
}

static void notification(struct mcp *mcp, const char *method, json_t *params)
{
	if (!strcmp(method, "notifications/cancelled"))
		waiter_cancel(mcp, json_object_get(params, "requestId"));
}

static void take_message(struct mcp *mcp, json_t *message)
{
	json_t *id = json_object_get(message, "id");
	const char *method = json_string_value(json_object_get(message, "method"));
	const char *version = json_string_value(json_object_get(message, "jsonrpc"));
	bool good_id = !id || json_is_string(id) || json_is_number(id);

	/* An answer: nothing was asked. */
	if (!method && good_id && id &&
	    (json_object_get(message, "result") || json_object_get(message, "error")))
		return;
	if (!method || !good_id || !version || strcmp(version, "2.0") != 0)
		mcp_refuse(mcp, good_id && id ? json_incref(id) : json_null(), INVALID_REQUEST,
			   "not a JSON-RPC 2.0 request");
	else if (id)
		request(mcp, json_incref(id), method, json_object_get(message, "params"));
	else
		notification(mcp, method, json_object_get(message, "params"));
}

static void take_batch(struct mcp *mcp, json_t *batch)
{
	json_t *answers = json_array();

	mcp->batch = answers;
	for (size_t i = 0; i < json_array_size(batch); i++)
		take_message(mcp, json_array_get(batch, i));
	mcp->batch = NULL;
	if (json_array_size(answers)) {
		json_dumpf(answers, stdout, JSON_COMPACT);
		putchar('\n');
		fflush(stdout);
	}
	json_decref(answers);
}

static void take_line(struct mcp *mcp, const char *line, size_t len)
{
	json_error_t error;
	json_t *message = json_loadb(line, len, JSON_DECODE_ANY, &error);

	if (!message)
		mcp_refuse(mcp, json_null(), PARSE_ERROR, error.text);
	else if (json_array_size(message))
		take_batch(mcp, message);
	else
		take_message(mcp, message);
	json_decref(message);
}

/* What was read of a line that is not whole yet. */
struct input {
	char text[LINE_MOST];
	size_t used;
};

/* False at the end of input, or of patience with one line. */
static bool read_input(struct mcp *mcp, struct input *input)
{
	ssize_t got = read(STDIN_FILENO, input->text + input->used, LINE_MOST - input->used);
	char *line = input->text, *end;

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	if (got == 0)
		return false;
	input->used += (size_t)got;
	while ((end = memchr(line, '\n', input->used - (size_t)(line - input->text)))) {
		if (end > line)
			take_line(mcp, line, (size_t)(end - line));
		line = end + 1;
	}
	input->used -= (size_t)(line - input->text);
	memmove(input->text, line, input->used);
	return input->used < LINE_MOST;
}

static int rest_ms(const struct mcp *mcp)
{
	int64_t next = session_next(&mcp->session), now = clock_boot_us();

	if (mcp->waiters && next > now + LOOK)
		next = now + LOOK;
	if (next - now > 1000 * CLOCK_MILLI)
		return 1000;
	return next <= now ? 0 : (int)((next - now) / CLOCK_MILLI) + 1;
}

static void serve(struct mcp *mcp, struct input *input, int signals)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = signals, .events = POLLIN}};

	for (;;) {
		int got = poll(fds, 2, rest_ms(mcp));

		if (got > 0 && fds[1].revents)
			break;
		if (got > 0 && fds[0].revents && !read_input(mcp, input))
			break;
		session_work(&mcp->session);
		waiter_work(mcp);
		if (ferror(stdout))
			break;
	}
}

int mcp_main(const struct options *options)
{
	struct mcp mcp = {.session = {.options = options, .lost = tell_loss}};
	struct input *input = malloc(sizeof *input);
	sigset_t set;
	int signals;

	CHECK(input);
	input->used = 0;
	mcp.session.context = &mcp;
	mcp.losses = json_array();
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	/* A reader that has gone away is seen as an error: the leases must still be given back. */
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGPIPE);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(signals >= 0);
	/* One that stays: without it every call would start gRPC anew. */
	grpc_init();
	serve(&mcp, input, signals);
	waiter_end(&mcp);
	session_end(&mcp.session);
	json_decref(mcp.losses);
	free(input);
	grpc_shutdown_blocking();
	clearerr(stdout);
	return STATUS_OK;
}
