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

/* Two loops, so that the second is nothing but arithmetic. */
static void hand_out_plain(const struct quire_zone *zone, unsigned int order,
			   const uint32_t *restrict pages, uint32_t nr,
			   void **restrict blocks)
{
	uint8_t *state = zone->state, head = (uint8_t)(STATE_HEAD | order);
	uintptr_t base = (uintptr_t)zone->base;

	for (uint32_t i = 0; i < nr; i++)
		store_relaxed(&state[pages[i]], head);
	for (uint32_t i = 0; i < nr; i++)
		blocks[i] = (void *)(base + ((uintptr_t)pages[i] << 12));
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
	for (uint32_t i = 0; zone->percpu.mode != PERCPU_RSEQ && i < got; i++)
		plan_note_alloc(zone, zone->slow[order][type]);
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

	for (uint32_t i = 0; i < run->nr; i++)
		nr = plan_note_free(zone, offset, run->order);
	if (nr)
		pcp_drain_own(zone, run->order, run->type, nr);
}

/* Some find no room.  Outside the gate decay is told. */
static __attribute__((noinline)) void push_rest(struct run *run,
						uint32_t pushed)
{
	struct quire_zone *zone = run->zone;
	uint32_t offset = zone->slow[run->order][run->type];

	for (int tries = 2; pushed < run->nr && tries; tries--) {
		pcp_drain_full(zone, run->order, run->type);
		pushed += percpu_push_batch(&zone->percpu, offset,
					    run->pages + pushed,
					    run->nr - pushed);
	}
	if (pushed < run->nr)
		shards_give_batch(zone, run->order, run->pages + pushed,
				  run->nr - pushed);
}

/* True: it went to more than the list. */
static bool push(struct run *run)
{
	struct quire_zone *zone = run->zone;
	uint32_t pushed = percpu_push_batch(&zone->percpu,
					    zone->slow[run->order][run->type],
					    run->pages, run->nr);
	bool more = pushed < run->nr;

	if (unlikely(more))
		push_rest(run, pushed);
	if (zone->percpu.mode != PERCPU_RSEQ)
		note_frees(run);
	return more;
}

/* What the first is; false: it has no list, or is none of ours. */
static bool begin(struct run *run, const void *block)
{
	const struct quire_zone *zone = run->zone;
	uint64_t page = zone_page(zone, block);

	if (unlikely(page >= zone->end))
		return false;
	run->order = load_relaxed(&zone->state[page]) - STATE_HEAD;
	if (unlikely(run->order > PCP_MAX_ORDER))
		return false;
	run->type = memmap_type(&zone->map, (uint32_t)page);
	return pcp_has_list(zone, run->order, run->type);
}

/* Those that are like the first, up to one that is not [J3].  Not inline: it
 * needs all registers. */
static __attribute__((noinline)) uint32_t gather(struct run *run,
						 void *const *blocks, size_t nr)
{
	const struct quire_zone *zone = run->zone;
	const uint8_t *types = zone->block_type;
	const char *base = zone->base;
	uint8_t *state = zone->state;
	uint64_t end = zone->end;
	unsigned int head = STATE_HEAD | run->order, type = run->type;
	uint32_t *pages = run->pages, n = 0;

	for (nr = nr < CHUNK ? nr : CHUNK; n < nr; n++) {
		uint64_t page = ROTATE_TO_PAGE((char *)blocks[n] - base);

		if (unlikely(page >= end) ||
		    unlikely(load_relaxed(&state[page]) != head) ||
		    unlikely(load_relaxed(&types[page >> BLOCK_ORDER]) != type))
			break;
		store_relaxed(&state[page],
			      (uint8_t)(head + (STATE_CACHED - STATE_HEAD)));
		pages[n] = (uint32_t)page;
	}
	return n;
}

/* How many of @blocks went, from the first on; 0: that one has to go alone. */
static uint32_t free_run(struct run *run, void *const *blocks, size_t nr)
{
	struct quire_zone *zone = run->zone;
	bool more;

	if (!begin(run, blocks[0]))
		return 0;
	gate_enter(zone, false); /* [J1] */
	run->nr = gather(run, blocks, nr);
	more = run->nr && push(run);
	gate_leave(zone);
	if (unlikely(more))
		shards_tell_decay(zone);
	return run->nr;
}

int zone_free_bulk(struct quire_zone *zone, size_t nr, void **blocks)
{
	bool careful = zone->flags & (QUIRE_ZONE_POISON | QUIRE_ZONE_INIT_FREE);
	int first = 0, error;
	struct run run;
	size_t done;

	run.zone = zone;
	if (load_relaxed(&zone->offline))
		return -ENXIO;
	for (size_t i = 0; i < nr; i += done) {
		done = 1;
		if (!blocks[i])
			continue;
		done = careful ? 0 : free_run(&run, blocks + i, nr - i);
		if (done)
			continue;
		done = 1;
		error = zone_free_slow(zone, zone_page(zone, blocks[i]), false);
		if (error && !first)
			first = error;
	}
	return first;
}
