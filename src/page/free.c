/* SPDX-License-Identifier: MIT */
/*
 * Freeing where the fast path could not.
 *
 *	misuse? ── content ── own list ── make room in it ── free lists
 *					       └ a handler that finds their lock
 *						 taken ── deferred list
 *
 * The deferred list is the one place that takes a page whatever locks are held:
 * a stack without a lock, pushed one by one and taken whole (so no pop can be
 * fooled by a page that went and came back).  The next slow path empties it.
 *
 * [F1] A block that cannot be freed is left as it was, and so is everything
 *	else; it is counted.
 * [F2] Content is written while the block is still HEAD: nobody else looks.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/step.h"
#include "page/slow.h"

/* The deferred list */

void deferred_add(struct quire_zone *zone, uint32_t page, unsigned int order)
{
	uint8_t *state = &zone->state[page];
	uint32_t head;

	if (STATE_KIND(load_relaxed(state)) != STATE_CACHED_FRESH)
		store_relaxed(state, (uint8_t)(STATE_CACHED | order));
	add_relaxed(&zone->nr_deferred, 1u << order);
	do {
		head = load_relaxed(&zone->deferred);
		zone->map.page[page].next = head;
		STEP("deferred: linked, not pushed");
	} while (!cas_acq_rel(&zone->deferred, head, page));
	zone_count(zone, ZONE_COUNT_DEFERRED, 1);
}

static void flush_one(struct quire_zone *zone, uint32_t page, bool atomic)
{
	unsigned int order = STATE_ORDER(load_relaxed(&zone->state[page]));

	add_relaxed(&zone->nr_deferred, -(1u << order));
	if (!atomic)
		shards_give_batch(zone, order, &page, 1);
	else if (!shards_try_give(zone, page, order))
		deferred_add(zone, page, order);
}

void deferred_flush(struct quire_zone *zone, bool atomic)
{
	uint32_t page, next;

	if (likely(load_relaxed(&zone->deferred) == NO_PAGE))
		return;
	/* pairs with deferred_add */
	page = exchange_acquire(&zone->deferred, NO_PAGE);
	for (; page != NO_PAGE; page = next) {
		next = zone->map.page[page].next;
		flush_one(zone, page, atomic);
	}
}

/* Freeing */

static void wipe(struct quire_zone *zone, uint32_t page, unsigned int order)
{
	if (zone->flags & QUIRE_ZONE_POISON)
		zone_poison(zone, page, order);
	else if (zone->flags & QUIRE_ZONE_INIT_FREE)
		zone_clear(zone, page, order, false);
}

static bool push(struct quire_zone *zone, uint32_t page, unsigned int order,
		 enum migratetype type)
{
	store_relaxed(&zone->state[page], (uint8_t)(STATE_CACHED | order));
	STEP("free: cached, not pushed");
	if (percpu_push(&zone->percpu, zone->slow[order][type], page))
		return true;
	store_relaxed(&zone->state[page], (uint8_t)(STATE_HEAD | order));
	return false;
}

/* Modes with a lock: the rules are followed after each free. */
static void note_free(struct quire_zone *zone, unsigned int order,
		      enum migratetype type, bool atomic)
{
	uint32_t nr = plan_note_free(zone, zone->slow[order][type], order);

	if (!nr || atomic)
		return;
	gate_enter(zone, false);
	pcp_drain_own(zone, order, type, nr);
	gate_leave(zone);
	shards_tell_decay(zone);
}

static bool free_to_list(struct quire_zone *zone, uint32_t page,
			 unsigned int order, bool atomic)
{
	enum migratetype type = memmap_type(&zone->map, page);

	if (!pcp_has_list(zone, order, type) || !push(zone, page, order, type))
		return false;
	if (zone->percpu.mode != PERCPU_RSEQ)
		note_free(zone, order, type, atomic);
	return true;
}

static bool make_room(struct quire_zone *zone, uint32_t page,
		      unsigned int order)
{
	enum migratetype type = memmap_type(&zone->map, page);

	if (!pcp_has_list(zone, order, type))
		return false;
	pcp_drain_full(zone, order, type);
	return push(zone, page, order, type);
}

static int free_inside(struct quire_zone *zone, uint32_t page,
		       unsigned int order, bool atomic)
{
	int error;

	STEP("free: inside");
	if (!atomic) {
		deferred_flush(zone, false);
		if (make_room(zone, page, order))
			return 0;
	}
	/* By the type that it has now, whichever list it was meant for. */
	error = shards_give_head(zone, page, order, atomic);
	if (error != -EAGAIN)
		return error;
	deferred_add(zone, page, order);
	return 0;
}

static int free_to_zone(struct quire_zone *zone, uint32_t page,
			unsigned int order, bool atomic)
{
	int error;

	zone_count(zone, ZONE_COUNT_FREE_SLOW, 1);
	if (!gate_enter(zone, atomic)) {
		deferred_add(zone, page, order);
		return 0;
	}
	error = free_inside(zone, page, order, atomic);
	gate_leave(zone);
	if (!atomic) {
		shards_tell_decay(zone);
		decay_poll();
	}
	return error;
}

int zone_free_slow(struct quire_zone *zone, uint64_t number, bool atomic)
{
	uint32_t page = (uint32_t)number;
	unsigned int order;
	int error;

	if (load_relaxed(&zone->offline))
		return -ENXIO;
	error = slow_misuse(zone, number, STATE_HEAD);
	if (!error) {
		order = STATE_ORDER(load_relaxed(&zone->state[page]));
		wipe(zone, page, order); /* [F2] */
		if (free_to_list(zone, page, order, atomic))
			return 0;
		error = free_to_zone(zone, page, order, atomic);
	}
	if (error)
		zone_count(zone, ZONE_COUNT_MISUSE, 1); /* [F1] */
	return error;
}
