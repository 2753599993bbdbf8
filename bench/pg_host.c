/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/die.h"
#include "bench/pg_host.h"
#include "pg/driver.h"

enum { OPTIONS_MAX = 16 };

#define TTL_US	 (600 * CLOCK_SECOND)
#define PATIENCE (15 * CLOCK_SECOND)

static void kick(void *arg)
{
	const struct pg_host *host = arg;
	uint64_t one = 1;

	(void)!write(host->bell, &one, sizeof one);
}

static union option_value *option(union option_value *value, const char *name)
{
	for (size_t i = 0; pg_driver.options[i].name; i++)
		if (strcmp(pg_driver.options[i].name, name) == 0)
			return &value[i];
	die("the driver has no option %s", name);
}

static int64_t choice(const char *name, const char *wanted)
{
	for (size_t i = 0; pg_driver.options[i].name; i++)
		for (int64_t j = 0; strcmp(pg_driver.options[i].name, name) == 0 &&
				    pg_driver.options[i].choices[j];
		     j++)
			if (strcmp(pg_driver.options[i].choices[j], wanted) == 0)
				return j;
	die("%s is none of the choices for %s", wanted, name);
}

static void wait_up(struct pg_host *host)
{
	int64_t limit = clock_boot_us() + PATIENCE;

	while (pg_driver.health(host->worker) != ERR_OK) {
		if (clock_boot_us() > limit)
			die("the database is not there");
		pg_host_turn(host, clock_boot_us() + 2 * CLOCK_MILLI);
	}
}

void pg_host_open(struct pg_host *host, const char *dsn, unsigned connections,
		  const char *durability)
{
	struct driver_place place = {.backend = "bench", .state_dir = "/tmp", .workers = 1};
	union option_value value[OPTIONS_MAX] = {0};
	char why[DRIVER_WHY];

	for (size_t i = 0; pg_driver.options[i].name; i++)
		value[i] = pg_driver.options[i].fallback;
	option(value, "dsn")->text = dsn;
	option(value, "connections")->number = connections;
	option(value, "durability")->number = choice("durability", durability);
	if (pg_driver.prepare(&place, value, &host->shared, why) != ERR_OK)
		die("%s", why);
	host->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	host->host = (struct driver_host){.kick = kick, .arg = host, .slot = 0};
	if (host->bell < 0 || pg_driver.attach(host->shared, &host->host, &host->worker) != ERR_OK)
		die("the driver does not start");
	wait_up(host);
}

void pg_host_close(struct pg_host *host)
{
	pg_driver.detach(host->worker);
	pg_driver.close(host->shared);
	close(host->bell);
}

void pg_host_turn(struct pg_host *host, int64_t until_us)
{
	struct pollfd bell = {.fd = host->bell, .events = POLLIN};
	int64_t now = clock_boot_us(), next = pg_driver.next(host->worker);
	uint64_t count;

	if (next > until_us)
		next = until_us;
	if (next > now)
		poll(&bell, 1, (int)((next - now + 999) / 1000));
	(void)!read(host->bell, &count, sizeof count);
	pg_driver.poll(host->worker);
}

/* --- players ---------------------------------------------------------------------------------- */

static void done(struct op *op)
{
	struct pg_player *player = op->caller;

	player->busy = false;
	player->then(player);
}

void pg_player_init(struct pg_player *player, struct pg_host *host, const char *key)
{
	memset(player, 0, sizeof *player);
	arena_init(&player->arena);
	player->host = host;
	snprintf(player->key, sizeof player->key, "%s", key);
}

static void submit(struct pg_player *player)
{
	player->op.arena = &player->arena;
	player->op.done = done;
	player->op.caller = player;
	player->op.request.name_space = bytes_of("locks");
	player->op.request.key = bytes_of(player->key);
	player->busy = true;
	player->begun_us = clock_boot_us();
	if (pg_driver.submit(player->host->worker, &player->op) != ERR_PENDING)
		die("the driver refuses a call");
}

void pg_player_acquire(struct pg_player *player, int64_t wait_us)
{
	arena_reset(&player->arena);
	player->op = (struct op){.kind = OP_ACQUIRE};
	player->op.request.ttl_us = TTL_US;
	player->op.request.wait_us = wait_us;
	submit(player);
}

void pg_player_release(struct pg_player *player)
{
	player->holder = player->op.answer.lease.holder;
	arena_reset(&player->arena);
	player->op = (struct op){.kind = OP_RELEASE};
	player->op.request.holder = player->holder;
	player->op.request.holder_known = true;
	submit(player);
}
