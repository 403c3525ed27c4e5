/* SPDX-License-Identifier: MIT */
/*
 * Between the free lists of a zone's shards and all that takes from them and
 * gives to them in the slow path.
 *
 * A thread begins with the shard that its CPU's number leads to, so that CPUs
 * seldom want the same lock, and goes on to the others.  What is given back
 * goes where it came from: a batch is given shard by shard, in its own order
 * within each (spec I-A3).
 *
 * [H1] A page leaves a shard LENT, and is CACHED or CACHED_FRESH before the
 *	lock is given up (but see shards_take's @keep); that is when its fresh
 *	bits are cleared.  On the way back CACHED_FRESH sets them again.
 * [H2] Nothing is given to a shard whose state was not looked at under its
 *	lock: a block that was freed twice by two threads in the same instant
 *	is in two places, and is given once (spec I-A4, A7).
 * [H3] Where a part of the zone is isolated, a block of more than 2 MiB is
 *	given in pieces of 2 MiB, each by its own type (spec A3).
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/cpu.h"
#include "page/slow.h"

/* Looking */

static unsigned int state_of(const struct quire_zone *zone, uint32_t page)
{
	return load_relaxed(&zone->state[page]);
}

static void set_state(struct quire_zone *zone, uint32_t page, unsigned int to)
{
	store_relaxed(&zone->state[page], (uint8_t)to);
}

uint32_t slow_head(const struct quire_zone *zone, uint32_t page)
{
	for (unsigned int order = 0; order <= MAX_ORDER; order++) {
		uint32_t head = page & ~((1u << order) - 1);
		unsigned int state = state_of(zone, head);

		if (STATE_KIND(state) != STATE_TAIL &&
		    STATE_ORDER(state) >= order)
			return head;
		if (head < zone->map.start)
			break;
	}
	return NO_PAGE;
}

int slow_misuse(const struct quire_zone *zone, uint64_t page,
		enum state_kind kind)
{
	uint32_t head;
	unsigned int found;

	if (page >= zone->end || page < zone->map.start)
		return -EFAULT;
	head = slow_head(zone, (uint32_t)page);
	if (head == NO_PAGE)
		return -EFAULT;
	found = state_of(zone, head);
	if (state_is_charged(found))
		return -EINVAL;
	found = STATE_KIND(found);
	if (found == kind && head == page)
		return 0;
	if (found == STATE_HOLE)
		return -EFAULT;
	return found == STATE_HEAD || found == STATE_RANGE ? -EINVAL
							   : -EALREADY;
}

static bool is_cached(const struct quire_zone *zone, uint32_t page,
		      unsigned int order)
{
	unsigned int state = state_of(zone, page), tails = 0;

	if (state != (STATE_CACHED | order) &&
	    state != (STATE_CACHED_FRESH | order))
		return false;
	for (uint32_t i = 1; i < 1u << order; i++)
		tails |= zone->state[page + i];
	return tails == STATE_TAIL;
}

bool shards_is_cached(struct quire_zone *zone, uint32_t page,
		      unsigned int order)
{
	if (likely(is_cached(zone, page, order)))
		return true;
	zone_count(zone, ZONE_COUNT_MISUSE, 1);
	return false;
}

/* Taking */

struct buddy *shards_near(const struct quire_zone *zone, unsigned int nr)
{
	int cpu;

	if (zone->nr_buddies == 1)
		return zone->buddies;
	cpu = cpu_here();
	nr += cpu < 0 ? 0 : (unsigned int)cpu;
	return &zone->buddies[nr % zone->nr_buddies];
}

bool shards_lock(struct buddy *buddy, bool atomic)
{
	if (atomic)
		return lock_try(&buddy->lock);
	lock_take(&buddy->lock);
	return true;
}

