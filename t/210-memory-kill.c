/* SPDX-License-Identifier: Apache-2.0
 *
 * B21: a worker dies after every instruction of every operation; then another one repairs, all
 * invariants must hold, the key must be as it was before or after, and every operation must work.
 *
 * A death between two changes of shared memory is the same as one right after the first of them, so
 * only those are looked at: the worker is stepped through its operation, and at each change its
 * death is acted out on the memory as it stands, which is then put back. At some of them the
 * repairer dies too, at each of its own changes, and some deaths are real. LEASED_EXHAUSTIVE=1 does
 * all of it at every change, and kills for real at every instruction of the shorter operations and
 * at every change of the longer ones.
 *
 * Built with SHM_BREAK_UNDO (211-memory-kill-unlogged), the same deaths must be found to break the
 * table. */
/* WHY: longer than 500 lines: the scenarios and their judge share the table under test. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/holder.h"
#include "segcheck.h"
#include "shm/answer.h"
#include "shm/pool.h"
#include "shm/queue.h"
#include "shm/shared.h"
#include "shm/slot.h"
#include "shm/sweep.h"
#include "shm_case.h"
#include "shm_kill.h"

enum { VICTIM, SURVIVOR, GONE, SLOTS, NODES = 16, CHUNKS = 1024, CAPACITY = 32 };
#define SECOND CLOCK_SECOND

static struct shm_case test;
static struct shm_map *map;
static struct shm_actor victim, survivor;
static struct shm_image image;
static int64_t now_us = 1000 * CLOCK_SECOND;
static char long_key[300], text[700];

static int64_t fake_clock(void)
{
	return now_us;
}

/* --- small operations on the bare table ---------------------------------------------------- */

struct step {
	struct shm_actor *actor;
	const char *key;
	struct holder_id holder;
	int64_t ttl, wait;
	uint32_t node;
	bool bulky;
};

static struct holder_id holder(uint8_t n)
{
	struct holder_id id = {{n, n, n, n}};

	return id;
}

static enum err run_call(const struct step *step, enum op_kind kind, struct shm_result *result)
{
	struct metadata_entry entry = {bytes_of("m"), bytes_of(text)};
	struct op_request request = {.name_space = bytes_of("n"),
				     .key = bytes_of(step->key),
				     .ttl_us = step->ttl,
				     .wait_us = step->wait,
				     .holder = step->holder,
				     .holder_known = true};
	uint64_t payload[SHM_PAYLOAD_WORDS];
	struct shm_name name;
	struct shm_call call = {.name = &name,
				.request = &request,
				.payload = payload,
				.holder = step->holder,
				.wait_deadline = step->wait ? now_us + step->wait : 0,
				.node = step->node};

	request.metadata = (struct metadata){&entry, step->bulky ? 1 : 0};
	call.payload_size =
	    shm_payload_encode(payload, request.owner, request.request_id, &request.metadata);
	shm_name_make(&name, request.name_space, request.key, map->header->seed);
	if (kind == OP_ACQUIRE)
		return shm_table_acquire(step->actor, &call, result);
	return kind == OP_RENEW ? shm_table_renew(step->actor, &call, result)
				: shm_table_release(step->actor, &call, result);
}

static uint32_t node_of(unsigned slot, uint32_t number)
{
	return (uint32_t)(slot * map->shape.waiters) + number + 1;
}

static enum err take(struct shm_actor *actor, const char *key, uint8_t who, int64_t ttl, bool bulky)
{
	struct step step = {actor, key, holder(who), ttl, 0, 0, bulky};
	struct shm_result result;

	return run_call(&step, OP_ACQUIRE, &result);
}

static enum err queue(struct shm_actor *actor, const char *key, uint32_t number, bool bulky)
{
	struct step step = {actor,	 key,	      holder((uint8_t)(100 + number)),
			    60 * SECOND, 60 * SECOND, node_of(actor->slot, number),
			    bulky};
	struct shm_result result;

	return run_call(&step, OP_ACQUIRE, &result);
}

