/* SPDX-License-Identifier: MIT */
/*
 * Filling the list of this CPU and emptying it (mechanism A).
 *
 *	refill   depot: whole magazines ── else shards: clusters of 64 pages
 *	drain    depot: whole magazines ── else shards, in one of three modes:
 *
 *	SINGLE	  lock │ pop, check, give │ unlock     today's Linux
 *	PICK	  pop, check │ lock │ give │ unlock    Linux of 2018
 *	PREFETCH  pop, check, fetch buddies │ lock │ give │ unlock
 *
 * Which lists a drain takes from is as in these, too, the two lists of an order
 * standing for Linux's lists: SINGLE begins with the full one and goes on when
 * it is empty; the others take turns (spec A.4, A.8, G.1).  Always the oldest.
 *
 * [Q1] Under one hold of a lock at most CHUNK blocks move, and at most a batch
 *	(spec Q5); what remains to be freed decides whether to go on (Q6).
 * [Q2] Whoever fills or drains may be moved to another CPU between any two
 *	steps.  Then it fills or drains that CPU's list: a list takes what it has
 *	room for and gives what it has, and what finds no room goes to the
 *	shards.
 * [Q3] A page is CACHED before it is pushed.
 * [Q4] Types are read under the shard's lock, when a page is given (spec A3).
 */
#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "page/slow.h"

static void prefetch_states(const struct quire_zone *zone,
			    const uint32_t *pages, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		__builtin_prefetch(&zone->state[pages[i]], 1);
}

/* Refill */

struct refill {
	struct quire_zone *zone;
	uint32_t offset;
	unsigned int order;
	enum migratetype type;
	bool atomic;
	bool no_room;
	uint32_t left;	/* blocks wanted */
	uint32_t first; /* the caller's; NO_PAGE until there is one */
};

/* Newest last; what finds no room stays in pages[]: how many. */
static uint32_t push_all(struct refill *refill, uint32_t *pages, uint32_t nr)
{
	uint32_t pushed = percpu_push_batch(&refill->zone->percpu,
					    refill->offset, pages, nr);

	if (pushed == nr)
		return 0;
	refill->no_room = true;
	__builtin_memmove(pages, pages + pushed,
			  (nr - pushed) * sizeof(*pages));
	return nr - pushed;
}

/* The magazine's contents into the list; what is left stays in it. */
static void unload(struct refill *refill, struct magazine *magazine)
{
	uint32_t nr = magazine->nr;

	prefetch_states(refill->zone, magazine->page, nr);
	refill->left -= nr < refill->left ? nr : refill->left;
	if (refill->first == NO_PAGE)
		refill->first = magazine->page[--magazine->nr];
	magazine->nr = push_all(refill, magazine->page, magazine->nr);
}

/* In the depot, or, while it is closed, to the shards. */
static void put_magazines(struct quire_zone *zone, enum migratetype type,
			  struct magazine **magazines, unsigned int nr)
{
	unsigned int refused = depot_put(&zone->depot, type, magazines, nr);

	for (unsigned int i = 0; i < refused; i++) {
		shards_give_batch(zone, 0, magazines[i]->page,
				  magazines[i]->nr);
		magazines[i]->nr = 0;
	}
	if (refused)
		depot_put(&zone->depot, type, magazines, refused);
}

static unsigned int magazines_for(uint32_t nr)
{
	unsigned int magazines = (nr + MAGAZINE_PAGES - 1) / MAGAZINE_PAGES;

	return magazines < DEPOT_AT_ONCE ? magazines : DEPOT_AT_ONCE;
}

static void refill_from_depot(struct refill *refill)
{
	struct magazine *magazines[DEPOT_AT_ONCE];
	unsigned int nr =
		depot_take_full(&refill->zone->depot, refill->type, magazines,
				magazines_for(refill->left));

	if (!nr)
		return;
	STEP("pcp: magazines taken");
	for (unsigned int i = 0; i < nr && !refill->no_room; i++)
		unload(refill, magazines[i]);
	put_magazines(refill->zone, refill->type, magazines, nr);
	zone_count(refill->zone, ZONE_COUNT_DEPOT_GET, nr);
}

/* So that they are handed out in ascending order. */
static void reverse(uint32_t *pages, uint32_t nr)
{
	for (uint32_t i = 0; i < nr / 2; i++) {
		uint32_t page = pages[i];

		pages[i] = pages[nr - 1 - i];
		pages[nr - 1 - i] = page;
	}
}

/* Without waiting, for handlers: what cannot go back goes to the deferred. */
static void give_rest(struct refill *refill, uint32_t *pages, uint32_t nr)
{
	if (!refill->atomic) {
		shards_give_batch(refill->zone, refill->order, pages, nr);
		return;
	}
	for (uint32_t i = 0; i < nr; i++)
		if (!shards_try_give(refill->zone, pages[i], refill->order))
			deferred_add(refill->zone, pages[i], refill->order);
}

/* Few enough to be taken one by one: what has no room is hard to get rid of. */
#define ATOMIC_CHUNK 16u

