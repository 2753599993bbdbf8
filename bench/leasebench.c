/* SPDX-License-Identifier: Apache-2.0
 *
 * leasebench: load on a lease server, one thread. Two scenarios:
 *   pairs    closed loop of Acquire + Release of distinct keys on C connections x S streams
 *   handoff  Release on one connection to the grant of a waiter on another, against a plain Inspect
 * Prints one line of key=value figures. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <time.h>

#include "bench/connection.h"
#include "bench/die.h"
#include "bench/histogram.h"
#include "bench/lease_message.h"

struct options {
	const char *target, *scenario, *service;
	int connections, streams;
	double seconds, warmup;
};

/* One caller: takes and gives back its own key for ever. */
struct caller {
	struct exchange exchange;
	struct connection *connection;
	struct run *run;
	char key[32];
	uint8_t holder[HOLDER_LEN];
	bool holding;
};

struct run {
	const struct options *options;
	struct histogram latency;
	uint64_t calls;
	int64_t from_ns, until_ns;
	char acquire[64], release[64];
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void next_call(struct caller *caller)
{
	if (caller->holding)
		lease_put_release(&caller->exchange, caller->key, caller->holder);
	else
		lease_put_acquire(&caller->exchange, caller->key, 60, 0);
	caller->exchange.path = caller->holding ? caller->run->release : caller->run->acquire;
	caller->exchange.start_ns = now_ns();
	connection_call(caller->connection, &caller->exchange);
}

static void pair_done(struct exchange *exchange)
{
	struct caller *caller = exchange->owner;
	struct run *run = caller->run;
	int64_t now = now_ns();

	if (exchange->status != 0)
		die("%s ended with status %d", exchange->path, exchange->status);
	if (!caller->holding)
		lease_get_holder(exchange, caller->holder);
	caller->holding = !caller->holding;
	if (now >= run->from_ns && now < run->until_ns) {
		histogram_add(&run->latency, (uint64_t)(now - exchange->start_ns));
		run->calls++;
	}
	if (now < run->until_ns || caller->holding) /* end without a lease */
		next_call(caller);
}

static void watch(int epoll, struct connection *connection)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, connection_fd(connection), &event) != 0)
		die("epoll_ctl failed");
}

static void serve(int epoll, int limit_ms)
{
	struct epoll_event events[64];
	int n = epoll_wait(epoll, events, 64, limit_ms);

	for (int i = 0; i < n; i++) {
		connection_read(events[i].data.ptr);
		connection_flush(events[i].data.ptr);
	}
}

static void start_callers(struct run *run, struct connection **connection, struct caller *caller)
{
	const struct options *options = run->options;

	for (int c = 0; c < options->connections; c++) {
		for (int s = 0; s < options->streams; s++, caller++) {
			caller->connection = connection[c];
			caller->run = run;
			caller->exchange.owner = caller;
			caller->exchange.done = pair_done;
			snprintf(caller->key, sizeof caller->key, "bench-%d-%d-%d", (int)getpid(),
				 c, s);
			next_call(caller);
		}
		connection_flush(connection[c]);
	}
}

static void pairs(const struct options *options)
{
	static struct run run;
	struct connection **connection = calloc((size_t)options->connections, sizeof(void *));
	struct caller *caller =
	    calloc((size_t)options->connections * (size_t)options->streams, sizeof *caller);
	int epoll = epoll_create1(0);

	if (!connection || !caller || epoll < 0)
		die("out of memory");
	run.options = options;
	snprintf(run.acquire, sizeof run.acquire, "/%s/Acquire", options->service);
	snprintf(run.release, sizeof run.release, "/%s/Release", options->service);
	for (int c = 0; c < options->connections; c++) {
		connection[c] = connection_open(options->target);
		watch(epoll, connection[c]);
	}
	run.from_ns = now_ns() + (int64_t)(options->warmup * 1e9);
	run.until_ns = run.from_ns + (int64_t)(options->seconds * 1e9);
	start_callers(&run, connection, caller);
	while (now_ns() < run.until_ns + 200000000) /* the last ones come home */
		serve(epoll, 100);
	printf("calls=%llu seconds=%.3f p50_us=%.1f p99_us=%.1f\n", (unsigned long long)run.calls,
	       options->seconds, (double)histogram_percentile(&run.latency, 0.5) / 1e3,
	       (double)histogram_percentile(&run.latency, 0.99) / 1e3);
}

/* One call after another, for the hand-off. */
struct turn {
	struct exchange exchange;
	struct connection *connection;
	bool over;
	int64_t end_ns;
};

static void turn_done(struct exchange *exchange)
{
	struct turn *turn = exchange->owner;

	turn->end_ns = now_ns();
	turn->over = true;
}

static void turn_start(struct turn *turn, const char *path)
{
	turn->exchange.path = path;
	turn->exchange.owner = turn;
	turn->exchange.done = turn_done;
	turn->over = false;
	turn->exchange.start_ns = now_ns();
	connection_call(turn->connection, &turn->exchange);
	connection_flush(turn->connection);
}

