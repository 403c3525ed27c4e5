/* SPDX-License-Identifier: MIT */
/*
 * How a zone stands: as numbers, as counters, and as text in the shape of
 * /proc/buddyinfo, pagetypeinfo, zoneinfo and vmstat, so that tools for those
 * read it.  A shard stands where Linux has a zone.
 *
 * Numbers are read without stopping anybody: exact when nobody is inside a
 * call, else each for itself, and never negative.  Only the text by migratetype
 * and order takes a lock, that of one shard at a time.
 */
#include <quire/stat.h>

#include "base/arch/cpu.h"
#include "base/atomic.h"
#include "page/slow.h"
#include "page/text.h"
#include "stat/stat.h"

/* About as long as a piece takes to be cut and put back. */
#define MOVES_SEEN 10000

static const char *const type_names[NR_TYPES] = {
	[TYPE_UNMOVABLE] = "Unmovable",
	[TYPE_MOVABLE] = "Movable",
	[TYPE_ISOLATE] = "Isolate",
};

/* Numbers */

/* Over all shards. */
struct sums {
	size_t free, isolated, fresh;
	uint64_t split, merge, steal;
	uint64_t takes, contended, hold_cycles;
};

static struct sums sum_shards(const struct quire_zone *zone)
{
	struct sums sums = { 0 };

	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		const struct buddy *buddy = &zone->buddies[i];

		sums.free += load_relaxed(&buddy->free_pages);
		sums.isolated += load_relaxed(&buddy->isolated_pages);
		sums.fresh += load_relaxed(&buddy->fresh_pages);
		sums.split += load_relaxed(&buddy->nr_split);
		sums.merge += load_relaxed(&buddy->nr_merge);
		sums.steal += load_relaxed(&buddy->nr_steal);
		sums.takes += load_relaxed(&buddy->lock.takes);
		sums.contended += load_relaxed(&buddy->lock.contended);
		sums.hold_cycles += load_relaxed(&buddy->lock.hold_cycles);
	}
	return sums;
}

/* What is lent to be given back is free: nobody has it. */
static void sum_pages(struct quire_zone *zone, struct quire_zone_facts *out)
{
	struct sums sums = sum_shards(zone);

	out->free_pages = sums.free + load_relaxed(&zone->lent_pages);
	out->isolated_pages = sums.isolated;
	out->fresh_pages = sums.fresh;
	out->pcp_pages = pcp_count(zone);
	out->depot_pages = load_relaxed(&zone->depot.nr_pages) +
			   load_relaxed(&zone->nr_deferred);
}

/*
 * Once more when the helper thread has moved something meanwhile: its user does
 * not know of it.  A bounded number of times, and without a lock, so that a
 * handler may ask.
 */
static void fill_pages(struct quire_zone *zone, struct quire_zone_facts *out)
{
	size_t known;
	uint32_t moves;

	for (int i = 0; i < MOVES_SEEN; i++) {
		moves = load_acquire(&zone->moves); /* pairs with move_end */
		sum_pages(zone, out);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!load_relaxed(&zone->moving) &&
		    load_relaxed(&zone->moves) == moves)
			break;
		cpu_pause();
	}
	out->managed_pages = zone->managed_pages;
	known = out->free_pages + out->pcp_pages + out->depot_pages;
	out->used_pages =
		known < out->managed_pages ? out->managed_pages - known : 0;
}

static enum quire_pcp pcp_in_force(const struct quire_zone *zone)
{
	switch (zone->percpu.mode) {
	case PERCPU_RSEQ:
		return QUIRE_PCP_RSEQ;
	case PERCPU_LOCK:
		return QUIRE_PCP_LOCK;
	case PERCPU_MASK:
		return QUIRE_PCP_MASK;
	default:
		return QUIRE_PCP_OFF;
	}
}

int zone_describe(struct quire_zone *zone, struct quire_zone_facts *out)
{
	out->pcp = pcp_in_force(zone);
	out->drain = zone->drain_mode;
	out->nr_shards = zone->nr_buddies;
	out->offline = load_relaxed(&zone->offline);
	fill_pages(zone, out);
	out->watermark_min = zone->watermark_min;
	out->watermark_low = zone->watermark_low;
	out->watermark_high = zone->watermark_high;
	out->metadata_bytes = zone->metadata_bytes;
	return 0;
}

/* Counters */

