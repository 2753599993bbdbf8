/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "leasectl/duration.h"
#include "leasectl/text.h"
#include "leasectl/waiting.h"

/* Without an owner the first characters of the holder id must do. */
enum { LINE = 1200, EVERY_S = 30, SHORT_ID = 8 };

/* What is known of the line that one stands in. */
struct waiting {
	const struct options *options;
	bool terminal, shown, refused;
	int64_t begun_us, told_us;
	uint64_t token; /* of the holder last seen */
	int64_t place;	/* 0: not known yet */
};

/* A new holder was one of those before us; and nobody stands behind the end of the line. */
static void count_place(struct waiting *waiting, uint64_t token, uint32_t waiters)
{
	if (waiting->place == 0)
		waiting->place = waiters;
	else if (token != waiting->token)
		waiting->place--;
	if (waiting->place > waiters)
		waiting->place = waiters;
	if (waiting->place < 1)
		waiting->place = 1;
	waiting->token = token;
}

static const char *ordinal(int64_t number)
{
	int64_t tens = number % 100;

	if (tens >= 11 && tens <= 13)
		return "th";
	return number % 10 == 1 ? "st" : number % 10 == 2 ? "nd" : number % 10 == 3 ? "rd" : "th";
}

static void describe(struct waiting *waiting, const Leased__Wire__InspectResponse *seen,
		     char line[LINE])
{
	const Leased__Wire__LeaseHandle *handle = seen->handle;
	char owner[200], age[DURATION_ROOM] = "0s", left[DURATION_ROOM];

	if (!seen->held) {
		snprintf(line, LINE, "is being handed over");
		return;
	}
	count_place(waiting, handle->fencing_token, seen->waiters);
	text_safe(lease_bytes(handle->owner.len ? handle->owner : handle->holder_id), owner,
		  handle->owner.len ? sizeof owner : SHORT_ID + 1);
	if (handle->acquired_at)
		duration_text(clock_wall_us() - handle->acquired_at->seconds * CLOCK_SECOND, age);
	duration_text(lease_remaining_us(handle), left);
	snprintf(line, LINE, "held by %s for %s, expires in %s, you are %" PRId64 "%s", owner, age,
		 left, waiting->place, ordinal(waiting->place));
}

static void print_line(struct waiting *waiting, const char *what)
{
	const struct options *options = waiting->options;
	char name[1024], whole[2 * LINE + 64], cut[512], age[DURATION_ROOM];
	struct winsize size = {.ws_col = 80};

	text_safe(bytes_of(options->key), name, sizeof name);
	duration_text(clock_boot_us() - waiting->begun_us, age);
	snprintf(whole, sizeof whole, "waiting for %s/%s: %s (%s so far)", options->name_space,
		 name, what, age);
	if (!waiting->terminal) {
		options_notice(options, "%s", whole);
		return;
	}
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20)
		size.ws_col = 80;
	text_safe(bytes_of(whole), cut, size.ws_col < sizeof cut ? size.ws_col : sizeof cut);
	fprintf(stderr, "\r\033[K%s", cut);
	fflush(stderr);
	waiting->shown = true;
}

static void look(struct waiting *waiting, struct client *client)
{
	struct lease_request request = {.name_space = waiting->options->name_space,
					.key = waiting->options->key};
	Leased__Wire__InspectResponse *seen;
	struct call call;
	char line[LINE];

	lease_ask(client, &call, LEASE_INSPECT, &request, clock_boot_us() + 2 * CLOCK_SECOND);
	seen = call.code == GRPC_STATUS_OK ? lease_inspected(&call) : NULL;
	snprintf(line, sizeof line, "held by another");
	if (seen)
		describe(waiting, seen, line);
	waiting->refused = call.code == GRPC_STATUS_PERMISSION_DENIED;
	lease_free(seen);
	call_free(client, &call);
	print_line(waiting, line);
}

void waiting_show(const struct options *options, struct client *client, struct call *acquire)
{
	struct waiting waiting = {
	    .options = options, .terminal = isatty(STDERR_FILENO), .begun_us = clock_boot_us()};

	if (options->quiet || client_wait(client, acquire, clock_boot_us() + 200 * CLOCK_MILLI)) {
		client_wait(client, acquire, CLOCK_NEVER);
		return;
	}
	while (!acquire->done) {
		int64_t now = clock_boot_us();

		if (waiting.terminal || waiting.told_us == 0 ||
		    now - waiting.told_us >= EVERY_S * CLOCK_SECOND) {
			waiting.told_us = now;
			if (waiting.refused)
				print_line(&waiting, "held by another");
			else
				look(&waiting, client);
		}
		client_wait(client, acquire, now + CLOCK_SECOND);
	}
	if (waiting.shown)
		fputs("\r\033[K", stderr);
}
