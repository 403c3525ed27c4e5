/* SPDX-License-Identifier: MIT */
/*
 * How much a CPU's list takes, keeps and gives: the rules of page/tune.h, kept
 * for each list in slot->user[].
 *
 * Linux counts all lists of a CPU together and is told of each allocation and
 * each free.  Here each list is for itself, because its limit is looked at
 * where its two ends are, and the fast path tells nobody: so a run of
 * allocations or of frees is what the list has lost or gained since it was
 * looked at last (LAST).  In the modes with a lock each operation is told, as
 * in Linux.
 *
 * [L1] limit is high in blocks, at least 1, whenever somebody changed high.
 * [L2] user[] is read and written by whoever refills or drains, with no lock:
 *	each word for itself is always one that the rules allow, and what two
 *	of them lose to each other is a step of tuning.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "page/slow.h"

enum {
	BATCH,
	HIGH,
	HIGH_MIN,
	HIGH_MAX,
	ALLOC_FACTOR,
	FREE_COUNT,
	SCALE_MAX,
	LAST,	 /* blocks when it was looked at last */
	SEEN_AT, /* both ends at the last step of decay, added up */
};

static const unsigned int list_orders[NR_PCP_ORDERS] = { 0, 1, 2, 3,
							 PCP_MAX_ORDER };

/* Frees that come one after the other before a list of higher order is
 * emptied at once: spec A.8, free_high. */
#define FREE_HIGH_ORDER 3

unsigned int pcp_list_order(unsigned int list)
{
	ASSERT(list && list < NR_PCP_LISTS);
	return list_orders[(list - 1) / NR_PCP_TYPES];
}

/* What a list begins with */

/* Spec G.4, row 4: high is at least twice batch, or below it (one by one). */
static void fit_batch(struct tune *tune)
{
	if (tune->high_max >= 2 * tune->batch)
		return;
	tune->batch = tune->high_max / 2;
	if (!tune->batch)
		tune->batch = tune->high_max + 1;
}

static void set_tune(struct quire_zone *zone,
		     const struct quire_zone_options *options)
{
	size_t cpus = os->nr_cpus();
	struct tune *tune = &zone->tune;
	size_t min, max;

	*tune = (struct tune){ .batch = tune_batch(zone->managed_pages),
			       .scale_max = options->batch_scale_max
						    ? options->batch_scale_max
						    : 5 };
	if (!tune->batch)
		tune->batch = 1;
	min = max_size(zone->watermark_low / cpus, 4 * (size_t)tune->batch);
	max = max_size(zone->managed_pages / 8 / cpus, min);
	tune->high_min = (int)min_size(min, PCP_RING);
	tune->high_max = (int)min_size(max, PCP_RING);
	if (options->high)
		tune->high_min = tune->high_max = (int)options->high;
	tune->high = tune->high_min;
	fit_batch(tune);
}

/* A block of 2 MiB is more than a batch: there the unit is the block. */
static struct tune tune_of(const struct quire_zone *zone, unsigned int order)
{
	struct tune tune = zone->tune;

	if (order != PCP_MAX_ORDER)
		return tune;
	tune.batch = 1 << order;
	if (tune.high_min != tune.high_max)
		tune.high_min =
			(int)min_size(4u << order, (size_t)tune.high_max);
	if (tune.high_max < 2 * tune.batch)
		tune.batch = tune.high_max + 1;
	tune.high = tune.high_min;
	return tune;
}

static uint32_t limit_of(const struct slot *slot, const struct tune *tune,
			 unsigned int order)
{
	uint32_t limit = (uint32_t)tune->high >> order;

	if (!limit)
		return 1;
	return (uint32_t)min_size(limit, slot_room(slot));
}

void plan_load(const struct slot *slot, struct tune *tune)
{
	tune->batch = (int)load_relaxed(&slot->user[BATCH]);
	tune->high = (int)load_relaxed(&slot->user[HIGH]);
	tune->high_min = (int)load_relaxed(&slot->user[HIGH_MIN]);
	tune->high_max = (int)load_relaxed(&slot->user[HIGH_MAX]);
	tune->alloc_factor = (int)load_relaxed(&slot->user[ALLOC_FACTOR]);
	tune->free_count = (int)load_relaxed(&slot->user[FREE_COUNT]);
	tune->scale_max = (int)load_relaxed(&slot->user[SCALE_MAX]);
}

