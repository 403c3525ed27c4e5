/* SPDX-License-Identifier: MIT */
/*
 * Ranges: any number of pages in a row, freed in any parts.
 *
 * A range is searched for in each shard and lies in one.  Beyond 1 GiB, which
 * page numbers know nothing of, alignment is found by taking places that are
 * aligned to 1 GiB until one is right, and giving the others back; there are
 * as many as the zone has GiB.
 *
 * Freeing is all or nothing: first each page is found to be RANGE and made
 * LENT, which no other free accepts; then they go to the free lists.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "page/layout.h"
#include "page/slow.h"

/* Pages that are looked at under one hold of a lock. */
#define RANGE_CHUNK 32768u

static bool is_aligned(const struct quire_zone *zone, uint32_t page,
		       size_t align)
{
	size_t first = (uintptr_t)zone->base >> 12;

	return !((first + page) & (align - 1));
}

/* Places that are not aligned enough are linked meanwhile: no other has them.
 */
static uint32_t search_locked(struct quire_zone *zone, struct buddy *buddy,
			      size_t nr, size_t align, enum migratetype type)
{
	size_t step = min_size(align, (size_t)1 << MAX_ORDER);
	uint32_t wrong = NO_PAGE, page;

	for (;;) {
		page = buddy_take_run_locked(buddy, nr, step, type);
		if (page == NO_PAGE || is_aligned(zone, page, align))
			break;
		zone->map.page[page].next = wrong;
		wrong = page;
	}
	while (wrong != NO_PAGE) {
		uint32_t next = zone->map.page[wrong].next;

		shards_give_run_locked(zone, buddy, wrong, nr);
		wrong = next;
	}
	return page;
}

struct wanted {
	size_t nr, align; /* pages */
	unsigned int flags;
};

static bool looks_at_content(const struct quire_zone *zone,
			     const struct wanted *wanted)
{
	return wanted->flags & QUIRE_ZERO || zone->flags & QUIRE_ZONE_POISON;
}

static uint32_t take_from(struct quire_zone *zone, struct buddy *buddy,
			  const struct wanted *wanted)
{
	enum migratetype type =
		wanted->flags & QUIRE_MOVABLE ? TYPE_MOVABLE : TYPE_UNMOVABLE;
	uint32_t page;

	if (!shards_lock(buddy, wanted->flags & QUIRE_ATOMIC))
		return NO_PAGE;
	page = search_locked(zone, buddy, wanted->nr, wanted->align, type);
	if (page != NO_PAGE && !looks_at_content(zone, wanted))
		memmap_set_fresh(&zone->map, page, wanted->nr, false);
	lock_release(&buddy->lock);
	return page;
}

static uint32_t attempt(struct quire_zone *zone, const struct wanted *wanted)
{
	bool atomic = wanted->flags & QUIRE_ATOMIC;
	uint32_t page = NO_PAGE;

	if (!gate_enter(zone, atomic))
		return NO_PAGE;
	deferred_flush(zone, atomic);
	if (alloc_may_take(zone, wanted->nr, atomic))
		for (unsigned int i = 0;
		     i < zone->nr_buddies && page == NO_PAGE; i++)
			page = take_from(zone, shards_near(zone, i), wanted);
	gate_leave(zone);
	return page;
}

/* Content */

static void clear(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	while (page < end) {
		unsigned int order = layout_order(page, end);

		zone_clear(zone, page, order, false);
		page += 1u << order;
	}
}

static void give_part(struct quire_zone *zone, uint32_t page, size_t nr)
{
	struct buddy *buddy = zone_buddy(zone, page);

	lock_take(&buddy->lock);
	shards_give_run_locked(zone, buddy, page, nr);
	lock_release(&buddy->lock);
}

/* Where the pattern does not stand a page is withheld, and the others go back:
 * true if there was such a page. */
static bool withheld(struct quire_zone *zone, uint32_t page, size_t nr)
{
	uint32_t end = page + (uint32_t)nr, good = page;
	bool any = false;

	for (uint32_t at = page; at < end; at++) {
		if (zone_poison_stands(zone, at, 0))
			continue;
		if (at > good)
			give_part(zone, good, at - good);
		good = at + 1;
		any = true;
	}
	if (any && good < end)
		give_part(zone, good, end - good);
	return any;
}

