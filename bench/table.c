/* SPDX-License-Identifier: Apache-2.0
 *
 * bench-table: the lease table alone, without gRPC, against LMDB doing the same. N leases are held;
 * then each process acquires and releases keys of its own beside them, and inspects random held
 * ones. The sides take turns. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/die.h"
#include "bench/lmdb_table.h"
#include "core/holder.h"
#include "shm/driver.h"

enum { PROCESSES_MAX = 2, OWN_KEYS = 1024, KEY_ROOM = 32 };

struct side {
	const char *name;
	void (*open)(unsigned process);
	void (*acquire)(const char *key);
	void (*release)(const char *key);
	void (*inspect)(const char *key);
};

static struct driver_shared *shared;
static struct driver_worker *worker;
static struct arena arena;
static struct holder_id held_by[OWN_KEYS];
static unsigned own_key;
static char directory[] = "/dev/shm/leased-bench-XXXXXX";
static size_t lmdb_bytes;

static void no_kick(void *arg)
{
	(void)arg;
}

static void ours_open(unsigned process)
{
	struct driver_host host = {no_kick, no_kick, NULL, process};

	if (shm_driver.attach(shared, &host, &worker) != ERR_OK)
		die("table cannot be attached");
}

static struct op make_op(enum op_kind kind, const char *key)
{
	struct op op = {.kind = kind, .arena = &arena};

	arena_reset(&arena);
	op.request.name_space = bytes_of("locks");
	op.request.key = bytes_of(key);
	op.request.ttl_us = 3600 * CLOCK_SECOND;
	return op;
}

static void ours_acquire(const char *key)
{
	struct op op = make_op(OP_ACQUIRE, key);

	if (shm_driver.submit(worker, &op) != ERR_OK)
		die("acquire of %s: %s", key, err_text(op.answer.result));
	held_by[own_key] = op.answer.lease.holder;
}

static void ours_release(const char *key)
{
	struct op op = make_op(OP_RELEASE, key);

	op.request.holder = held_by[own_key];
	op.request.holder_known = true;
	if (shm_driver.submit(worker, &op) != ERR_OK || !op.answer.existed)
		die("release of %s", key);
}

static void ours_inspect(const char *key)
{
	struct op op = make_op(OP_INSPECT, key);

	if (shm_driver.submit(worker, &op) != ERR_OK || !op.answer.held)
		die("inspect of %s", key);
}

static void lmdb_open_(unsigned process)
{
	(void)process;
	lmdb_table_open(directory, lmdb_bytes);
}

static void lmdb_acquire(const char *key)
{
	held_by[own_key] = holder_make();
	if (!lmdb_table_acquire(key, held_by[own_key].byte, 3600))
		die("lmdb acquire of %s", key);
}

static void lmdb_release(const char *key)
{
	if (!lmdb_table_release(key, held_by[own_key].byte))
		die("lmdb release of %s", key);
}

static void lmdb_inspect(const char *key)
{
	if (!lmdb_table_inspect(key))
		die("lmdb inspect of %s", key);
}

static const struct side sides[2] = {
    {"leased", ours_open, ours_acquire, ours_release, ours_inspect},
    {"lmdb", lmdb_open_, lmdb_acquire, lmdb_release, lmdb_inspect},
};

static void prepare(unsigned leases)
{
	union option_value value[16];
	struct driver_place place = {"bench", directory, PROCESSES_MAX};
	char why[DRIVER_WHY] = "";
	static char segment[64];

	snprintf(segment, sizeof segment, "/leased-bench-%d", (int)getpid());
	for (size_t i = 0; shm_driver.options[i].name; i++) {
		value[i] = shm_driver.options[i].fallback;
		if (strcmp(shm_driver.options[i].name, "segment") == 0)
			value[i].text = segment;
		if (strcmp(shm_driver.options[i].name, "capacity") == 0)
			value[i].number = leases + 8192;
	}
	if (shm_driver.prepare(&place, value, &shared, why) != ERR_OK)
		die("%s", why);
	lmdb_bytes = ((size_t)leases + 8192) * 1024 + (64u << 20);
}

/* Keys are written beforehand: printing one costs more than a lease. */
static char (*held_key)[KEY_ROOM];
static char own_keys[PROCESSES_MAX][OWN_KEYS][KEY_ROOM];

