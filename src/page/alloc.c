/* SPDX-License-Identifier: MIT */
/*
 * Allocating where the fast path could not.
 *
 *	own list ── refill it, or a block from the free lists
 *	    │ nothing
 *	deferred frees, all lists, the depot ── what is lent ── reclaim ── no page
 *
 * After each of these the free lists are asked again (alloc_help).  A call that
 * may not wait (QUIRE_ATOMIC) has the first line and the reserve below the
 * watermark, and nothing else.
 *
 * [A1] Before an allocation fails, other CPUs' lists were drained, unless there
 *	was nothing in them (P8).
 * [A2] reclaim is called with no gate entered and no lock held, never from
 *	within itself, and when memory is low also where the allocation was
 *	served (spec C4, C.9-4).
 * [A3] What a page is known to contain goes with its state: CACHED_FRESH, or
 *	LENT where a part of the block is fresh and its fresh bits still stand.
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "page/slow.h"

/* How often what is lent is waited for. */
#define WAITS 16

static __thread bool in_reclaim __attribute__((tls_model("initial-exec")));

bool alloc_may_take(const struct quire_zone *zone, size_t nr, bool atomic)
{
	return atomic || zone_usable_pages(zone) >= zone->watermark_min + nr;
}

/* Help */

static size_t reclaim(struct quire_zone *zone, size_t nr)
{
	size_t freed;

	if (!zone->reclaim || in_reclaim) /* [A2] */
		return 0;
	in_reclaim = true;
	add_relaxed(&zone->reclaiming, 1);
	zone_count(zone, ZONE_COUNT_RECLAIM, 1);
	freed = zone->reclaim(zone->reclaim_arg, nr);
	add_relaxed(&zone->reclaiming, -1);
	in_reclaim = false;
	return freed;
}

/* Not where there is nothing, nor where all there is would not be enough. */
static bool drain_everything(struct quire_zone *zone, size_t nr)
{
	size_t kept = pcp_count(zone) + load_relaxed(&zone->depot.nr_pages);

	if (!kept || zone_usable_pages(zone) + kept < nr)
		return false;
	return pcp_drain_all(zone) > 0; /* [A1] */
}

bool alloc_help(struct quire_zone *zone, size_t nr, unsigned int *step)
{
	if ((*step)++ == 0 && drain_everything(zone, nr))
		return true;
	if (*step <= WAITS) {
		if (decay_wait(zone))
			return true;
		*step = WAITS + 1;
	}
	if (*step == WAITS + 1 && reclaim(zone, nr)) {
		*step = WAITS + 2;
		drain_everything(zone, nr); /* it may have freed to lists */
		return true;
	}
	/* Once more, for what others have given back meanwhile. */
	if (*step > WAITS + 2)
		return false;
	*step = WAITS + 3;
	return true;
}

void alloc_look_after(struct quire_zone *zone, unsigned int flags)
{
	size_t usable;

	if (flags & QUIRE_ATOMIC)
		return;
	decay_poll();
	if (!zone->reclaim || load_relaxed(&zone->reclaiming))
		return;
	usable = zone_usable_pages(zone);
	if (usable < zone->watermark_low)
		reclaim(zone, zone->watermark_high - usable);
}

/* Taking */

static bool looks_at_content(const struct quire_zone *zone, unsigned int flags)
{
	return flags & QUIRE_ZERO || zone->flags & QUIRE_ZONE_POISON;
}

static uint32_t take(struct quire_zone *zone, unsigned int order,
		     enum migratetype type, unsigned int flags)
{
	bool atomic = flags & QUIRE_ATOMIC;

	if (pcp_has_list(zone, order, type))
		return pcp_refill(zone, order, type, atomic);
	if (!alloc_may_take(zone, (size_t)1 << order, atomic))
		return NO_PAGE;
	return shards_take(zone, order, type, atomic,
			   !atomic && looks_at_content(zone, flags));
}

static uint32_t attempt(struct quire_zone *zone, unsigned int order,
			enum migratetype type, unsigned int flags)
{
	bool atomic = flags & QUIRE_ATOMIC;
	uint32_t page;

	if (!gate_enter(zone, atomic))
		return NO_PAGE;
	STEP("alloc: inside");
	deferred_flush(zone, atomic);
	page = take(zone, order, type, flags);
	gate_leave(zone);
	return page;
}

static uint32_t take_listed(struct quire_zone *zone, unsigned int order,
			    enum migratetype type)
{
	uint32_t offset;
	int64_t page;

	if (!pcp_has_list(zone, order, type))
		return NO_PAGE;
	offset = zone->slow[order][type];
	page = percpu_pop(&zone->percpu, offset);
	if (page < 0)
		return NO_PAGE;
	if (zone->percpu.mode != PERCPU_RSEQ)
		plan_note_alloc(zone, offset);
	return (uint32_t)page;
}

static uint32_t take_or_get_help(struct quire_zone *zone, unsigned int order,
				 enum migratetype type, unsigned int flags)
{
	unsigned int step = 0;
	uint32_t page;

	zone_count(zone, ZONE_COUNT_ALLOC_SLOW, 1);
	do {
		page = step ? take_listed(zone, order, type) : NO_PAGE;
		if (page == NO_PAGE)
			page = attempt(zone, order, type, flags);
	} while (page == NO_PAGE && !(flags & QUIRE_ATOMIC) &&
		 alloc_help(zone, (size_t)1 << order, &step));
	if (page == NO_PAGE)
		zone_count(zone, ZONE_COUNT_FAILED, 1);
	else
		alloc_look_after(zone, flags);
	return page;
}

/* Poison of a block that is fresh in part cannot be told from zeros where its
 * fresh bits were given up; then it is not looked at. */
static bool poison_stands(struct quire_zone *zone, uint32_t page,
			  unsigned int order, unsigned int flags)
{
	if (!(zone->flags & QUIRE_ZONE_POISON) ||
	    (order && flags & QUIRE_ATOMIC))
		return true;
	return zone_poison_stands(zone, page, order);
}

bool alloc_hand_out(struct quire_zone *zone, uint32_t page, unsigned int order,
		    unsigned int flags)
{
	unsigned int kind = STATE_KIND(load_relaxed(&zone->state[page]));
	bool fresh = kind == STATE_CACHED_FRESH; /* [A3] */
	bool stands = fresh || poison_stands(zone, page, order, flags);

	if (stands && flags & QUIRE_ZERO)
		zone_clear(zone, page, order, fresh);
	if (kind == STATE_LENT) {
		gate_enter(zone, false);
		shards_forget_fresh(zone, page, (size_t)1 << order);
		gate_leave(zone);
	}
	store_relaxed(&zone->state[page], (uint8_t)(STATE_HEAD | order));
	return stands;
}

uint32_t zone_alloc_slow(struct quire_zone *zone, unsigned int order,
			 unsigned int flags)
{
	enum migratetype type =
		flags & QUIRE_MOVABLE ? TYPE_MOVABLE : TYPE_UNMOVABLE;
	uint32_t page;

	if (load_relaxed(&zone->offline))
		return NO_PAGE;
	do {
		page = take_listed(zone, order, type);
		if (page == NO_PAGE)
			page = take_or_get_help(zone, order, type, flags);
	} while (page != NO_PAGE && !alloc_hand_out(zone, page, order, flags));
	return page;
}