static const struct {
	enum quire_counter counter;
	enum zone_count count;
} kept[] = {
	{ QUIRE_COUNTER_zone_alloc_slow, ZONE_COUNT_ALLOC_SLOW },
	{ QUIRE_COUNTER_zone_free_slow, ZONE_COUNT_FREE_SLOW },
	{ QUIRE_COUNTER_zone_refill, ZONE_COUNT_REFILL },
	{ QUIRE_COUNTER_zone_drain, ZONE_COUNT_DRAIN },
	{ QUIRE_COUNTER_zone_drain_remote, ZONE_COUNT_DRAIN_REMOTE },
	{ QUIRE_COUNTER_zone_bypass, ZONE_COUNT_BYPASS },
	{ QUIRE_COUNTER_zone_deferred, ZONE_COUNT_DEFERRED },
	{ QUIRE_COUNTER_zone_reclaim, ZONE_COUNT_RECLAIM },
	{ QUIRE_COUNTER_zone_failed, ZONE_COUNT_FAILED },
	{ QUIRE_COUNTER_zone_misuse, ZONE_COUNT_MISUSE },
	{ QUIRE_COUNTER_zone_poison, ZONE_COUNT_POISON },
	{ QUIRE_COUNTER_depot_get, ZONE_COUNT_DEPOT_GET },
	{ QUIRE_COUNTER_depot_put, ZONE_COUNT_DEPOT_PUT },
	{ QUIRE_COUNTER_zone_discarded, ZONE_COUNT_DISCARDED },
	{ QUIRE_COUNTER_zone_discard_failed, ZONE_COUNT_DISCARD_FAILED },
	{ QUIRE_COUNTER_zone_cleared, ZONE_COUNT_CLEARED },
};
_Static_assert(ARRAY_SIZE(kept) == ZONE_NR_COUNTS, "each has a name");

static void add_pages(struct quire_zone *zone, uint64_t *counter)
{
	struct quire_zone_facts facts = { .size = sizeof(facts) };

	fill_pages(zone, &facts);
	counter[QUIRE_COUNTER_pages_managed] = facts.managed_pages;
	counter[QUIRE_COUNTER_pages_free] = facts.free_pages;
	counter[QUIRE_COUNTER_pages_isolated] = facts.isolated_pages;
	counter[QUIRE_COUNTER_pages_fresh] = facts.fresh_pages;
	counter[QUIRE_COUNTER_pages_pcp] = facts.pcp_pages;
	counter[QUIRE_COUNTER_pages_depot] = facts.depot_pages;
	counter[QUIRE_COUNTER_pages_used] = facts.used_pages;
}

static void add_locks(struct quire_zone *zone, uint64_t *counter)
{
	struct sums sums = sum_shards(zone);

	counter[QUIRE_COUNTER_zone_split] = sums.split;
	counter[QUIRE_COUNTER_zone_merge] = sums.merge;
	counter[QUIRE_COUNTER_zone_steal] = sums.steal;
	counter[QUIRE_COUNTER_zone_lock_takes] = sums.takes;
	counter[QUIRE_COUNTER_zone_lock_contended] = sums.contended;
	counter[QUIRE_COUNTER_zone_lock_hold_cycles] =
		sums.hold_cycles * LOCK_SAMPLE;
	counter[QUIRE_COUNTER_depot_lock_takes] =
		load_relaxed(&zone->depot.lock.takes);
	counter[QUIRE_COUNTER_depot_lock_contended] =
		load_relaxed(&zone->depot.lock.contended);
}

void zone_counters(struct quire_zone *zone, uint64_t counter[QUIRE_NR_COUNTERS])
{
	for (unsigned int i = 0; i < QUIRE_NR_COUNTERS; i++)
		counter[i] = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(kept); i++)
		counter[kept[i].counter] =
			load_relaxed(&zone->count[kept[i].count]);
	add_pages(zone, counter);
	add_locks(zone, counter);
	counter[QUIRE_COUNTER_zone_bypass] +=
		load_relaxed(&zone->percpu.nr_bypass);
	counter[QUIRE_COUNTER_zone_abort] =
		load_relaxed(&zone->percpu.nr_aborted);
	counter[QUIRE_COUNTER_pcp_fallback] = zone->percpu.mode_fell_back;
	decay_counts(&counter[QUIRE_COUNTER_thread_started],
		     &counter[QUIRE_COUNTER_thread_refused]);
}

/* Text */

/* "Node 0, zone   shard0      3      1 …" */
static void print_buddyinfo(struct quire_zone *zone, struct text *to)
{
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		struct buddy *buddy = &zone->buddies[i];

		text_add(to, "Node 0, zone %5s%-3u", "shard", i);
		gate_enter(zone, false);
		lock_take(&buddy->lock);
		for (unsigned int order = 0; order < NR_ORDERS; order++) {
			uint64_t nr = 0;

			for (unsigned int t = 0; t < NR_TYPES; t++)
				nr += buddy->free[order][t].nr;
			text_add(to, " %6lu", (unsigned long)nr);
		}
		lock_release(&buddy->lock);
		gate_leave(zone);
		text_add(to, "\n");
	}
}

static void print_free_by_type(struct quire_zone *zone, struct text *to)
{
	text_add(to, "Free pages count per migrate type at order ");
	for (unsigned int order = 0; order < NR_ORDERS; order++)
		text_add(to, "%6u ", order);
	text_add(to, "\n");
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		struct buddy *buddy = &zone->buddies[i];

		gate_enter(zone, false);
		lock_take(&buddy->lock);
		for (unsigned int t = 0; t < NR_TYPES; t++) {
			text_add(to, "Node    0, zone %5s%-3u, type %12s ",
				 "shard", i, type_names[t]);
			for (unsigned int n = 0; n < NR_ORDERS; n++)
				text_add(to, "%6lu ",
					 (unsigned long)buddy->free[n][t].nr);
			text_add(to, "\n");
		}
		lock_release(&buddy->lock);
		gate_leave(zone);
	}
}

