/* SPDX-License-Identifier: Apache-2.0 */
#include "shm/slot.h"

enum { TOP_WORDS = 4, BITS = 64 };

static uint64_t bit_of(uint32_t number)
{
	return UINT64_C(1) << (number % BITS);
}

/* Bottom up: whoever sees an upper bit finds the lower one. */
void shm_slot_post(struct shm_actor *actor, uint32_t node)
{
	const struct shm_map *map = actor->map;
	unsigned slot = shm_node_slot(map, node);
	uint32_t bit = (uint32_t)((node - 1) % map->shape.waiters);

	atomic_fetch_or(&shm_map_bottom(map, slot)[bit / BITS], bit_of(bit));
	atomic_fetch_or(&map->slot[slot].middle[bit / BITS / BITS], bit_of(bit / BITS));
	atomic_fetch_or(&map->slot[slot].top[bit / BITS / BITS / BITS], bit_of(bit / BITS / BITS));
	actor->ring |= UINT64_C(1) << slot;
}

/* Takes the lowest bit of `word`, -1 when there is none. */
static int take_bit(_Atomic uint64_t *word)
{
	uint64_t old = atomic_load(word);

	if (!old)
		return -1;
	old &= ~old + 1;
	atomic_fetch_and(word, ~old);
	return __builtin_ctzll(old);
}

static int peek_bit(_Atomic uint64_t *word)
{
	uint64_t old = atomic_load(word);

	return old ? __builtin_ctzll(old) : -1;
}

/* Clears bit `bit` of the upper word when the word below is empty; a post that came in between sets
 * it again by itself or is seen by the second look. */
static void settle(_Atomic uint64_t *upper, uint64_t bit, _Atomic uint64_t *below)
{
	if (atomic_load(below))
		return;
	atomic_fetch_and(upper, ~bit);
	if (atomic_load(below))
		atomic_fetch_or(upper, bit);
}

uint32_t shm_slot_take(struct shm_map *map, unsigned slot)
{
	struct shm_slot *box = &map->slot[slot];
	_Atomic uint64_t *bottoms = shm_map_bottom(map, slot);

	for (uint32_t t = 0; t < TOP_WORDS;) {
		int m = peek_bit(&box->top[t]), b, n;
		uint32_t middle, bottom;

		if (m < 0) {
			t++;
			continue;
		}
		middle = t * BITS + (uint32_t)m;
		b = peek_bit(&box->middle[middle]);
		if (b < 0) {
			settle(&box->top[t], bit_of(middle), &box->middle[middle]);
			continue;
		}
		bottom = middle * BITS + (uint32_t)b;
		n = take_bit(&bottoms[bottom]);
		settle(&box->middle[middle], bit_of(bottom), &bottoms[bottom]);
		settle(&box->top[t], bit_of(middle), &box->middle[middle]);
		if (n >= 0)
			return (uint32_t)(slot * map->shape.waiters) + bottom * BITS + (uint32_t)n +
			       1;
	}
	return 0;
}

bool shm_slot_mail(const struct shm_map *map, unsigned slot)
{
	for (uint32_t t = 0; t < TOP_WORDS; t++)
		if (atomic_load(&map->slot[slot].top[t]))
			return true;
	return false;
}
