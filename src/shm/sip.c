/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/sip.h"

struct state {
	uint64_t a, b, c, d;
};

static uint64_t turn(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void mix(struct state *s)
{
	s->a += s->b;
	s->b = turn(s->b, 13) ^ s->a;
	s->a = turn(s->a, 32);
	s->c += s->d;
	s->d = turn(s->d, 16) ^ s->c;
	s->a += s->d;
	s->d = turn(s->d, 21) ^ s->a;
	s->c += s->b;
	s->b = turn(s->b, 17) ^ s->c;
	s->c = turn(s->c, 32);
}

static void absorb(struct state *s, uint64_t word)
{
	s->d ^= word;
	mix(s);
	s->a ^= word;
}

uint64_t shm_sip(const uint64_t seed[2], uint64_t tag, const uint64_t *word, size_t count)
{
	struct state s = {
	    seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
	    seed[0] ^ UINT64_C(0x6c7967656e657261), seed[1] ^ UINT64_C(0x7465646279746573)};

	for (size_t i = 0; i < count; i++)
		absorb(&s, word[i]);
	absorb(&s, tag);
	s.c ^= 0xff;
	mix(&s);
	mix(&s);
	mix(&s);
	return s.a ^ s.b ^ s.c ^ s.d;
}
