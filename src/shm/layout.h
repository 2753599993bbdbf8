/* SPDX-License-Identifier: Apache-2.0
 *
 * shm/layout.h - everything that lies in the segment, and nothing else.
 *
 * Field tags: [init] written before the segment has its name; [mtx] the stripe mutex for reading
 * and writing; [mtx/free] the mutex to write, anybody reads; [slot] only the worker of the slot;
 * [atomic] anybody. Elements are named by index, 1-based: 0 is "none". Places are byte offsets,
 * never pointers. All words that change are atomic and written with release, so that the order of
 * stores in the source is the order that a repairer and a reader without lock see. Zero is the
 * birth state of every pool element, waiter and mailbox: fresh pages are valid. */
#ifndef LEASED_SHM_LAYOUT_H
#define LEASED_SHM_LAYOUT_H

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

enum {
	SHM_LAYOUT = 1, /* raised by any change below */
	SHM_STRIPES = 1024,
	SHM_SLOTS = 64,
	SHM_UNDO = 16,
	SHM_NAME_WORDS = 13,  /* bytes of namespace and key kept in the record itself: 104 */
	SHM_CHUNK_WORDS = 31, /* payload of one chunk: 248 bytes */
	SHM_CONDS = 2048,     /* condition variables of one bell, one per life or accident */
	SHM_WAITERS_MOST = 1000000,
	SHM_BOOT_ID = 40,
	SHM_LINE = 64,
};

#define SHM_MAGIC	       UINT64_C(0x31657361656c2e73)
#define shm_load(word)	       atomic_load_explicit((word), memory_order_acquire)
#define shm_store(word, value) atomic_store_explicit((word), (value), memory_order_release)

/* One grant. A record has two: `seq & 1` names the one that counts, the other one is written before
 * seq turns to it. */
struct shm_body {
	_Atomic uint64_t holder[2];
	_Atomic uint64_t token;
	_Atomic int64_t acquired_wall;
	_Atomic int64_t deadline;    /* boot clock; <= now: the lease is over */
	_Atomic uint32_t chain;	     /* payload: owner, request_id, metadata; 0 = all empty */
	_Atomic uint32_t chain_size; /* bytes */
	_Atomic uint32_t
	    grant_node; /* the waiter it was handed to, and its state word when granted; */
	_Atomic uint32_t grant_word; /* 0 = taken directly, or renewed since */
};

enum { SHM_SEQ_BODY = 1, SHM_SEQ_LIVE = 2, SHM_SEQ_STEP = 4 };

/* One key. Born dead (seq without LIVE); linked into one bucket while its owner is a stripe.
 * Readers without lock: read seq, everything else, seq again; equal and LIVE = a whole record.
 * A record is only reused after seq lost LIVE and the stripe's version moved. */
struct shm_record {
	_Atomic uint32_t owner; /* [atomic] 0 = free, else 1 + stripe; the truth of allocation */
	_Atomic uint32_t seq;	/* [mtx/free] */
	_Atomic uint32_t next;	/* [mtx/free] in the bucket */
	_Atomic uint32_t head;	/* [mtx] queue of waiters */
	_Atomic uint32_t tail;	/* [mtx] */
	_Atomic uint32_t count; /* [mtx/free] */
	_Atomic uint32_t lens;	/* [mtx/free] length of namespace << 16 | of key */
	_Atomic uint32_t name_chain; /* [mtx/free] the name, when it is too long for `name` */
	_Atomic uint64_t hash;	     /* [mtx/free] */
	_Atomic uint64_t name[SHM_NAME_WORDS]; /* [mtx/free] */
	struct shm_body body[2];	       /* [mtx/free] */
};
static_assert(sizeof(struct shm_record) == 256, "record");

/* A piece of a payload or of a long name. */
struct shm_chunk {
	_Atomic uint32_t owner; /* [atomic] as in the record */
	_Atomic uint32_t next;	/* [mtx/free] */
	_Atomic uint64_t data[SHM_CHUNK_WORDS];
};
static_assert(sizeof(struct shm_chunk) == 256, "chunk");

/* A store that is taken back when its writer dies before the commit. */
struct shm_undo {
	_Atomic uint64_t where;
	_Atomic uint32_t old;
	uint32_t padding;
};

enum { SHM_TODO_SEQ = 1, SHM_TODO_GRANT = 2, SHM_TODO_ERASE = 4 };

/* One lock and the record of what its owner is doing. A change = logged stores, then undo_count = 0
 * (the commit), then the todos, which may run again any number of times. All [mtx] but `version`.
 */
