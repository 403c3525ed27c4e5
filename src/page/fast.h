/* SPDX-License-Identifier: MIT */
/*
 * The fast path: a page from this CPU's list, a page back to it.
 *
 * Inline, so that the library call is this and nothing more, and so that with
 * link-time optimisation there is not even a call.  What each line costs stands
 * in docs/mechanism-c.md; tests/golden holds the instruction counts.
 *
 * A state byte is its page's owner's; others look at it as a hint, so it is
 * read and written whole (relaxed), which is the same instructions.
 */
#ifndef PAGE_FAST_H
#define PAGE_FAST_H

#include "base/atomic.h"
#include "page/zone.h"

#define ROTATE_TO_PAGE(bytes)                                                  \
	((uint64_t)(bytes) >> 12 | (uint64_t)(bytes) << 52)

static inline void *zone_address(const struct quire_zone *zone, uint32_t page)
{
	return zone->base + ((size_t)page << 12);
}

/*
 * The number of the page at @address.  Addresses below the zone, above it, and
 * inside a page all come out at or above zone->end: one comparison.
 */
static inline uint64_t zone_page(const struct quire_zone *zone,
				 const void *address)
{
	uint64_t bytes = (uint64_t)((const char *)address - zone->base);

	return ROTATE_TO_PAGE(bytes);
}

/* A block of @order <= PCP_MAX_ORDER from this CPU's list, or -1. */
static always_inline int64_t block_alloc_fast(const struct quire_zone *zone,
					      unsigned int order,
					      enum migratetype type)
{
	int64_t page = slot_pop(&zone->percpu, zone->fast[order][type]);

	if (likely(page >= 0))
		store_relaxed(&zone->state[page],
			      (uint8_t)(STATE_HEAD | order));
	return page;
}

/*
 * The list that a block is freed to.  Single pages by branches: these are
 * predicted, so the list is at work before state and type have been read; an
 * index waits for both.  A page that goes out and in again takes 5.7 ns so, and
 * 11 by index.
 */
static always_inline uint32_t free_list_of(const struct quire_zone *zone,
					   unsigned int order,
					   unsigned int type)
{
	if (likely(order == 0)) {
		if (likely(type == TYPE_UNMOVABLE))
			return zone->fast[0][TYPE_UNMOVABLE];
		hide_value(order);
		if (likely(type == TYPE_MOVABLE))
			return zone->fast[0][TYPE_MOVABLE];
	}
	hide_value(order);
	return zone->fast[order][type];
}

/* False: nothing was done. */
static always_inline bool block_free_fast(const struct quire_zone *zone,
					  uint64_t page)
{
	unsigned int state, order;
	uint32_t offset;

	if (unlikely(page >= zone->end))
		return false;
	state = load_relaxed(&zone->state[page]);
	order = state - STATE_HEAD; /* others come out large */
	if (unlikely(order > PCP_MAX_ORDER))
		return false;
	offset = free_list_of(
		zone, order,
		load_relaxed(&zone->block_type[page >> BLOCK_ORDER]));
	store_relaxed(&zone->state[page],
		      (uint8_t)(state + (STATE_CACHED - STATE_HEAD)));
	if (likely(slot_push(&zone->percpu, offset, (uint32_t)page)))
		return true;
	store_relaxed(&zone->state[page], (uint8_t)state);
	return false;
}

#endif /* PAGE_FAST_H */