/* Only what changes. */
static void store_plan(struct slot *slot, const struct tune *tune,
		       unsigned int order)
{
	store_relaxed(&slot->user[ALLOC_FACTOR], (uint32_t)tune->alloc_factor);
	store_relaxed(&slot->user[FREE_COUNT], (uint32_t)tune->free_count);
	if (load_relaxed(&slot->user[HIGH]) == (uint32_t)tune->high)
		return;
	store_relaxed(&slot->user[HIGH], (uint32_t)tune->high);
	percpu_set_limit(slot, limit_of(slot, tune, order)); /* [L1] */
}

static void open_list(struct quire_zone *zone, unsigned int cpu,
		      unsigned int list)
{
	unsigned int order = pcp_list_order(list);
	struct tune tune = tune_of(zone, order);
	struct slot *slot =
		percpu_slot(&zone->percpu, cpu, zone->percpu.offset[list]);

	store_relaxed(&slot->user[BATCH], (uint32_t)tune.batch);
	store_relaxed(&slot->user[HIGH_MIN], (uint32_t)tune.high_min);
	store_relaxed(&slot->user[HIGH_MAX], (uint32_t)tune.high_max);
	store_relaxed(&slot->user[SCALE_MAX], (uint32_t)tune.scale_max);
	store_relaxed(&slot->user[HIGH], (uint32_t)tune.high);
	percpu_set_limit(slot, limit_of(slot, &tune, order));
}

/* Which orders have lists in this zone: those of which a list may keep one;
 * with poison only single pages, of which none is fresh in part. */
static bool may_have_list(const struct quire_zone *zone, unsigned int order)
{
	if (CONFIG_UP || zone->percpu.mode == PERCPU_OFF)
		return false;
	if (order && zone->flags & QUIRE_ZONE_POISON)
		return false;
	return !order || zone->tune.high_max >> order;
}

static void set_offsets(struct quire_zone *zone)
{
	uint32_t closed = zone->percpu.offset[PERCPU_CLOSED_LIST];
	bool careful = zone->flags & (QUIRE_ZONE_POISON | QUIRE_ZONE_INIT_FREE);
	bool fast = !careful && zone->percpu.mode == PERCPU_RSEQ;

	for (unsigned int order = 0; order <= PCP_MAX_ORDER; order++)
		for (unsigned int type = 0; type < NR_TYPES; type++)
			zone->fast[order][type] = zone->slow[order][type] =
				closed;
	for (unsigned int list = 1; list < NR_PCP_LISTS; list++) {
		unsigned int order = pcp_list_order(list);
		unsigned int type = (list - 1) % NR_PCP_TYPES;

		if (!may_have_list(zone, order))
			continue;
		zone->slow[order][type] = zone->percpu.offset[list];
		if (fast)
			zone->fast[order][type] = zone->percpu.offset[list];
	}
}

static enum percpu_mode mode_wanted(const struct quire_zone_options *options)
{
	switch (options->pcp) {
	case QUIRE_PCP_LOCK:
		return PERCPU_LOCK;
	case QUIRE_PCP_MASK:
		return PERCPU_MASK;
	case QUIRE_PCP_OFF:
		return PERCPU_OFF;
	default:
		return PERCPU_RSEQ;
	}
}

int pcp_open(struct quire_zone *zone, const struct quire_zone_options *options)
{
	enum percpu_mode wanted = mode_wanted(options);
	uint32_t entries[NR_PCP_LISTS] = { 0 };
	int error;

	for (unsigned int list = 1; list < NR_PCP_LISTS; list++)
		entries[list] = PCP_RING >> pcp_list_order(list);
	error = percpu_init(&zone->percpu, NR_PCP_LISTS, entries, wanted);
	if (error)
		return error;
	if (options->flags & QUIRE_ZONE_STRICT && options->pcp &&
	    zone->percpu.mode != wanted) {
		percpu_destroy(&zone->percpu);
		return -EOPNOTSUPP;
	}
	set_tune(zone, options);
	set_offsets(zone);
	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++)
		for (unsigned int list = 1; list < NR_PCP_LISTS; list++)
			open_list(zone, cpu, list);
	return 0;
}

/* What it takes and gives */

static uint32_t blocks(int pages, unsigned int order)
{
	return ((uint32_t)pages + (1u << order) - 1) >> order;
}

uint32_t plan_chunk(const struct quire_zone *zone, unsigned int order)
{
	uint32_t nr = blocks(tune_of(zone, order).batch, order);

	return nr < CHUNK ? nr : CHUNK;
}

static int pages_in(const struct slot *slot, unsigned int order)
{
	return (int)(slot_count(slot) << order);
}

void plan_settle(struct slot *slot)
{
	store_relaxed(&slot->user[LAST], slot_count(slot));
}

/* A run of @nr of either kind; more than a few allocations change nothing. */
static void note_allocs(struct tune *tune, int64_t nr)
{
	for (; nr > 0 && tune->free_count; nr--)
		tune_note_alloc(tune);
}