static int64_t turn_finish(int epoll, struct turn *turn)
{
	while (!turn->over)
		serve(epoll, 1000);
	return turn->end_ns - turn->exchange.start_ns;
}

#define LEASE "/mindd.lease.v1.Lease/"

static void wait_queued(int epoll, struct turn *turn)
{
	do {
		lease_put_inspect(&turn->exchange, "handoff");
		turn_start(turn, LEASE "Inspect");
		turn_finish(epoll, turn);
	} while (lease_get_waiters(&turn->exchange) == 0);
}

/* `a` holds and releases, `b` waits on another connection and so on another worker. */
static void one_handoff(int epoll, struct turn *a, struct turn *b, struct histogram *handoff,
			struct histogram *round_trip)
{
	uint8_t holder[HOLDER_LEN];
	int64_t sent;

	lease_put_acquire(&a->exchange, "handoff", 60, 0);
	turn_start(a, LEASE "Acquire");
	turn_finish(epoll, a);
	lease_get_holder(&a->exchange, holder);
	lease_put_acquire(&b->exchange, "handoff", 60, 10);
	turn_start(b, LEASE "Acquire");
	wait_queued(epoll, a);
	lease_put_inspect(&a->exchange, "handoff");
	turn_start(a, LEASE "Inspect");
	histogram_add(round_trip, (uint64_t)turn_finish(epoll, a));
	lease_put_release(&a->exchange, "handoff", holder);
	sent = now_ns();
	turn_start(a, LEASE "Release");
	turn_finish(epoll, b);
	histogram_add(handoff, (uint64_t)(b->end_ns - sent));
	turn_finish(epoll, a);
	lease_get_holder(&b->exchange, holder);
	lease_put_release(&b->exchange, "handoff", holder);
	turn_start(b, LEASE "Release");
	turn_finish(epoll, b);
}

static void handoff(const struct options *options)
{
	static struct histogram handed, round_trip;
	struct turn a = {.connection = connection_open(options->target)};
	struct turn b = {.connection = connection_open(options->target)};
	int epoll = epoll_create1(0);
	int64_t until = now_ns() + (int64_t)(options->seconds * 1e9);

	watch(epoll, a.connection);
	watch(epoll, b.connection);
	connection_flush(a.connection);
	connection_flush(b.connection);
	while (now_ns() < until)
		one_handoff(epoll, &a, &b, &handed, &round_trip);
	printf("handoffs=%llu handoff_p50_us=%.1f handoff_p99_us=%.1f rtt_p50_us=%.1f "
	       "rtt_p99_us=%.1f\n",
	       (unsigned long long)handed.total, (double)histogram_percentile(&handed, 0.5) / 1e3,
	       (double)histogram_percentile(&handed, 0.99) / 1e3,
	       (double)histogram_percentile(&round_trip, 0.5) / 1e3,
	       (double)histogram_percentile(&round_trip, 0.99) / 1e3);
}

static _Noreturn void usage(int status)
{
	fputs("Usage: leasebench [OPTION]... pairs|handoff\n"
	      "  --target HOST:PORT   numeric address, default 127.0.0.1:7777\n"
	      "  --service NAME       gRPC service with Acquire and Release, default "
	      "mindd.lease.v1.Lease\n"
	      "  --connections N      default 8\n"
	      "  --streams N          calls in flight on each connection, default 8\n"
	      "  --seconds S          measured time, default 1\n"
	      "  --warmup S           before it, default 0.2\n",
	      status ? stderr : stdout);
	exit(status);
}

static void parse(int argc, char **argv, struct options *options)
{
	static const struct option names[] = {{"target", required_argument, NULL, 't'},
					      {"service", required_argument, NULL, 'n'},
					      {"connections", required_argument, NULL, 'c'},
					      {"streams", required_argument, NULL, 's'},
					      {"seconds", required_argument, NULL, 'd'},
					      {"warmup", required_argument, NULL, 'w'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case 't':
			options->target = optarg;
			break;
		case 'n':
			options->service = optarg;
			break;
		case 'c':
			options->connections = atoi(optarg);
			break;
		case 's':
			options->streams = atoi(optarg);
			break;
		case 'd':
			options->seconds = atof(optarg);
			break;
		case 'w':
			options->warmup = atof(optarg);
			break;
		default:
			usage(c == 'h' ? 0 : 64);
		}
	}
	options->scenario = argv[optind];
}

int main(int argc, char **argv)
{
	struct options options = {"127.0.0.1:7777", NULL, "mindd.lease.v1.Lease", 8, 8, 1, 0.2};

	parse(argc, argv, &options);
	if (options.scenario && strcmp(options.scenario, "pairs") == 0)
		pairs(&options);
	else if (options.scenario && strcmp(options.scenario, "handoff") == 0)
		handoff(&options);
	else
		usage(64);
	return 0;
}