/* [H1] */
static void mark_cached_locked(struct quire_zone *zone, uint32_t page,
			       unsigned int order)
{
	size_t nr = (size_t)1 << order;
	bool fresh = memmap_fresh(&zone->map, page, nr);

	if (fresh || order)
		memmap_set_fresh(&zone->map, page, nr, false);
	set_state(zone, page,
		  (fresh ? STATE_CACHED_FRESH : STATE_CACHED) | order);
}

static bool is_mixed_locked(const struct quire_zone *zone, uint32_t page,
			    unsigned int order)
{
	size_t nr = (size_t)1 << order;
	size_t fresh = memmap_nr_fresh(&zone->map, page, nr);

	return fresh && fresh < nr;
}

static uint32_t take_locked(struct quire_zone *zone, struct buddy *buddy,
			    unsigned int order, enum migratetype type,
			    bool keep)
{
	uint32_t page = buddy_take_locked(buddy, order, type);

	if (page != NO_PAGE && !(keep && is_mixed_locked(zone, page, order)))
		mark_cached_locked(zone, page, order);
	return page;
}

uint32_t shards_take(struct quire_zone *zone, unsigned int order,
		     enum migratetype type, bool atomic, bool keep)
{
	uint32_t page = NO_PAGE;

	for (unsigned int i = 0; i < zone->nr_buddies && page == NO_PAGE; i++) {
		struct buddy *buddy = shards_near(zone, i);

		if (!shards_lock(buddy, atomic))
			continue;
		page = take_locked(zone, buddy, order, type, keep);
		lock_release(&buddy->lock);
	}
	return page;
}

/* A few are taken one by one: a cluster would be mostly for others. */
#define CLUSTER_WORTH (CLUSTER_PAGES / 2)

static uint32_t take_batch_locked(struct quire_zone *zone, struct buddy *buddy,
				  unsigned int order, enum migratetype type,
				  uint32_t nr, uint32_t *out)
{
	uint32_t got = 0;

	if (!order && nr >= CLUSTER_WORTH) {
		got = buddy_take_pages_locked(buddy, nr, type, out);
		for (uint32_t i = 0; i < got; i++)
			mark_cached_locked(zone, out[i], 0);
		return got;
	}
	for (; got < nr; got++) {
		out[got] = take_locked(zone, buddy, order, type, false);
		if (out[got] == NO_PAGE)
			break;
	}
	return got;
}

uint32_t shards_take_batch(struct quire_zone *zone, unsigned int order,
			   enum migratetype type, bool atomic, uint32_t nr,
			   uint32_t *out)
{
	uint32_t got = 0;

	nr = nr > CHUNK ? CHUNK : nr;
	for (unsigned int i = 0; i < zone->nr_buddies && !got; i++) {
		struct buddy *buddy = shards_near(zone, i);

		if (!shards_lock(buddy, atomic))
			continue;
		got = take_batch_locked(zone, buddy, order, type, nr, out);
		lock_release(&buddy->lock);
	}
	return got;
}

/* Neighbours' bits in the same word are others' to change. */
void shards_forget_fresh(struct quire_zone *zone, uint32_t page, size_t nr)
{
	struct buddy *buddy = zone_buddy(zone, page);

	lock_take(&buddy->lock);
	memmap_set_fresh(&zone->map, page, nr, false);
	lock_release(&buddy->lock);
}

/* Giving */

void shards_give_run_locked(struct quire_zone *zone, struct buddy *buddy,
			    uint32_t page, size_t nr)
{
	if (likely(!load_relaxed(&zone->nr_isolated))) {
		buddy_give_run_locked(buddy, page, nr);
		return;
	}
	while (nr) { /* [H3] */
		size_t part = BLOCK_PAGES - page % BLOCK_PAGES;

		part = part < nr ? part : nr;
		buddy_give_run_locked(buddy, page, part);
		page += (uint32_t)part;
		nr -= part;
	}
}