static void note_frees(struct tune *tune, unsigned int order, int64_t nr)
{
	int cap = tune->batch << tune->scale_max;

	for (; nr > 0 && (tune->free_count < cap || tune->alloc_factor); nr--)
		tune_note_free(tune, order);
}

static bool is_told(const struct quire_zone *zone)
{
	return zone->percpu.mode != PERCPU_RSEQ;
}

static int64_t gained(const struct slot *slot)
{
	return (int64_t)slot_count(slot) - load_relaxed(&slot->user[LAST]);
}

uint32_t plan_refill(struct quire_zone *zone, struct slot *slot,
		     unsigned int order)
{
	struct tune tune;
	int nr;

	plan_load(slot, &tune);
	note_allocs(&tune, is_told(zone) ? 1 : -gained(slot));
	nr = tune_nr_alloc(&tune, order, pages_in(slot, order),
			   zone_state(zone));
	store_plan(slot, &tune, order);
	return nr < 1 ? 1 : (uint32_t)nr;
}

static bool free_high(const struct tune *tune, unsigned int order, int count)
{
	return order && order <= FREE_HIGH_ORDER &&
	       tune->free_count >= tune->batch && count >= tune->batch;
}

/* What to give at a count that may be too high; 0: nothing. */
static uint32_t plan_give(struct quire_zone *zone, struct slot *slot,
			  struct tune *tune, unsigned int order)
{
	int count = pages_in(slot, order);
	bool all = free_high(tune, order, count);
	int high = tune_high(tune, count, zone_state(zone), all);
	int nr = count >= high ? tune_nr_free(tune, high, count, all) : 0;

	store_plan(slot, tune, order);
	return nr > 0 ? blocks(nr, order) : 0;
}

uint32_t plan_drain(struct quire_zone *zone, struct slot *slot,
		    unsigned int order)
{
	struct tune tune;
	uint32_t nr;

	plan_load(slot, &tune);
	if (!is_told(zone))
		note_frees(&tune, order, gained(slot));
	nr = plan_give(zone, slot, &tune, order);
	/* High may have risen since; one has to go where there is no room. */
	if (!nr && slot_count(slot) >= load_relaxed(&slot->open_limit))
		nr = 1;
	return nr;
}

void plan_note_alloc(struct quire_zone *zone, uint32_t offset)
{
	struct slot *slot = percpu_here(&zone->percpu, offset);
	struct tune tune;

	if (!slot)
		return;
	plan_load(slot, &tune);
	tune_note_alloc(&tune);
	store_relaxed(&slot->user[FREE_COUNT], (uint32_t)tune.free_count);
}

uint32_t plan_note_free(struct quire_zone *zone, uint32_t offset,
			unsigned int order)
{
	struct slot *slot = percpu_here(&zone->percpu, offset);
	struct tune tune;

	if (!slot)
		return 0;
	plan_load(slot, &tune);
	tune_note_free(&tune, order);
	return plan_give(zone, slot, &tune, order);
}

/* Decay */

static bool is_idle(struct slot *slot)
{
	uint64_t word = load_relaxed(&slot->ends.word);
	uint32_t now = (uint32_t)(word >> 32) + (uint32_t)word * 31;
	uint32_t seen = load_relaxed(&slot->user[SEEN_AT]);

	store_relaxed(&slot->user[SEEN_AT], now);
	return now == seen;
}

uint32_t plan_decay(struct slot *slot, unsigned int order)
{
	bool idle = is_idle(slot);
	struct tune tune;
	int nr;

	plan_load(slot, &tune);
	nr = tune_decay(&tune, pages_in(slot, order));
	store_plan(slot, &tune, order);
	return idle && nr > 0 ? (uint32_t)nr >> order : 0;
}

/* Looking */

void pcp_describe(const struct quire_zone *zone, unsigned int cpu,
		  struct pcp_facts *out)
{
	*out = (struct pcp_facts){ .count = 0 };
	for (unsigned int list = 1; list < NR_PCP_LISTS; list++) {
		const struct slot *slot = percpu_slot(
			&zone->percpu, cpu, zone->percpu.offset[list]);
		unsigned int order = pcp_list_order(list);
		struct tune tune;

		if (!pcp_has_list(
			    zone, order,
			    (enum migratetype)((list - 1) % NR_PCP_TYPES)))
			continue;
		plan_load(slot, &tune);
		out->count += slot_count(slot) << order;
		out->high += (uint32_t)tune.high;
		out->batch = (uint32_t)zone->tune.batch;
	}
}