static enum err renew(struct shm_actor *actor, const char *key, uint8_t who, int64_t ttl)
{
	struct step step = {actor, key, holder(who), ttl, 0, 0, false};
	struct shm_result result;

	return run_call(&step, OP_RENEW, &result);
}

static enum err release(struct shm_actor *actor, const char *key, struct holder_id who)
{
	struct step step = {actor, key, who, 0, 0, 0, false};
	struct shm_result result;

	return run_call(&step, OP_RELEASE, &result);
}

static uint64_t hash_of(const char *key)
{
	struct shm_name name;

	shm_name_make(&name, bytes_of("n"), bytes_of(key), map->header->seed);
	return name.hash;
}

static bool see(const char *key, struct shm_snapshot *snapshot)
{
	uint64_t payload[SHM_PAYLOAD_WORDS];
	struct shm_name name;

	memset(snapshot, 0, sizeof *snapshot);
	shm_name_make(&name, bytes_of("n"), bytes_of(key), map->header->seed);
	return shm_probe_name(map, &name, snapshot, payload);
}

static uint32_t record_of(const char *key)
{
	struct shm_name name;

	shm_name_make(&name, bytes_of("n"), bytes_of(key), map->header->seed);
	return shm_record_find(map, &name);
}

/* --- the table before each death ----------------------------------------------------------- */

static void heartbeats(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		shm_store(&map->slot[i].heartbeat, now_us);
}

static void prepare_table(void)
{
	struct shm_actor gone;

	heartbeats();
	for (unsigned i = 0; i < SLOTS; i++) {
		shm_store(&map->slot[i].generation, 1);
		shm_store(&map->slot[i].node_high, NODES);
	}
	shm_actor_init(&victim, map, VICTIM, 1);
	shm_actor_init(&survivor, map, SURVIVOR, 1);
	shm_actor_init(&gone, map, GONE, 1);
	cr_assert_eq(shm_pool_grow(&victim, SHM_RECORDS), ERR_OK);
	cr_assert_eq(shm_pool_grow(&victim, SHM_CHUNKS), ERR_OK);
	cr_assert_eq(take(&victim, "expired", 1, SECOND / 2, true), ERR_OK);
	cr_assert_eq(take(&victim, "expired too", 2, SECOND / 2, true), ERR_OK);
	cr_assert_eq(queue(&survivor, "expired too", 0, true), ERR_PENDING);
	cr_assert_eq(take(&victim, "plain", 3, 60 * SECOND, true), ERR_OK);
	cr_assert_eq(take(&victim, long_key, 4, 60 * SECOND, true), ERR_OK);
	cr_assert_eq(take(&survivor, "line", 5, 60 * SECOND, true), ERR_OK);
	cr_assert_eq(queue(&survivor, "line", 1, true), ERR_PENDING);
	cr_assert_eq(queue(&victim, "line", 1, true), ERR_PENDING);
	cr_assert_eq(queue(&survivor, "line", 2, false), ERR_PENDING);
	/* A grant that the victim has not seen, another one waits behind it. */
	cr_assert_eq(take(&survivor, "granted", 6, 60 * SECOND, false), ERR_OK);
	cr_assert_eq(queue(&victim, "granted", 2, true), ERR_PENDING);
	cr_assert_eq(queue(&survivor, "granted", 3, true), ERR_PENDING);
	cr_assert_eq(release(&survivor, "granted", holder(6)), ERR_OK);
	/* One who is gone: in line, granted, taken. */
	cr_assert_eq(take(&survivor, "left", 7, 60 * SECOND, false), ERR_OK);
	cr_assert_eq(queue(&gone, "left", 0, true), ERR_PENDING);
	cr_assert_eq(queue(&survivor, "left", 4, true), ERR_PENDING);
	cr_assert_eq(release(&survivor, "left", holder(7)), ERR_OK);
	cr_assert_eq(queue(&gone, "line", 1, true), ERR_PENDING);
	cr_assert_eq(take(&survivor, "seen", 8, 60 * SECOND, false), ERR_OK);
	cr_assert_eq(queue(&gone, "seen", 2, true), ERR_PENDING);
	cr_assert_eq(release(&survivor, "seen", holder(8)), ERR_OK);
	shm_store(&shm_node_at(map, node_of(GONE, 2))->state,
		  shm_word_with(shm_load(&shm_node_at(map, node_of(GONE, 2))->state), SHM_TAKEN));
	shm_store(&map->slot[GONE].generation, 2);
	now_us += SECOND;
	heartbeats();
}

