/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include <sodium.h>

#include "shm/name.h"

static_assert(crypto_shorthash_BYTES == sizeof(uint64_t), "hash");
static_assert(crypto_shorthash_KEYBYTES == 2 * sizeof(uint64_t), "seed");

void shm_name_make(struct shm_name *name, struct bytes name_space, struct bytes key,
		   const uint64_t seed[2])
{
	uint8_t *to = (uint8_t *)name->word;
	size_t size = name_space.len + key.len;

	name->lens = (uint32_t)(name_space.len << 16 | key.len);
	name->size = (uint32_t)size;
	if (size)
		name->word[(size - 1) / 8] = 0;
	if (name_space.len)
		memcpy(to, name_space.data, name_space.len);
	if (key.len)
		memcpy(to + name_space.len, key.data, key.len);
	/* The lengths are hashed too, in the word behind the bytes, which belongs to no name. */
	name->word[(size + 7) / 8] = name->lens;
	crypto_shorthash((unsigned char *)&name->hash, to, ((size + 7) / 8 + 1) * 8,
			 (const unsigned char *)seed);
}
