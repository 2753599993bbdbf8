/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>

#include "base/check.h"
#include "core/holder.h"

enum { STORE_IDS = 256 };

struct store {
	uint8_t random[STORE_IDS * sizeof(struct holder_id)];
	size_t left;
	unsigned forks; /* the store is this process's own while this is current */
};

static _Thread_local struct store store;
static atomic_uint forks = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A forked child must not hand out its parent's ids. Asking for the pid each time would be a system
 * call. */
static void forked(void)
{
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
	CHECK(pthread_atfork(NULL, NULL, forked) == 0);
}

static void refill(void)
{
	size_t got = 0;

	pthread_once(&once, watch_forks);
	while (got < sizeof store.random) {
		ssize_t n = getrandom(store.random + got, sizeof store.random - got, 0);

		CHECK(n > 0);
		got += (size_t)n;
	}
	store.left = STORE_IDS;
	store.forks = atomic_load_explicit(&forks, memory_order_relaxed);
}

struct holder_id holder_make(void)
{
	struct holder_id id;
	uint8_t *source;

	if (store.left == 0 || store.forks != atomic_load_explicit(&forks, memory_order_relaxed))
		refill();
	source = store.random + --store.left * sizeof id;
	memcpy(id.byte, source, sizeof id);
	memset(source, 0, sizeof id);
	id.byte[6] = (uint8_t)((id.byte[6] & 0x0f) | 0x40);
	id.byte[8] = (uint8_t)((id.byte[8] & 0x3f) | 0x80);
	return id;
}

static bool dash_before(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void holder_format(struct holder_id id, char text[static LEASE_HOLDER_TEXT])
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof id.byte; i++) {
		if (dash_before(i))
			*text++ = '-';
		*text++ = digit[id.byte[i] >> 4];
		*text++ = digit[id.byte[i] & 15];
	}
}

static int digit_value(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool holder_parse(struct bytes text, struct holder_id *id)
{
	const uint8_t *c = text.data;

	if (text.len != LEASE_HOLDER_TEXT)
		return false;
	for (size_t i = 0; i < sizeof id->byte; i++) {
		int high, low;

		if (dash_before(i) && *c++ != '-')
			return false;
		high = digit_value(*c++);
		low = digit_value(*c++);
		if (high < 0 || low < 0)
			return false;
		id->byte[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

bool holder_equal(struct holder_id a, struct holder_id b)
{
	unsigned difference = 0;

	for (size_t i = 0; i < sizeof a.byte; i++)
		difference |= (unsigned)(a.byte[i] ^ b.byte[i]);
	return difference == 0;
}