/* --- what the victim does ------------------------------------------------------------------ */

static void acquire_new(void)
{
	take(&victim, "new", 50, 60 * SECOND, false);
}

static void acquire_bulky(void)
{
	char key[sizeof long_key];

	memcpy(key, long_key, sizeof key);
	key[0] = 'z';
	take(&victim, key, 50, 60 * SECOND, true);
}

static void take_over(void)
{
	take(&victim, "expired", 50, 60 * SECOND, true);
}

static void renew_plain(void)
{
	renew(&victim, "plain", 3, 90 * SECOND);
}

static void release_plain(void)
{
	release(&victim, "plain", holder(3));
}

static void release_long(void)
{
	release(&victim, long_key, holder(4));
}

static void release_in_line(void)
{
	release(&victim, "line", holder(5));
}

static void stand_in_line(void)
{
	queue(&victim, "line", 5, true);
}

static void cancel_middle(void)
{
	shm_table_withdraw(&victim, shm_hash_stripe(hash_of("line")), node_of(VICTIM, 1));
}

static void cancel_granted(void)
{
	shm_table_withdraw(&victim, shm_hash_stripe(hash_of("granted")), node_of(VICTIM, 2));
}

static void expiry(void)
{
	shm_table_look(&victim, hash_of("expired too"), record_of("expired too"));
}

static void acquire_expired_in_line(void)
{
	queue(&victim, "expired too", 6, true);
}

static void revoke(void)
{
	shm_table_look(&victim, hash_of("left"), record_of("left"));
}

static void reclaim(void)
{
	while (shm_table_reclaim(&victim))
		continue;
}

static void sweep(void)
{
	shm_sweep_slot(&victim, GONE);
}

static const struct scenario {
	const char *name;
	void (*run)(void);
	const char *key; /* is as before or as after; NULL: several changes */
} scenarios[] = {
    {"acquire of a new key", acquire_new, "new"},
    {"acquire of a new key, long name and metadata", acquire_bulky, NULL},
    {"take-over of an expired lease", take_over, "expired"},
    {"renew", renew_plain, "plain"},
    {"release", release_plain, "plain"},
    {"release of a long name", release_long, NULL},
    {"release with hand-over", release_in_line, "line"},
    {"standing in line", stand_in_line, "line"},
    {"cancel in the middle", cancel_middle, "line"},
    {"cancel of a grant not taken", cancel_granted, "granted"},
    {"hand-over at expiry", expiry, "expired too"},
    {"acquire of an expired key with a line", acquire_expired_in_line, NULL},
    {"revoking a dead worker's grant", revoke, "left"},
    {"reclaiming", reclaim, NULL},
    {"sweeping a dead worker's slot", sweep, NULL},
};

static void run_scenario(void *arg)
{
	((const struct scenario *)arg)->run();
}

/* --- after the death ----------------------------------------------------------------------- */

static uint8_t *start_image;
static long deaths, broken;
static char first_broken[200];

static void repair_all(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < SHM_STRIPES; i++) {
		struct shm_stripe *stripe;

		if (shm_stripe_lock(&survivor, i, &stripe) == ERR_OK)
			shm_stripe_unlock(stripe);
	}
}

static bool same(const struct shm_snapshot *a, const struct shm_snapshot *b)
{
	return holder_equal(a->grant.holder, b->grant.holder) && a->grant.token == b->grant.token &&
	       a->grant.deadline == b->grant.deadline && a->waiters == b->waiters;
}

