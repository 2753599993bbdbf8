/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/check.h"
#include "base/clock.h"
#include "leasectl/duration.h"
#include "leasectl/list.h"
#include "leasectl/show.h"
#include "leasectl/unary.h"
#include "leasectl/watch.h"

/* A lease as the last look saw it. Lists are ordered by key, so two looks are merged in one pass.
 */
struct seen {
	char *key;
	size_t key_len;
	uint64_t token;
	int64_t expires_us, end_us; /* by the server's clock; by ours */
	json_t *handle;
};

struct look {
	struct seen *list;
	size_t count, room;
};

static void add(void *context, const Leased__Wire__LeaseHandle *handle)
{
	struct look *look = context;
	struct seen *seen;

	if (look->count == look->room) {
		look->room = look->room ? 2 * look->room : 256;
		look->list = reallocarray(look->list, look->room, sizeof *look->list);
		CHECK(look->list);
	}
	seen = &look->list[look->count++];
	*seen = (struct seen){.key_len = handle->key.len, .token = handle->fencing_token};
	seen->key = malloc(handle->key.len + 1);
	CHECK(seen->key);
	memcpy(seen->key, handle->key.data, handle->key.len);
	if (handle->expires_at)
		seen->expires_us =
		    handle->expires_at->seconds * CLOCK_SECOND + handle->expires_at->nanos / 1000;
	seen->end_us = clock_boot_us() + lease_remaining_us(handle);
	seen->handle = show_json(handle);
}

static void forget(struct look *look)
{
	for (size_t i = 0; i < look->count; i++) {
		free(look->list[i].key);
		json_decref(look->list[i].handle);
	}
	free(look->list);
	*look = (struct look){NULL, 0, 0};
}

static void tell(const char *event, const struct seen *seen)
{
	char at[DURATION_ROOM];
	int64_t now = clock_wall_us();

	if (!seen)
		return;
	duration_moment(now / CLOCK_SECOND, (int32_t)(now % CLOCK_SECOND * 1000), at);
	show_json_print(
	    json_pack("{s:s, s:s, s:O}", "event", event, "seenAt", at, "handle", seen->handle),
	    OUTPUT_JSONL);
}

/* Gone after its end is taken for expired. */
static void tell_gone(const struct seen *seen)
{
	tell(clock_boot_us() >= seen->end_us ? "expired" : "released", seen);
}

static int compare(const struct seen *a, const struct seen *b)
{
	return bytes_compare((struct bytes){(const uint8_t *)a->key, a->key_len},
			     (struct bytes){(const uint8_t *)b->key, b->key_len});
}

/* The end moves by microseconds between two readings of one deadline. */
static bool renewed(const struct seen *before, const struct seen *after)
{
	return llabs(after->expires_us - before->expires_us) > 20 * CLOCK_MILLI;
}

static void tell_changes(const struct look *before, const struct look *after)
{
	size_t i = 0, j = 0;

	while (i < before->count || j < after->count) {
		const struct seen *old = i < before->count ? &before->list[i] : NULL;
		const struct seen *new = j < after->count ? &after->list[j] : NULL;
		int order = !old ? 1 : !new ? -1 : compare(old, new);

		if (order < 0 || (order == 0 && old->token != new->token))
			tell_gone(old);
		if (order > 0 || (order == 0 && old->token != new->token))
			tell("acquired", new);
		else if (order == 0 && renewed(old, new))
			tell("renewed", new);
		i += order <= 0;
		j += order >= 0;
	}
	fflush(stdout);
}

int watch_main(const struct options *options)
{
	struct look before = {NULL, 0, 0}, after = {NULL, 0, 0};
	struct client *client = unary_client(options);
	struct failure failure;
	bool first = true, told = false;

	while (!ferror(stdout)) {
		bool good = list_read(options, client, add, &after, &failure);

		if (good) {
			tell_changes(&before, &after);
			forget(&before);
			before = after;
			after = (struct look){NULL, 0, 0};
			first = false;
		} else if (first || !failure_is_passing(&failure)) {
			failure_print(&failure, options->name_space);
			break;
		} else {
			forget(&after);
			if (!told)
				failure_print(&failure, options->name_space);
		}
		told = !good;
		usleep((useconds_t)options->interval_us);
	}
	forget(&before);
	forget(&after);
	client_close(client);
	return ferror(stdout) ? STATUS_OK : failure_status(&failure);
}