static void give_block_locked(struct quire_zone *zone, struct buddy *buddy,
			      uint32_t page, unsigned int order)
{
	if (order <= BLOCK_ORDER)
		buddy_give_locked(buddy, page, order, false);
	else
		shards_give_run_locked(zone, buddy, page, (size_t)1 << order);
}

/* [H2] LENT from here on, so that the second of two is seen in one batch too. */
static bool accept_locked(struct quire_zone *zone, uint32_t page,
			  unsigned int order)
{
	if (!shards_is_cached(zone, page, order))
		return false;
	if (STATE_KIND(state_of(zone, page)) == STATE_CACHED_FRESH)
		memmap_set_fresh(&zone->map, page, (size_t)1 << order, true);
	set_state(zone, page, STATE_LENT | order);
	return true;
}

void shards_give_cached_locked(struct quire_zone *zone, struct buddy *buddy,
			       uint32_t page, unsigned int order)
{
	if (accept_locked(zone, page, order))
		give_block_locked(zone, buddy, page, order);
}

bool shards_try_give(struct quire_zone *zone, uint32_t page, unsigned int order)
{
	struct buddy *buddy = zone_buddy(zone, page);

	if (!lock_try(&buddy->lock))
		return false;
	shards_give_cached_locked(zone, buddy, page, order);
	lock_release(&buddy->lock);
	return true;
}

static void give_blocks_locked(struct quire_zone *zone, struct buddy *buddy,
			       unsigned int order, const uint32_t *pages,
			       uint32_t nr)
{
	if (!order) {
		buddy_give_pages_locked(buddy, pages, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		give_block_locked(zone, buddy, pages[i], order);
}

/* Those of the shard that the first belongs to; returns how many are left, in
 * their order. */
static uint32_t give_shard(struct quire_zone *zone, unsigned int order,
			   uint32_t *pages, uint32_t nr)
{
	struct buddy *buddy = zone_buddy(zone, pages[0]);
	uint32_t ours[CHUNK], nr_ours = 0, left = 0;

	lock_take(&buddy->lock);
	for (uint32_t i = 0; i < nr; i++) {
		if (zone_buddy(zone, pages[i]) != buddy)
			pages[left++] = pages[i];
		else if (accept_locked(zone, pages[i], order))
			ours[nr_ours++] = pages[i];
	}
	give_blocks_locked(zone, buddy, order, ours, nr_ours);
	lock_release(&buddy->lock);
	return left;
}

void shards_give_batch(struct quire_zone *zone, unsigned int order,
		       uint32_t *pages, uint32_t nr)
{
	while (nr) {
		uint32_t part = nr < CHUNK ? nr : CHUNK, left = part;

		while (left)
			left = give_shard(zone, order, pages, left);
		pages += part;
		nr -= part;
	}
}

int shards_give_head(struct quire_zone *zone, uint32_t page, unsigned int order,
		     bool atomic)
{
	struct buddy *buddy = zone_buddy(zone, page);
	bool is_head;

	if (!shards_lock(buddy, atomic))
		return -EAGAIN;
	is_head = state_of(zone, page) == (STATE_HEAD | order);
	if (is_head)
		give_block_locked(zone, buddy, page, order);
	lock_release(&buddy->lock);
	return is_head ? 0 : -EALREADY;
}

static bool has_dirty_blocks(const struct buddy *buddy)
{
	uint64_t orders = 0;

	for (int type = 0; type < NR_TYPES; type++)
		orders |= load_relaxed(&buddy->orders[type]);
	return orders >> BLOCK_ORDER &&
	       load_relaxed(&buddy->free_pages) >
		       load_relaxed(&buddy->fresh_pages);
}

void shards_tell_decay(struct quire_zone *zone)
{
	bool wanted = load_relaxed(&zone->decay_wanted);

	if (!zone->may_discard)
		return;
	for (unsigned int i = 0; i < zone->nr_buddies && !wanted; i++)
		wanted = has_dirty_blocks(&zone->buddies[i]);
	if (wanted)
		decay_wanted(zone);
}