/* How many may be taken under one hold, by watermarks too; 0: none. */
static uint32_t chunk_of(const struct refill *refill)
{
	const struct quire_zone *zone = refill->zone;
	uint32_t nr = plan_chunk(zone, refill->order);
	size_t usable = zone_usable_pages(zone), spare;

	nr = nr < refill->left ? nr : refill->left;
	if (refill->atomic && nr >= ATOMIC_CHUNK)
		nr = ATOMIC_CHUNK;
	spare = usable > zone->watermark_min ? usable - zone->watermark_min : 0;
	spare >>= refill->order;
	if (spare < nr)
		nr = (uint32_t)spare;
	/* From the reserve one, and no more: lists are for everybody. */
	if (!nr && refill->atomic && refill->first == NO_PAGE)
		nr = 1;
	return nr;
}

/* False: there are no more. */
static bool refill_from_shards(struct refill *refill)
{
	uint32_t pages[CHUNK_ROOM], nr = chunk_of(refill), from = 0;

	if (!nr)
		return false;
	if (nr == 1 && refill->first == NO_PAGE) {
		refill->first =
			shards_take(refill->zone, refill->order, refill->type,
				    refill->atomic, false);
		refill->left--;
		return refill->first != NO_PAGE;
	}
	nr = shards_take_batch(refill->zone, refill->order, refill->type,
			       refill->atomic, nr, pages);
	if (!nr)
		return false;
	STEP("pcp: taken, not pushed");
	refill->left -= nr < refill->left ? nr : refill->left;
	if (refill->first == NO_PAGE)
		refill->first = pages[from++];
	reverse(pages + from, nr - from);
	nr = push_all(refill, pages + from, nr - from);
	if (nr)
		give_rest(refill, pages + from, nr);
	return true;
}

uint32_t pcp_refill(struct quire_zone *zone, unsigned int order,
		    enum migratetype type, bool atomic)
{
	struct refill refill = { .zone = zone,
				 .offset = zone->slow[order][type],
				 .order = order,
				 .type = type,
				 .atomic = atomic,
				 .first = NO_PAGE };
	struct slot *slot = percpu_here(&zone->percpu, refill.offset);

	if (!slot || !load_relaxed(&slot->limit)) /* closed */
		return alloc_may_take(zone, (size_t)1 << order, atomic)
			       ? shards_take(zone, order, type, atomic, false)
			       : NO_PAGE;
	refill.left = plan_refill(zone, slot, order);
	if (!order && !atomic)
		refill_from_depot(&refill);
	while (refill.left && !refill.no_room && refill_from_shards(&refill))
		;
	plan_settle(slot);
	zone_count(zone, ZONE_COUNT_REFILL, 1);
	return refill.first;
}

/* Drain */

struct drain {
	struct quire_zone *zone;
	unsigned int order;
	enum migratetype type;
	uint32_t nr;
	uint32_t pages[CHUNK];
};

static bool may_fill_depot(const struct quire_zone *zone)
{
	return zone->depot.nr_magazines && zone_state(zone) == TUNE_NORMAL;
}

/* Those that are what they should be. */
static uint32_t keep_cached(struct quire_zone *zone, unsigned int order,
			    uint32_t *pages, uint32_t nr)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (shards_is_cached(zone, pages[i], order))
			pages[kept++] = pages[i];
	return kept;
}

static uint32_t fill(struct drain *drain, struct magazine *magazine,
		     uint32_t nr)
{
	struct quire_zone *zone = drain->zone;

	nr = nr < MAGAZINE_PAGES ? nr : MAGAZINE_PAGES;
	nr = percpu_pop_oldest(&zone->percpu, zone->slow[0][drain->type],
			       magazine->page, nr);
	magazine->nr = keep_cached(zone, 0, magazine->page, nr);
	return nr;
}

/* A rest that is not worth a magazine goes to the shards. */
#define MAGAZINE_WORTH (MAGAZINE_PAGES / 4)

static uint32_t drain_to_depot(struct drain *drain, uint32_t nr)
{
	struct quire_zone *zone = drain->zone;
	struct magazine *magazines[DEPOT_AT_ONCE];
	unsigned int wanted =
		(nr + MAGAZINE_PAGES - MAGAZINE_WORTH) / MAGAZINE_PAGES;
	unsigned int got = 0;
	uint32_t done = 0, n = 1;

	if (wanted)
		got = depot_take_empty(&zone->depot, magazines,
				       wanted < DEPOT_AT_ONCE ? wanted
							      : DEPOT_AT_ONCE);
	for (unsigned int i = 0; i < got && n; i++) {
		n = fill(drain, magazines[i], nr - done);
		done += n;
	}
	if (!got)
		return 0;
	STEP("pcp: magazines filled");
	put_magazines(zone, drain->type, magazines, got);
	zone_count(zone, ZONE_COUNT_DEPOT_PUT, got);
	return done;
}

