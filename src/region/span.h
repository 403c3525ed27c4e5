/* SPDX-License-Identifier: MIT */
/*
 * Spans: runs of whole pages.
 *
 *	LIVE	a block; its owner is the program
 *	KEPT	free, still mapped, in its shard's tree and age list
 *	LEAVING	taken out of the store, on its way to the kernel; nobody can
 *		get it any more
 *	UNUSED	a spare descriptor
 *
 * Descriptors are type-stable: their memory is a span descriptor for ever, so
 * a stale pointer from the page map can always be looked at, and is then
 * re-checked under the shard's lock.
 *
 * [N1] a KEPT or LIVE span is marked in the page map, and nothing else is.
 * [N2] KEPT spans of one shard never touch each other (they are merged).
 * [N3] a span comes to a shard as LIVE, and leaves the states LIVE and KEPT of
 *	a shard only under that shard's lock.  Shard and state are one word, so
 *	whoever holds a shard's lock and reads "KEPT here" or "LIVE here" can
 *	rely on it, however stale the pointer was.
 */
#ifndef REGION_SPAN_H
#define REGION_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/list.h"
#include "os/lock.h"

enum span_state {
	SPAN_UNUSED,
	SPAN_LIVE,
	SPAN_KEPT,
	SPAN_LEAVING,
};

/* The program changed the mapping of the block: never kept after it. */
#define SPAN_TAINTED 1
/* A part is gone and could not be recorded: never unmapped either. */
#define SPAN_ABANDONED 2

/* A part of a live block that the program unmapped or replaced itself. */
struct hole {
	size_t page, nr_pages;
	struct hole *next;
};

/* One cache line. */
struct span {
	/* shard lock; of a LIVE span its owner may read them without */
	size_t page; /* page number of the first page */
	size_t nr_pages;
	struct span *left; /* tree by (nr_pages, page) */
	struct span *right;
	struct list by_age; /* KEPT: oldest first; UNUSED: spare list */
	struct hole *holes;
	uint32_t kept_since_ms; /* wraps after 49 days: compare differences */
	uint16_t home;		/* atomic: shard and state, see [N3] */
	uint8_t flags;
	uint8_t reason; /* LEAVING, for the keeper: the counter that says why */
};

#define HOME_STATE_BITS 4

static inline uint16_t home_of(unsigned int shard, enum span_state state)
{
	return (uint16_t)(shard << HOME_STATE_BITS | state);
}

/* Hints, unless the caller owns the span or holds its shard's lock. */
static inline unsigned int span_shard(const struct span *span)
{
	return load_relaxed(&span->home) >> HOME_STATE_BITS;
}

static inline enum span_state span_state(const struct span *span)
{
	return load_relaxed(&span->home) & ((1u << HOME_STATE_BITS) - 1);
}

/* Pairs with the release in span_set: bounds are seen with their home. */
static inline bool span_is(const struct span *span, unsigned int shard,
			   enum span_state state)
{
	return load_acquire(&span->home) == home_of(shard, state);
}

static inline void span_set(struct span *span, unsigned int shard,
			    enum span_state state)
{
	store_release(&span->home, home_of(shard, state));
}

static inline void *page_address(size_t page)
{
	return (void *)(page << 12);
}

static inline size_t address_page(const void *address)
{
	return (size_t)address >> 12;
}

static inline size_t span_end(const struct span *span)
{
	return span->page + span->nr_pages;
}

/*
 * The tree of kept spans: a treap, ordered by size and then by address, with
 * a priority that is a hash of the address, so that its shape depends on
 * nothing but its content (Seidel and Aragon, "Randomized search trees").
 */
void span_tree_insert(struct span **root, struct span *span);
void span_tree_remove(struct span **root, struct span *span);
/* The smallest of at least @nr_pages, and the largest of all; or NULL. */
struct span *span_tree_best_fit(struct span *root, size_t nr_pages);
struct span *span_tree_largest(struct span *root);
/* Number of spans; panics where order or heap property is broken. */
size_t span_tree_check(const struct span *root);

/*
 * Descriptors and hole records: carved from chunks that are never unmapped
 * while the store is open.  Own lock, the innermost.
 */
struct span_pool {
	struct lock lock;
	/* pool lock */
	struct list spare;
	struct hole *spare_holes;
	struct pool_chunk *chunks;
	size_t nr_used;
};

void span_pool_open(struct span_pool *pool);
void span_pool_close(struct span_pool *pool);
/* NULL when there is no memory for more. */
struct span *span_pool_get(struct span_pool *pool);
void span_pool_put(struct span_pool *pool, struct span *span);
struct hole *span_pool_get_hole(struct span_pool *pool);
void span_pool_put_holes(struct span_pool *pool, struct hole *holes);

#endif /* REGION_SPAN_H */