static void write_keys(unsigned leases)
{
	held_key = malloc((size_t)leases * KEY_ROOM);
	if (!held_key)
		die("out of memory");
	for (unsigned n = 0; n < leases; n++)
		snprintf(held_key[n], KEY_ROOM, "held-%09u-abcdefghijklm", n);
	for (unsigned p = 0; p < PROCESSES_MAX; p++)
		for (unsigned n = 0; n < OWN_KEYS; n++)
			snprintf(own_keys[p][n], KEY_ROOM, "own-%u-%06u-abcdefghijklmno", p, n);
}

static void fill(const struct side *side, unsigned leases)
{
	for (unsigned i = 0; i < leases; i++)
		side->acquire(held_key[i]);
}

/* Nanoseconds per acquire + release pair. */
static double pairs(const struct side *side, unsigned process, double seconds)
{
	int64_t start = clock_boot_us(), now = start;
	unsigned long count = 0;

	while (now - start < (int64_t)(seconds * 1e6)) {
		for (int i = 0; i < 64; i++, count++) {
			own_key = (unsigned)(count % OWN_KEYS);
			side->acquire(own_keys[process][own_key]);
			side->release(own_keys[process][own_key]);
		}
		now = clock_boot_us();
	}
	return (double)(now - start) * 1e3 / (double)count;
}

static double inspects(const struct side *side, unsigned leases, unsigned process, double seconds)
{
	int64_t start = clock_boot_us(), now = start;
	uint64_t random = process * 2 + 1;
	unsigned long count = 0;

	while (now - start < (int64_t)(seconds * 1e6)) {
		for (int i = 0; i < 64; i++, count++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			side->inspect(held_key[(unsigned)(random >> 33) % leases]);
		}
		now = clock_boot_us();
	}
	return (double)(now - start) * 1e3 / (double)count;
}

struct figures {
	double pair[PROCESSES_MAX], inspect[PROCESSES_MAX];
};

/* All processes at once; each one's own figures. */
static struct figures measure(const struct side *side, unsigned leases, unsigned processes,
			      double seconds)
{
	struct figures *out =
	    mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct figures figures;
	int status;

	for (unsigned p = 0; p < processes; p++) {
		if (fork() == 0) {
			arena_init(&arena);
			side->open(p);
			out->pair[p] = pairs(side, p, seconds);
			out->inspect[p] = inspects(side, leases, p, seconds);
			_exit(0);
		}
	}
	for (unsigned p = 0; p < processes; p++)
		if (wait(&status) < 0 || status != 0)
			die("%s: a process failed", side->name);
	figures = *out;
	munmap(out, sizeof *out);
	return figures;
}

static double mean(const double *value, unsigned count)
{
	double sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += value[i];
	return sum / count;
}

static void fill_in_child(const struct side *side, unsigned leases)
{
	int status;

	if (fork() == 0) {
		arena_init(&arena);
		side->open(0);
		fill(side, leases);
		_exit(0);
	}
	if (wait(&status) < 0 || status != 0)
		die("%s cannot be filled", side->name);
}

static void compare(unsigned leases, unsigned processes, unsigned rounds, double seconds)
{
	double best[2][2] = {{1e18, 1e18}, {1e18, 1e18}};

	for (unsigned round = 0; round < rounds; round++) {
		for (int s = 0; s < 2; s++) {
			struct figures f = measure(&sides[s], leases, processes, seconds);
			double pair = mean(f.pair, processes), look = mean(f.inspect, processes);

			best[s][0] = pair < best[s][0] ? pair : best[s][0];
			best[s][1] = look < best[s][1] ? look : best[s][1];
		}
	}
	printf("%8u leases, %u process%s: pair %7.0f ns, lmdb %7.0f ns, %5.1f times; inspect %6.0f "
	       "ns, lmdb %6.0f ns, %5.1f times\n",
	       leases, processes, processes > 1 ? "es" : "  ", best[0][0], best[1][0],
	       best[1][0] / best[0][0], best[0][1], best[1][1], best[1][1] / best[0][1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned leases = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
	double seconds = argc > 3 ? atof(argv[3]) : 0.5;
	char command[128];

	if (!mkdtemp(directory))
		die("no directory in /dev/shm");
	write_keys(leases);
	prepare(leases);
	for (int s = 0; s < 2; s++)
		fill_in_child(&sides[s], leases);
	for (unsigned processes = 1; processes <= PROCESSES_MAX; processes++)
		compare(leases, processes, rounds, seconds);
	shm_driver.close(shared);
	snprintf(command, sizeof command, "rm -rf %s /dev/shm/leased-bench-%d*", directory,
		 (int)getpid());
	return system(command) != 0;
}