static const char *other_work(void)
{
	if (take(&survivor, "probe", 90, 60 * SECOND, true) != ERR_OK ||
	    renew(&survivor, "probe", 90, 60 * SECOND) != ERR_OK ||
	    queue(&survivor, "probe", 9, true) != ERR_PENDING ||
	    shm_table_withdraw(&survivor, shm_hash_stripe(hash_of("probe")),
			       node_of(SURVIVOR, 9)) != ERR_OK ||
	    release(&survivor, "probe", holder(90)) != ERR_OK)
		return "an operation on another key fails";
	if (queue(&survivor, "line", 8, true) == ERR_OK)
		return release(&survivor, "line", holder(108)) == ERR_OK ? NULL : "release fails";
	return shm_table_withdraw(&survivor, shm_hash_stripe(hash_of("line")),
				  node_of(SURVIVOR, 8)) == ERR_OK
		   ? NULL
		   : "cancel fails";
}

static const char *judge(const struct scenario *scenario, bool before, bool after,
			 const struct shm_snapshot *was, const struct shm_snapshot *is)
{
	struct shm_snapshot seen;
	const char *wrong;
	bool there;

	repair_all(NULL);
	wrong = segcheck(map);
	if (wrong)
		return wrong;
	there = scenario->key && see(scenario->key, &seen);
	if (scenario->key && !(there == before && (!there || same(&seen, was))) &&
	    !(there == after && (!there || same(&seen, is))))
		return "neither before nor after";
	wrong = other_work();
	if (wrong)
		return wrong;
	shm_store(&map->slot[VICTIM].generation, 2);
	if (shm_sweep_slot(&survivor, VICTIM) != ERR_OK ||
	    shm_sweep_slot(&survivor, GONE) != ERR_OK)
		return "a slot cannot be swept";
	return segcheck(map);
}

/* One walk through a scenario. */
struct tour {
	const struct scenario *scenario;
	struct shm_snapshot was, is;
	bool before, after; /* the key was, will be there */
	uint8_t *last;	    /* the image after the last change */
	uint8_t *wanted;    /* by step: shared memory changed there */
	long room, changes, step;
};

enum { ROOM = 200000, REPAIR_EVERY = 12, REAL_EVERY = 24, SHORT = 4000 };

static bool exhaustive(void)
{
	return getenv("LEASED_EXHAUSTIVE") != NULL;
}

static void count(const struct tour *tour, long second)
{
	const char *wrong;

	shm_actor_init(&survivor, map, SURVIVOR, 1);
	wrong = judge(tour->scenario, tour->before, tour->after, &tour->was, &tour->is);
	deaths++;
	if (wrong && broken++ == 0)
		snprintf(first_broken, sizeof first_broken, "%s, step %ld/%ld: %s",
			 tour->scenario->name, tour->step, second, wrong);
}

/* --- the repairer dies too */

static unsigned dead_stripe[SHM_STRIPES], dead_stripes;

static void find_dead(void)
{
	dead_stripes = 0;
	for (unsigned i = 0; i < SHM_STRIPES; i++)
		if (map->stripe[i].mutex.__data.__lock)
			dead_stripe[dead_stripes++] = i;
}

static void repair_dead(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < dead_stripes; i++) {
		struct shm_stripe *stripe;

		if (shm_stripe_lock(&survivor, dead_stripe[i], &stripe) == ERR_OK)
			shm_stripe_unlock(stripe);
	}
}

struct second {
	const struct tour *tour;
	uint8_t *last;
};

static void die_in_repair(void *arg, long step, pid_t pid)
{
	struct second *second = arg;

	if (!shm_image_moved(&image, second->last))
		return;
	shm_image_bury(map, pid);
	count(second->tour, step);
	shm_image_restore(&image, second->last);
}

static void kill_repair(const struct tour *tour)
{
	struct second second = {tour, shm_image_save(&image)};
	uint8_t *dead = shm_image_save(&image);

	find_dead();
	if (dead_stripes)
		shm_kill_at(repair_dead, NULL, ROOM, die_in_repair, &second);
	shm_image_restore(&image, dead);
	free(second.last);
	free(dead);
}