static void count_blocks(const struct buddy *buddy, size_t nr[NR_TYPES])
{
	uint32_t last = (buddy->end - 1) >> BLOCK_ORDER;

	for (unsigned int t = 0; t < NR_TYPES; t++)
		nr[t] = 0;
	for (uint32_t at = buddy->start >> BLOCK_ORDER; at <= last; at++)
		nr[load_relaxed(&buddy->map->block_type[at])]++;
}

static void print_pagetypeinfo(struct quire_zone *zone, struct text *to)
{
	text_add(to, "Page block order: %u\nPages per block:  %u\n\n",
		 BLOCK_ORDER, BLOCK_PAGES);
	print_free_by_type(zone, to);
	text_add(to, "\nNumber of blocks type ");
	for (unsigned int t = 0; t < NR_TYPES; t++)
		text_add(to, "%12s ", type_names[t]);
	text_add(to, "\n");
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		size_t nr[NR_TYPES];

		count_blocks(&zone->buddies[i], nr);
		text_add(to, "Node 0, zone %5s%-3u ", "shard", i);
		for (unsigned int t = 0; t < NR_TYPES; t++)
			text_add(to, "%12lu ", (unsigned long)nr[t]);
		text_add(to, "\n");
	}
}

static void print_shard(struct quire_zone *zone, unsigned int i,
			struct text *to)
{
	struct buddy *buddy = &zone->buddies[i];

	text_add(to, "Node 0, zone %5s%-3u\n", "shard", i);
	text_add(to, "  pages free     %lu\n",
		 (unsigned long)load_relaxed(&buddy->free_pages));
	text_add(to, "        spanned  %u\n", buddy->end - buddy->start);
	text_add(to, "        isolated %lu\n",
		 (unsigned long)load_relaxed(&buddy->isolated_pages));
	text_add(to, "        fresh    %lu\n",
		 (unsigned long)load_relaxed(&buddy->fresh_pages));
}

static void print_watermarks(struct quire_zone *zone, struct text *to)
{
	text_add(to,
		 "  watermarks\n"
		 "        min      %zu\n"
		 "        low      %zu\n"
		 "        high     %zu\n"
		 "        managed  %zu\n",
		 zone->watermark_min, zone->watermark_low, zone->watermark_high,
		 zone->managed_pages);
	if (zone->flags & QUIRE_ZONE_POISON)
		text_add(to, "  pattern last found broken at 0x%lx\n",
			 (unsigned long)load_relaxed(&zone->poison_at));
}

static void print_pageset(struct quire_zone *zone, unsigned int cpu,
			  struct text *to)
{
	struct pcp_facts facts;

	pcp_describe(zone, cpu, &facts);
	text_add(to,
		 "    cpu: %u\n"
		 "              count:    %u\n"
		 "              high:     %u\n"
		 "              batch:    %u\n",
		 cpu, facts.count, facts.high, facts.batch);
}

static void print_zoneinfo(struct quire_zone *zone, struct text *to)
{
	for (unsigned int i = 0; i < zone->nr_buddies; i++)
		print_shard(zone, i, to);
	print_watermarks(zone, to);
	text_add(to, "  pagesets\n");
	for (unsigned int cpu = 0; cpu < pcp_nr_cpus(zone); cpu++)
		print_pageset(zone, cpu, to);
}

/* Linux's names for the first few, then ours, all of them. */
static void print_vmstat(struct quire_zone *zone, struct text *to)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	zone_counters(zone, counter);
	text_add(to, "nr_free_pages %lu\n",
		 (unsigned long)counter[QUIRE_COUNTER_pages_free]);
	text_add(to, "nr_isolated %lu\n",
		 (unsigned long)counter[QUIRE_COUNTER_pages_isolated]);
	text_add(to, "pgalloc_slow %lu\n",
		 (unsigned long)counter[QUIRE_COUNTER_zone_alloc_slow]);
	text_add(to, "pgfree_slow %lu\n",
		 (unsigned long)counter[QUIRE_COUNTER_zone_free_slow]);
	for (unsigned int i = QUIRE_COUNTER_pages_managed;
	     i < QUIRE_COUNTER_group_alive; i++)
		text_add(to, "%s %lu\n", stat_info(i)->name,
			 (unsigned long)counter[i]);
}

int zone_print(struct quire_zone *zone, enum quire_zone_text what, char *buf,
	       size_t len)
{
	static void (*const print[])(struct quire_zone *, struct text *) = {
		[QUIRE_ZONE_BUDDYINFO] = print_buddyinfo,
		[QUIRE_ZONE_PAGETYPEINFO] = print_pagetypeinfo,
		[QUIRE_ZONE_ZONEINFO] = print_zoneinfo,
		[QUIRE_ZONE_VMSTAT] = print_vmstat,
	};
	struct text to = { buf, len, 0 };

	print[what](zone, &to);
	return (int)to.length;
}