static bool hand_out(struct quire_zone *zone, uint32_t page,
		     const struct wanted *wanted)
{
	bool bad = false;

	if (!looks_at_content(zone, wanted))
		return true;
	gate_enter(zone, false);
	if (zone->flags & QUIRE_ZONE_POISON)
		bad = withheld(zone, page, wanted->nr);
	if (!bad && wanted->flags & QUIRE_ZERO)
		clear(zone, page, page + (uint32_t)wanted->nr);
	if (!bad)
		shards_forget_fresh(zone, page, wanted->nr);
	gate_leave(zone);
	return !bad;
}

uint32_t zone_alloc_range(struct quire_zone *zone, size_t nr, size_t align,
			  unsigned int flags)
{
	const struct wanted wanted = { nr, align, flags };
	unsigned int step = 0;
	uint32_t page;

	if (load_relaxed(&zone->offline))
		return NO_PAGE;
	do {
		page = nr <= zone->managed_pages ? attempt(zone, &wanted)
						 : NO_PAGE;
		if (page != NO_PAGE && !hand_out(zone, page, &wanted)) {
			page = NO_PAGE;
			step = 0;
		}
	} while (page == NO_PAGE && nr <= zone->managed_pages &&
		 !(flags & QUIRE_ATOMIC) && alloc_help(zone, nr, &step));
	zone_count(zone, ZONE_COUNT_ALLOC_SLOW, 1);
	if (page == NO_PAGE)
		zone_count(zone, ZONE_COUNT_FAILED, 1);
	else
		alloc_look_after(zone, flags);
	return page;
}

/* Freeing */

/* The next part that lies in one shard, of at most RANGE_CHUNK. */
static uint32_t part_end(const struct quire_zone *zone, uint32_t page,
			 uint32_t end)
{
	uint32_t shard_end = zone_buddy(zone, page)->end;

	end = end < shard_end ? end : shard_end;
	return end - page < RANGE_CHUNK ? end : page + RANGE_CHUNK;
}

/* Makes RANGE pages LENT; returns where it found another. */
static uint32_t lend_part(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	struct buddy *buddy = zone_buddy(zone, page);

	lock_take(&buddy->lock);
	for (; page < end; page++) {
		if (load_relaxed(&zone->state[page]) != STATE_RANGE)
			break;
		store_relaxed(&zone->state[page], STATE_LENT);
	}
	lock_release(&buddy->lock);
	return page;
}

static int lend_all(struct quire_zone *zone, uint32_t first, uint32_t end)
{
	uint32_t page = first;
	int error;

	while (page < end) {
		uint32_t to = part_end(zone, page, end);

		page = lend_part(zone, page, to);
		if (page < to)
			break;
	}
	if (page == end)
		return 0;
	error = slow_misuse(zone, page, STATE_RANGE);
	while (page > first)
		store_relaxed(&zone->state[--page], STATE_RANGE);
	return error ? error : -EALREADY; /* freed by another meanwhile */
}

static void wipe(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	if (zone->flags & QUIRE_ZONE_INIT_FREE)
		clear(zone, page, end);
	for (; page < end && zone->flags & QUIRE_ZONE_POISON; page++)
		zone_poison(zone, page, 0);
}

static int free_inside(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	int error = lend_all(zone, page, end);

	if (error)
		return error;
	STEP("range: lent, not given");
	wipe(zone, page, end);
	while (page < end) {
		uint32_t to = part_end(zone, page, end);

		give_part(zone, page, to - page);
		page = to;
	}
	return 0;
}

int zone_free_range(struct quire_zone *zone, uint64_t page, size_t nr)
{
	int error = -EFAULT;

	if (load_relaxed(&zone->offline))
		return -ENXIO;
	if (page >= zone->map.start && page < zone->end &&
	    nr <= zone->end - page) {
		gate_enter(zone, false);
		deferred_flush(zone, false);
		error = free_inside(zone, (uint32_t)page,
				    (uint32_t)(page + nr));
		gate_leave(zone);
		shards_tell_decay(zone);
		decay_poll();
	}
	if (error)
		zone_count(zone, ZONE_COUNT_MISUSE, 1);
	return error;
}
