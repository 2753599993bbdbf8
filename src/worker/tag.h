/* SPDX-License-Identifier: Apache-2.0
 *
 * worker/tag.h - the only thing that goes through the completion queue as void *. A tag is embedded
 * in what it belongs to; each one handed to the core comes back exactly once, also at shutdown. */
#ifndef LEASED_WORKER_TAG_H
#define LEASED_WORKER_TAG_H

#include <stdbool.h>
#include <stddef.h>

#define TAG_MAGIC 0x74616721u

struct tag {
	unsigned magic;
	void (*fn)(struct tag *tag, bool ok);
};

#define TAG_INIT(function)	     ((struct tag){TAG_MAGIC, (function)})
#define TAG_OWNER(tag, type, member) ((type *)(void *)((char *)(tag)-offsetof(type, member)))

#endif
