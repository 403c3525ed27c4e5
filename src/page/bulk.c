/* SPDX-License-Identifier: MIT */
/*
 * Many blocks in one call.
 *
 * Of one order and type a batch goes from or to the CPU's list in one section,
 * and then states and addresses are written in a loop with nothing else in it.
 *
 * [J1] More than one page between two places only inside the gate [Z2].
 * [J2] 0 is returned only after everything that one block would try was tried
 *	for one (spec Q19, C4).
 * [J3] Each block of a batch to be freed is CACHED as soon as it is in the
 *	batch, so the same block twice in a call is seen.
 */
#include <errno.h>

#include "base/atomic.h"
#include "page/fast.h"
#include "page/slow.h"

/* Allocating */

static void hand_out_plain(struct quire_zone *zone, unsigned int order,
			   const uint32_t *pages, uint32_t nr, void **blocks)
{
	uint8_t head = (uint8_t)(STATE_HEAD | order);

	for (uint32_t i = 0; i < nr; i++) {
		store_relaxed(&zone->state[pages[i]], head);
		blocks[i] = zone_address(zone, pages[i]);
	}
}

/* Those whose content is looked at may be withheld; returns how many are not.
 */
static uint32_t hand_out_each(struct quire_zone *zone, unsigned int order,
			      unsigned int flags, const uint32_t *pages,
			      uint32_t nr, void **blocks)
{
	uint32_t out = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (alloc_hand_out(zone, pages[i], order, flags))
			blocks[out++] = zone_address(zone, pages[i]);
	return out;
}

/* From the CPU's list: how many. */
static uint32_t pop_some(struct quire_zone *zone, unsigned int order,
			 unsigned int flags, size_t nr, void **blocks)
{
	enum migratetype type =
		flags & QUIRE_MOVABLE ? TYPE_MOVABLE : TYPE_UNMOVABLE;
	uint32_t pages[CHUNK], got;

	if (!pcp_has_list(zone, order, type) ||
	    !gate_enter(zone, flags & QUIRE_ATOMIC)) /* [J1] */
		return 0;
	got = percpu_pop_batch(&zone->percpu, zone->slow[order][type], pages,
			       nr < CHUNK ? (uint32_t)nr : CHUNK);
	if (flags & QUIRE_ZERO || zone->flags & QUIRE_ZONE_POISON)
		got = hand_out_each(zone, order, flags, pages, got, blocks);
	else
		hand_out_plain(zone, order, pages, got, blocks);
	gate_leave(zone);
	return got;
}

size_t zone_alloc_bulk(struct quire_zone *zone, unsigned int order,
		       unsigned int flags, size_t nr, void **blocks)
{
	size_t got = 0;

	while (got < nr && !load_relaxed(&zone->offline)) {
		uint32_t some =
			pop_some(zone, order, flags, nr - got, blocks + got);
		uint32_t page;

		got += some;
		if (some)
			continue;
		page = zone_alloc_slow(zone, order, flags); /* [J2] */
		if (page == NO_PAGE)
			break;
		blocks[got++] = zone_address(zone, page);
	}
	return got;
}

/* Freeing */

struct run {
	struct quire_zone *zone;
	unsigned int order;
	enum migratetype type;
	uint32_t nr;
	uint32_t pages[CHUNK];
};

static void note_frees(struct run *run)
{
	struct quire_zone *zone = run->zone;
	uint32_t offset = zone->slow[run->order][run->type], nr = 0;

	if (zone->percpu.mode == PERCPU_RSEQ)
		return;
	for (uint32_t i = 0; i < run->nr; i++)
		nr = plan_note_free(zone, offset, run->order);
	if (nr)
		pcp_drain_own(zone, run->order, run->type, nr);
}

static void flush(struct run *run)
{
	struct quire_zone *zone = run->zone;
	uint32_t pushed, offset, tries = 2;

	if (CONFIG_UP || !run->nr)
		return;
	offset = zone->slow[run->order][run->type];
	pushed = percpu_push_batch(&zone->percpu, offset, run->pages, run->nr);
	while (unlikely(pushed < run->nr) && tries--) {
		pcp_drain_full(zone, run->order, run->type);
		pushed += percpu_push_batch(&zone->percpu, offset,
					    run->pages + pushed,
					    run->nr - pushed);
	}
	if (pushed < run->nr)
		shards_give_batch(zone, run->order, run->pages + pushed,
				  run->nr - pushed);
	note_frees(run);
	run->nr = 0;
	gate_leave(zone);
	if (unlikely(tries < 2))
		shards_tell_decay(zone);
}

/* Does the block go with those that are in the run, now or after a flush?
 * False: it has no list, its content matters, or it is none. */
static bool add(struct run *run, uint64_t page)
{
	struct quire_zone *zone = run->zone;
	unsigned int state, order;
	enum migratetype type;

	if (unlikely(page >= zone->end))
		return false;
	state = load_relaxed(&zone->state[page]);
	order = state - STATE_HEAD;
	if (unlikely(order > PCP_MAX_ORDER))
		return false;
	type = memmap_type(&zone->map, (uint32_t)page);
	if (run->nr &&
	    (run->nr == CHUNK || order != run->order || type != run->type))
		flush(run);
	if (!run->nr) {
		if (!pcp_has_list(zone, order, type))
			return false;
		gate_enter(zone, false); /* [J1] */
		run->order = order;
		run->type = type;
	}
	store_relaxed(&zone->state[page],
		      (uint8_t)(STATE_CACHED | order)); /* [J3] */
	run->pages[run->nr++] = (uint32_t)page;
	return true;
}

int zone_free_bulk(struct quire_zone *zone, size_t nr, void **blocks)
{
	bool careful = zone->flags & (QUIRE_ZONE_POISON | QUIRE_ZONE_INIT_FREE);
	struct run run;
	int first = 0, error;

	run.zone = zone;
	run.nr = 0;
	if (load_relaxed(&zone->offline))
		return -ENXIO;
	for (size_t i = 0; i < nr; i++) {
		uint64_t page = zone_page(zone, blocks[i]);

		if (!blocks[i] || (!careful && add(&run, page)))
			continue;
		error = zone_free_slow(zone, page, false);
		if (error && !first)
			first = error;
	}
	flush(&run);
	return first;
}
