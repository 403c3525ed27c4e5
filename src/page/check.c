/* SPDX-License-Identifier: MIT */
/*
 * The walker of zones (spec H.4): every page is in one place, its state says
 * so, and the sums close.  For tests, with nobody else inside any call.
 *
 *	O1  free + lists + depot + deferred + lent + out = managed
 *	O2  each page's state agrees with what holds it
 *	O3  the shards' numbers are what a walk counts (buddy_check_locked)
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "page/lend.h"
#include "page/slow.h"

struct walk {
	struct quire_zone *zone;
	uint64_t *seen; /* a bit for each page in a list; NULL: no memory */
	size_t bytes;
	size_t nr_seen;
	size_t kind[8]; /* pages, by kind of state */
};

/* Lists, depot, deferred: CACHED, and in no other */

static void see(struct walk *walk, uint32_t page, unsigned int order)
{
	const struct quire_zone *zone = walk->zone;
	unsigned int state;

	ASSERT(page >= zone->map.start && page < zone->map.end);
	state = zone->state[page];
	ASSERT(state == (STATE_CACHED | order) ||
	       state == (STATE_CACHED_FRESH | order));
	walk->nr_seen += (size_t)1 << order;
	for (uint32_t at = page; walk->seen && at < page + (1u << order);
	     at++) {
		uint64_t bit = (uint64_t)1 << at % 64;

		ASSERT(!(walk->seen[at / 64] & bit));
		walk->seen[at / 64] |= bit;
	}
}

static void see_list(struct walk *walk, unsigned int cpu, unsigned int list)
{
	const struct percpu *percpu = &walk->zone->percpu;
	const struct slot *slot =
		percpu_slot(percpu, cpu, percpu->offset[list]);

	uint32_t tail = SLOT_TAIL(slot->ends.window);

	for (uint32_t i = 0; i < slot_count(slot); i++)
		see(walk, slot->page[tail + i], pcp_list_order(list));
}

static void see_lists(struct walk *walk)
{
	const struct percpu *percpu = &walk->zone->percpu;

	percpu_check(percpu);
	for (unsigned int cpu = 0; cpu < percpu->nr_cpus; cpu++)
		for (unsigned int list = 1; list < NR_PCP_LISTS; list++)
			see_list(walk, cpu, list);
}

static void see_depot(struct walk *walk)
{
	const struct depot *depot = &walk->zone->depot;

	depot_check(&walk->zone->depot);
	for (int type = 0; type < NR_PCP_TYPES; type++)
		for (uint32_t i = 0; i < depot->nr_full[type]; i++)
			for (uint32_t n = 0; n < depot->full[type][i]->nr; n++)
				see(walk, depot->full[type][i]->page[n], 0);
}

static void see_deferred(struct walk *walk)
{
	const struct quire_zone *zone = walk->zone;
	size_t before = walk->nr_seen;

	for (uint32_t page = zone->deferred; page != NO_PAGE;
	     page = zone->map.page[page].next)
		see(walk, page, STATE_ORDER(zone->state[page]));
	ASSERT(walk->nr_seen - before == zone->nr_deferred);
}

/* States, in order of address */

static uint32_t see_state(struct walk *walk, uint32_t page)
{
	const struct quire_zone *zone = walk->zone;
	unsigned int state = zone->state[page];
	uint32_t nr = 1u << STATE_ORDER(state);

	ASSERT(STATE_KIND(state) != STATE_TAIL);
	ASSERT(STATE_ORDER(state) <= MAX_ORDER);
	ASSERT(!(page & (nr - 1)) && nr <= zone->map.end - page);
	for (uint32_t i = 1; i < nr; i++)
		ASSERT(zone->state[page + i] == STATE_TAIL); /* [S1] */
	walk->kind[state >> 5] += nr;
	return nr;
}

static void see_states(struct walk *walk)
{
	const struct quire_zone *zone = walk->zone;
	size_t *kind = walk->kind;
	uint32_t page = zone->map.start;
	size_t cached;

	while (page < zone->map.end)
		page += see_state(walk, page);
	ASSERT(zone->map.end - zone->map.start - kind[STATE_HOLE >> 5] ==
	       zone->managed_pages);
	ASSERT(kind[STATE_BUDDY >> 5] == zone_free_pages(zone));
	cached = kind[STATE_CACHED >> 5] + kind[STATE_CACHED_FRESH >> 5];
	ASSERT(cached == walk->nr_seen ||
	       (zone->forked && cached > walk->nr_seen)); /* [Z2] */
}

static void see_shards(const struct quire_zone *zone)
{
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		lock_take(&zone->buddies[i].lock);
		buddy_check_locked(&zone->buddies[i]);
		lock_release(&zone->buddies[i].lock);
	}
}

static void see_types(const struct quire_zone *zone)
{
	uint32_t nr = 0;

	for (uint32_t page = zone->map.start; page < zone->map.end;
	     page = (page | (BLOCK_PAGES - 1)) + 1)
		nr += memmap_type(&zone->map, page) == TYPE_ISOLATE;
	ASSERT(nr == zone->nr_isolated);
}

void zone_check(struct quire_zone *zone)
{
	struct walk walk = { .zone = zone,
			     .bytes = ((size_t)zone->end + 63) / 64 * 8 };
	void *memory;

	gate_enter(zone, false);
	lend_lock();
	lock_take(&zone->drain_lock);
	if (!os->map(walk.bytes, PAGE_SIZE, &memory))
		walk.seen = memory;
	see_shards(zone);
	see_lists(&walk);
	see_depot(&walk);
	see_deferred(&walk);
	see_states(&walk);
	see_types(zone);
	if (walk.seen)
		os->unmap(walk.seen, walk.bytes);
	lock_release(&zone->drain_lock);
	lend_unlock();
	gate_leave(zone);
}