/* Which list to take how many from. */
static int pick(const struct drain *drain, uint32_t nr, struct tune_step *step)
{
	struct quire_zone *zone = drain->zone;
	int count[NR_PCP_TYPES];

	for (int type = 0; type < NR_PCP_TYPES; type++) {
		struct slot *slot = percpu_here(&zone->percpu,
						zone->slow[drain->order][type]);

		count[type] = slot ? (int)slot_count(slot) : 0;
	}
	if (zone->drain_mode == QUIRE_DRAIN_SINGLE)
		return tune_pick_today(count, NR_PCP_TYPES, (int)nr,
				       (int)drain->type, step, CHUNK);
	return tune_pick_2018(count, NR_PCP_TYPES, (int)nr, step, CHUNK);
}

static void pop_picked(struct drain *drain, uint32_t nr)
{
	struct quire_zone *zone = drain->zone;
	struct tune_step step[CHUNK];
	int steps = pick(drain, nr, step);

	drain->nr = 0;
	for (int i = 0; i < steps; i++)
		drain->nr += percpu_pop_oldest(
			&zone->percpu, zone->slow[drain->order][step[i].list],
			drain->pages + drain->nr, (uint32_t)step[i].nr);
}

/* [Q1] at most @nr blocks, which is at most a batch. */
static uint32_t drain_picked(struct drain *drain, uint32_t nr)
{
	struct quire_zone *zone = drain->zone;

	pop_picked(drain, nr);
	nr = drain->nr;
	drain->nr = keep_cached(zone, drain->order, drain->pages, nr);
	if (zone->drain_mode == QUIRE_DRAIN_PREFETCH)
		for (uint32_t i = 0; i < drain->nr; i++) {
			uint32_t buddy = drain->pages[i] ^ 1u << drain->order;

			__builtin_prefetch(&zone->state[buddy], 1);
			__builtin_prefetch(&zone->map.page[buddy], 1);
		}
	STEP("pcp: picked, not locked");
	shards_give_batch(zone, drain->order, drain->pages, drain->nr);
	return nr;
}

/* The shard of the page that will be popped first: a guess, for there may be
 * several. */
static struct buddy *shard_of_oldest(const struct drain *drain)
{
	struct quire_zone *zone = drain->zone;
	struct slot *slot = percpu_here(&zone->percpu,
					zone->slow[drain->order][drain->type]);
	uint32_t page;

	if (zone->nr_buddies == 1 || !slot || !slot_count(slot))
		return zone->buddies;
	page = slot_oldest(slot);
	return page >= zone->map.start && page < zone->end
		       ? zone_buddy(zone, page)
		       : zone->buddies;
}

static uint32_t drain_single(struct drain *drain, uint32_t nr)
{
	struct quire_zone *zone = drain->zone;
	struct buddy *buddy = shard_of_oldest(drain);
	uint32_t others = 0;

	lock_take(&buddy->lock);
	STEP("pcp: locked, not picked");
	pop_picked(drain, nr);
	nr = drain->nr;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t page = drain->pages[i];

		if (zone_buddy(zone, page) == buddy)
			shards_give_cached_locked(zone, buddy, page,
						  drain->order);
		else
			drain->pages[others++] = page;
	}
	lock_release(&buddy->lock);
	shards_give_batch(zone, drain->order, drain->pages, others);
	return nr;
}

void pcp_drain_own(struct quire_zone *zone, unsigned int order,
		   enum migratetype type, uint32_t nr)
{
	struct drain drain = { .zone = zone, .order = order, .type = type };
	uint32_t chunk = plan_chunk(zone, order), done = 0, n;

	if (!order && may_fill_depot(zone))
		done = drain_to_depot(&drain, nr);
	while (done < nr) { /* [Q1] */
		n = nr - done < chunk ? nr - done : chunk;
		n = zone->drain_mode == QUIRE_DRAIN_SINGLE
			    ? drain_single(&drain, n)
			    : drain_picked(&drain, n);
		if (!n)
			break;
		done += n;
	}
	zone_count(zone, ZONE_COUNT_DRAIN, 1);
}

void pcp_drain_full(struct quire_zone *zone, unsigned int order,
		    enum migratetype type)
{
	struct slot *slot = percpu_here(&zone->percpu, zone->slow[order][type]);
	uint32_t nr;

	if (!slot || !load_relaxed(&slot->limit)) /* closed */
		return;
	nr = plan_drain(zone, slot, order);
	if (nr)
		pcp_drain_own(zone, order, type, nr);
	plan_settle(slot);
}

size_t pcp_drain_depot(struct quire_zone *zone, unsigned int magazines)
{
	struct magazine *magazine;
	size_t pages = 0;

	if (CONFIG_UP)
		return 0;
	for (unsigned int type = 0; type < NR_PCP_TYPES && magazines;) {
		if (!depot_take_full(&zone->depot, (enum migratetype)type,
				     &magazine, 1)) {
			type++;
			continue;
		}
		pages += magazine->nr;
		shards_give_batch(zone, 0, magazine->page, magazine->nr);
		magazine->nr = 0;
		depot_put(&zone->depot, (enum migratetype)type, &magazine, 1);
		magazines--;
	}
	return pages;
}
