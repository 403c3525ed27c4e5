/* SPDX-License-Identifier: MIT */
/*
 * One byte for each page: what it is.
 *
 *	7   6   5 | 4   3   2   1   0
 *	  kind	  |	order
 *
 * Dense, so that allocating and freeing can afford to look at it, and never
 * written by two CPUs at once but for neighbours in one line (64 pages).
 *
 * [S1] Only the first page of a block has a kind other than TAIL; all others
 *	of it are TAIL, whether it is free, in a list, or out.  So a split or a
 *	merge writes one byte, and an address inside a block is seen as such.
 * [S2] Each page of a range that is out is RANGE.
 * [S3] BUDDY: in a free list of its shard, written under the shard's lock.
 *	CACHED, CACHED_FRESH: in a CPU's list, in the depot, deferred, or on the
 *	way between them; written by whoever moves it.
 *	HEAD, RANGE: out, its owner's; LENT: taken from the free lists for a
 *	while by the zone itself (giving memory back).
 * [S4] HEAD of an order from CHARGED up: out, charged to a group, and of that
 *	order less CHARGED.  Only the group may free it, so it makes itself HEAD
 *	again; to all that free it looks like no order there is.
 * [S5] 0 is TAIL, so that memory never looked at costs none.
 */
#ifndef PAGE_STATE_H
#define PAGE_STATE_H

#include <stdint.h>

enum state_kind {
	STATE_TAIL = 0 << 5,
	STATE_BUDDY = 1 << 5,
	STATE_HEAD = 2 << 5,
	STATE_CACHED = 3 << 5,
	STATE_CACHED_FRESH = 4 << 5,
	STATE_RANGE = 5 << 5,
	STATE_LENT = 6 << 5,
	STATE_HOLE = 7 << 5,
};

#define STATE_KIND(state) ((state)&0xe0u)
#define STATE_CHARGED	  19u /* one above the largest order */

static inline unsigned int state_order(unsigned int state)
{
	unsigned int order = state & 31u;

	return order < STATE_CHARGED ? order : order - STATE_CHARGED;
}

#define STATE_ORDER(state) state_order(state)

static inline int state_is_charged(unsigned int state)
{
	return STATE_KIND(state) == STATE_HEAD &&
	       (state & 31u) >= STATE_CHARGED;
}

#endif /* PAGE_STATE_H */
