/* SPDX-License-Identifier: MIT */
/*
 * One shard of a zone, a part of its pages: free lists of orders 0 to 18 by
 * migratetype (a buddy allocator), under one lock.
 *
 * [B1] A free block of order n begins at a multiple of 2^n, lies inside
 *	[start, end), is BUDDY | n in its first page's state, and is in the list
 *	of n and of its pageblock's type; all pageblocks of a larger one have
 *	the same.
 * [B2] Two free buddies of one order are always one block, unless it would
 *	cross start, end or a hole, or would be larger than MAX_ORDER, or one of
 *	them is isolated and the other is not.
 * [B3] nr_free is what a walk of the lists counts, by type and order;
 *	free_pages, isolated_pages their sums.
 * [B4] Nothing of a shard is read or written without its lock but the counts,
 *	and states (as hints, re-read under the lock).
 *
 * Callers hold the lock where a name ends in _locked.
 */
#ifndef PAGE_BUDDY_H
#define PAGE_BUDDY_H

#include "os/lock.h"
#include "page/memmap.h"

struct free_list {
	uint32_t first, last; /* NO_PAGE: empty */
	uint64_t nr;	      /* blocks */
};

struct buddy {
	struct lock lock; /* RANK_ZONE */
	/* const after init */
	struct memmap *map;
	uint32_t start, end;
	/* buddy lock */
	struct free_list free[NR_ORDERS][NR_TYPES];
	uint64_t orders[NR_TYPES]; /* bit n: free[n][type] is not empty */
	size_t free_pages;	   /* read anywhere: a hint */
	size_t isolated_pages;	   /* of these */
	size_t fresh_pages;
	uint32_t tick; /* of the decay clock, from 1 */
	uint64_t nr_split, nr_merge, nr_steal;
} __attribute__((aligned(64)));

void buddy_init(struct buddy *buddy, struct memmap *map, uint32_t start,
		uint32_t end);

/*
 * A block of @order: of @type if there is one, else split from the smallest
 * that is larger, else taken from the other type: the largest, and its whole
 * pageblock changes type where most of it is free (spec A13: type changes only
 * here and in isolate).  Its state is LENT | order on return; its fresh bits
 * still stand.  NO_PAGE: none.
 */
uint32_t buddy_take_locked(struct buddy *buddy, unsigned int order,
			   enum migratetype type);
/* The free block that begins at @page and is @order, out of its list. */
void buddy_take_at_locked(struct buddy *buddy, uint32_t page,
			  unsigned int order);
/* Give a block back; merges; type is read here, under the lock.  @tail: put at
 * the far end of its list.  Its state may be anything but BUDDY before. */
void buddy_give_locked(struct buddy *buddy, uint32_t page, unsigned int order,
		       bool tail);
/* Single pages, one after the other; those that follow each other go at once
 * (buddy_pages.c).  Their states may be anything but BUDDY before. */
void buddy_give_pages_locked(struct buddy *buddy, const uint32_t *pages,
			     uint32_t nr);
/* Any run of pages, as the largest blocks that fit; each of whole blocks or of
 * pages with a state of their own, which is none any more after this. */
void buddy_give_run_locked(struct buddy *buddy, uint32_t page, size_t nr);
/* The same when the zone opens: nothing is looked at, so that what was never
 * touched stays so.  They are fresh if the memmap begins so. */
void buddy_give_new_locked(struct buddy *buddy, uint32_t page, size_t nr);

/*
 * Up to @nr pages for a CPU's list, by whole clusters of 64 pages: after a
 * block is taken, so is whatever else is free around it, so that two CPUs
 * seldom hold pages whose states share a line.  May return up to 63 more than
 * @nr (room for that in @out); pages are in ascending order inside a cluster.
 */
uint32_t buddy_take_pages_locked(struct buddy *buddy, uint32_t nr,
				 enum migratetype type, uint32_t *out);

/* A run of @nr free pages whose first is a multiple of @align pages; all of it
 * is RANGE on return.  NO_PAGE: none fits anywhere in the shard. */
uint32_t buddy_take_run_locked(struct buddy *buddy, size_t nr, size_t align,
			       enum migratetype type);

/* Change a pageblock's type, with what is free in it.  Returns free pages in
 * it.  A free block larger than a pageblock is cut. */
uint32_t buddy_set_type_locked(struct buddy *buddy, uint32_t page,
			       enum migratetype type);

/* Panics where [S1] [S4] [B1] [B2] [B3] do not hold.  Caller holds the lock. */
void buddy_check_locked(const struct buddy *buddy);

#endif /* PAGE_BUDDY_H */
