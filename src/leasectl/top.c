/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/list.h"
#include "leasectl/show.h"
#include "leasectl/text.h"
#include "leasectl/top.h"
#include "leasectl/unary.h"

#define SCREEN_ENTER "\033[?1049h\033[?25l"
#define SCREEN_LEAVE "\033[?25h\033[?1049l"
#define CLEAR	     "\033[H\033[J"

struct top {
	const struct options *options;
	struct client *client;
	struct termios before;
	int signals;
	size_t rows, count; /* room on the screen; leases seen */
	struct show_list *list;
};

static void show_one(void *context, const Leased__Wire__LeaseHandle *handle)
{
	struct top *top = context;

	if (top->count++ < top->rows)
		show_list_add(top->list, handle);
}

static void print_head(const struct top *top, const struct failure *failure)
{
	char text[FAILURE_SENTENCE] = "", clock[16] = "";
	time_t now = (time_t)(clock_wall_us() / CLOCK_SECOND);
	struct tm parts;

	if (localtime_r(&now, &parts))
		strftime(clock, sizeof clock, "%H:%M:%S", &parts);
	if (failure)
		failure_sentence(failure, text);
	printf(CLEAR "%s  %s at %s: %s%zu held%s\n\n", clock, top->options->name_space,
	       top->options->client.endpoint, text, top->count, failure ? " when last seen" : "");
}

/* Lines that are longer than the screen would push the head away: wrapping is off meanwhile. */
static bool draw(struct top *top, struct failure *failure)
{
	struct winsize size = {.ws_row = 24};
	size_t count = top->count;
	bool good;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 6)
		size.ws_row = 24;
	top->rows = size.ws_row - 5U;
	top->count = 0;
	top->list = show_list_begin(top->options);
	good = list_read(top->options, top->client, show_one, top, failure);
	if (!good)
		top->count = count;
	fputs("\033[?7l", stdout);
	print_head(top, good ? NULL : failure);
	show_list_end(top->list, true);
	if (top->count > top->rows)
		printf("... and %zu more", top->count - top->rows);
	fputs("\033[?7h", stdout);
	fflush(stdout);
	return good || failure_is_passing(failure);
}

/* False when it is time to go: q, or a signal. */
static bool rest(struct top *top)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = top->signals, .events = POLLIN}};
	int64_t until = clock_boot_us() + top->options->interval_us, left;
	char key;

	while ((left = until - clock_boot_us()) > 0) {
		if (poll(fds, 2, (int)(left / CLOCK_MILLI) + 1) <= 0)
			continue;
		if (fds[1].revents)
			return false;
		if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 3)
			return false;
	}
	return true;
}

static void enter(struct top *top)
{
	struct termios raw;
	sigset_t set;

	tcgetattr(STDIN_FILENO, &top->before);
	raw = top->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	top->signals = signalfd(-1, &set, SFD_CLOEXEC);
	CHECK(top->signals >= 0);
	fputs(SCREEN_ENTER, stdout);
}

int top_main(const struct options *options)
{
	struct top top = {.options = options};
	struct failure failure;
	bool good;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return list_main(options);
	/* Before gRPC has threads, so that all of them have the signals blocked. */
	enter(&top);
	top.client = unary_client(options);
	do
		good = draw(&top, &failure);
	while (good && rest(&top));
	fputs(SCREEN_LEAVE, stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &top.before);
	client_close(top.client);
	if (good)
		return STATUS_OK;
	failure_print(&failure, options->name_space);
	return failure_status(&failure);
}