struct shm_stripe {
	_Alignas(SHM_LINE) pthread_mutex_t mutex;
	_Atomic uint32_t version; /* [mtx/free] moved before an unlinked record can be used again */
	_Atomic uint32_t undo_count;
	_Atomic uint32_t armed; /* SHM_TODO_... */
	_Atomic uint32_t todo_record;
	_Atomic uint32_t todo_seq;     /* SEQ: new value of the record's seq */
	_Atomic uint32_t todo_node;    /* GRANT: the waiter, */
	_Atomic uint32_t todo_word;    /* its state word before */
	_Atomic uint32_t claim_record; /* allocated, not yet linked */
	_Atomic uint32_t claim_chunk;  /* being allocated */
	_Atomic uint32_t claim_free;   /* chunk being freed */
	_Atomic uint32_t pending[2];   /* chains allocated, not yet attached: payload, name */
	_Atomic uint32_t freeing[2];   /* chains detached, being freed */
	struct shm_undo undo[SHM_UNDO];
};

/* ticket << 3 | state. The ticket grows with every use of the node, so that a late repair cannot
 * mistake one wait for another. See the picture in README.md. */
enum shm_waiter_state {
	SHM_IDLE,
	SHM_QUEUED,  /* linked in its record's queue */
	SHM_GRANTED, /* given the lease; its worker has not seen it */
	SHM_TAKEN,   /* seen: the client may know */
	SHM_REVOKED, /* granted, not seen in time, given to another */
	SHM_EXPIRED, /* wait ran out before the lease came */
};
enum { SHM_STATE_BITS = 3, SHM_STATE_MASK = 7 };

/* One parked acquire, from the range of its worker's slot. */
struct shm_waiter {
	_Atomic uint32_t state;	     /* QUEUED <-> others: [mtx]; GRANTED -> TAKEN | REVOKED: CAS */
	_Atomic uint32_t generation; /* [slot] of the slot when it was queued */
	_Atomic uint32_t next, prev; /* [mtx] */
	_Atomic uint32_t record;     /* [slot] */
	_Atomic uint32_t chain;	     /* [mtx] payload while QUEUED, then 0 */
	_Atomic uint32_t chain_size;
	_Atomic uint32_t padding;
	_Atomic uint64_t holder[2];
	_Atomic int64_t ttl;
	_Atomic int64_t wait_deadline;
	_Atomic uint64_t token; /* the three results, written before GRANTED */
	_Atomic int64_t acquired_wall;
	_Atomic int64_t deadline;
	uint64_t padding2;
};
static_assert(sizeof(struct shm_waiter) == 96, "waiter");

/* Wakes the waker thread of one slot. A condition variable is used by one waker only and left for
 * the next one when anybody died in it: it is never used twice. */
struct shm_bell {
	pthread_mutex_t mutex;	 /* robust; never taken with a stripe lock held */
	_Atomic uint32_t used;	 /* [mutex] conds handed out; the last one is the current one */
	_Atomic uint32_t asleep; /* [atomic] the waker is in, or about to enter, its timed wait */
	_Atomic uint32_t rung;	 /* [atomic] */
	pthread_cond_t cond[SHM_CONDS];
};

/* One worker at a time. The mailbox is a bitmap over the slot's waiters in three levels (the lowest
 * one is an array of its own): an upper bit says "look below". Posting is an OR, bottom up. */
struct shm_slot {
	_Alignas(SHM_LINE) _Atomic uint32_t
	    generation;		    /* moves at birth and death; others' nodes are dead */
	_Atomic uint32_t attached;  /* 1 = a worker lives here */
	_Atomic int64_t heartbeat;  /* boot clock */
	_Atomic uint32_t node_high; /* nodes ever used, monotonic */
	_Alignas(SHM_LINE) _Atomic uint64_t top[4];
	_Atomic uint64_t middle[256];
	_Alignas(SHM_LINE) struct shm_bell bell;
};

struct shm_pool_head {
	_Alignas(SHM_LINE) _Atomic uint32_t committed; /* elements that have memory, monotonic */
	_Atomic uint32_t
	    tight; /* a search of everything found nothing, and nothing was freed since */
};

struct shm_header {
	uint64_t magic;		      /* [init] */
	uint32_t layout;	      /* [init] SHM_LAYOUT */
	uint32_t sizes;		      /* [init] sizes of all structures, folded */
	uint64_t capacity;	      /* [init] */
	uint64_t waiters;	      /* [init] per slot */
	uint64_t seed[2];	      /* [init] of the hash */
	char boot_id[SHM_BOOT_ID];    /* [init] */
	_Atomic int64_t grace_until;  /* [init] boot clock: no grants before */
	_Atomic int64_t wall_offset;  /* [atomic] wall = boot + this */
	_Atomic uint32_t burials;     /* [atomic] deaths of workers that the master saw */
	_Atomic uint32_t slots;	      /* [atomic] slots that have memory */
	_Atomic uint32_t damaged;     /* [atomic] a stripe could not be repaired */
	_Atomic uint64_t fence_limit; /* [atomic] first token that is not in the state file yet */
	_Alignas(SHM_LINE) _Atomic uint64_t fence_next; /* [atomic] */
	pthread_mutex_t fence_mutex;			/* robust; who writes the state file */
	struct shm_pool_head pool[2];
};

#endif