/* --- the worker dies */

static void die_here(void *arg, long step, pid_t pid)
{
	struct tour *tour = arg;

	if (step >= tour->room || !shm_image_moved(&image, tour->last))
		return;
	tour->wanted[step] = 1;
	tour->step = step;
	shm_image_bury(map, pid);
	if (tour->changes++ % REPAIR_EVERY == 0 || exhaustive())
		kill_repair(tour);
	count(tour, 0);
	shm_image_restore(&image, tour->last);
}

static void kill_for_real(struct tour *tour, long steps)
{
	long change = 0;

	for (long step = 1; step < steps; step++) {
		change += tour->wanted[step];
		if (!tour->wanted[step] && !(exhaustive() && steps <= SHORT))
			continue;
		if (!exhaustive() && change % REAL_EVERY != 1)
			continue;
		shm_image_restore(&image, start_image);
		tour->step = step;
		if (shm_kill_at(run_scenario, (void *)(uintptr_t)tour->scenario, step, NULL, NULL) <
		    0)
			break;
		count(tour, 0);
	}
}

static void kill_everywhere(const struct scenario *scenario)
{
	struct tour tour = {.scenario = scenario, .wanted = calloc(ROOM, 1), .room = ROOM};
	const char *wrong;
	long steps;

	shm_image_restore(&image, start_image);
	tour.before = scenario->key && see(scenario->key, &tour.was);
	scenario->run();
	tour.after = scenario->key && see(scenario->key, &tour.is);
	wrong = segcheck(map);
	cr_assert_null(wrong, "%s without a death: %s", scenario->name, wrong);

	shm_image_restore(&image, start_image);
	shm_actor_init(&victim, map, VICTIM, 1);
	tour.last = shm_image_save(&image);
	steps = -shm_kill_at(run_scenario, (void *)(uintptr_t)scenario, ROOM, die_here, &tour);
	cr_assert_gt(steps, 0, "%s", scenario->name);
	cr_assert_gt(tour.changes, 15, "%s does nothing", scenario->name);
	kill_for_real(&tour, steps);
	free(tour.last);
	free(tour.wanted);
}

static void set_up(void)
{
	memset(long_key, 'l', sizeof long_key - 1);
	memset(text, 't', sizeof text - 1);
	shm_case_init(&test);
	test.capacity = CAPACITY;
	test.waiters = NODES;
	test.workers = SLOTS;
	shm_case_open(&test);
	map = &test.shared->map;
	map->clock = fake_clock;
	cr_assert_eq(
	    shm_map_commit(map, map->shape.nodes, SLOTS * NODES * sizeof(struct shm_waiter)),
	    ERR_OK);
	prepare_table();
	shm_image_init(&image, map, SLOTS, NODES, CHUNKS);
	start_image = shm_image_save(&image);
}

static void tear_down(void)
{
	shm_image_restore(&image, start_image);
	free(start_image);
	shm_case_remove(&test);
}

TestSuite(kill, .init = set_up, .fini = tear_down, .timeout = 3600);

Test(kill, B21_a_death_at_any_instruction_is_repaired)
{
	const char *wrong = segcheck(map);

	cr_assert_null(wrong, "%s", wrong);
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
		long deaths_before = deaths, broken_before = broken;
		const char *only = getenv("LEASED_KILL_ONLY");

		if (only && !strstr(scenarios[i].name, only))
			continue;
		kill_everywhere(&scenarios[i]);
		cr_log_info("%-46s %5ld deaths, %ld broken", scenarios[i].name,
			    deaths - deaths_before, broken - broken_before);
#ifdef SHM_BREAK_UNDO
		if (broken)
			break; /* one is enough to show that it can fail */
#endif
	}
#ifdef SHM_BREAK_UNDO
	cr_expect_gt(broken, 0, "the test cannot fail");
#else
	cr_expect_gt(deaths, 2000);
	cr_expect_eq(broken, 0, "%ld of %ld broke the table; first: %s", broken, deaths,
		     first_broken);
#endif
}
