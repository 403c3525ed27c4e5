/* SPDX-License-Identifier: MIT */
/*
 * The parts of the slow path, to each other.
 *
 *	alloc.c, free.c, bulk.c, range.c     what a caller wants
 *	    │          │
 *	    │      pcp.c, closed.c, plan.c   CPUs' lists, own and closed ones
 *	    │          │
 *	    └────── shards.c                 free lists, with their locks
 *
 * All but the pure and the hints are called inside the gate.
 */
#ifndef PAGE_SLOW_H
#define PAGE_SLOW_H

#include "page/zone.h"

/* Blocks that move under one hold of a lock, at the most. */
#define CHUNK 64u
/* What buddy_take_pages_locked may give more. */
#define CHUNK_ROOM (CHUNK + CLUSTER_PAGES)

/* ---- zone.c ---- */
/* Free pages that may be handed out: a hint. */
size_t zone_usable_pages(const struct quire_zone *zone);

/* ---- shards.c ---- */
/* The first page of the block, hole or range page that @page lies in, or
 * NO_PAGE.  Without the lock a hint. */
uint32_t slow_head(const struct quire_zone *zone, uint32_t page);
/* Why a page cannot be freed as @kind (HEAD, RANGE); 0: it can, or could a
 * moment ago. */
int slow_misuse(const struct quire_zone *zone, uint64_t page,
		enum state_kind kind);

/* The @nr-th shard, counted from the one that this CPU prefers. */
struct buddy *shards_near(const struct quire_zone *zone, unsigned int nr);
/* True: its lock is ours; @atomic: tried once. */
bool shards_lock(struct buddy *buddy, bool atomic);

/*
 * A block from any shard, CACHED or CACHED_FRESH; or LENT with @keep where a
 * part of it is fresh: its fresh bits stand, see shards_forget_fresh.  NO_PAGE.
 */
uint32_t shards_take(struct quire_zone *zone, unsigned int order,
		     enum migratetype type, bool atomic, bool keep);
/* About @nr of them from one shard, into @out (CHUNK_ROOM); how many. */
uint32_t shards_take_batch(struct quire_zone *zone, unsigned int order,
			   enum migratetype type, bool atomic, uint32_t nr,
			   uint32_t *out);
void shards_forget_fresh(struct quire_zone *zone, uint32_t page, size_t nr);

/* Is it CACHED as a block of @order, all of it?  Counted as misuse if not. */
bool shards_is_cached(struct quire_zone *zone, uint32_t page,
		      unsigned int order);
/* CACHED ones back, as they come, by at most CHUNK a hold.  @pages is used up.
 * Those that are not CACHED are dropped and counted (spec I-A4, A7). */
void shards_give_batch(struct quire_zone *zone, unsigned int order,
		       uint32_t *pages, uint32_t nr);
/* The same for one, from handlers; false: the lock is taken. */
bool shards_try_give(struct quire_zone *zone, uint32_t page,
		     unsigned int order);
/* The same for those whose shard's lock the caller holds. */
void shards_give_cached_locked(struct quire_zone *zone, struct buddy *buddy,
			       uint32_t page, unsigned int order);
/* A block that is HEAD; -EALREADY: it is not any more, -EAGAIN: @atomic and
 * the lock is taken. */
int shards_give_head(struct quire_zone *zone, uint32_t page, unsigned int order,
		     bool atomic);
/* Whole blocks in their places, cut where a part of them is isolated. */
void shards_give_run_locked(struct quire_zone *zone, struct buddy *buddy,
			    uint32_t page, size_t nr);
/* A block of 2 MiB or more may have become free.  Outside the gate: may start a
 * thread. */
void shards_tell_decay(struct quire_zone *zone);

/* ---- free.c: the deferred list ---- */
/* A block of nobody; its state becomes CACHED unless it is CACHED_FRESH.  Never
 * waits, needs no gate. */
void deferred_add(struct quire_zone *zone, uint32_t page, unsigned int order);
/* All of it to the shards; @atomic: what can go without waiting.  A load where
 * there is nothing. */
void deferred_flush(struct quire_zone *zone, bool atomic);

/* ---- alloc.c ---- */
/* May @nr pages be taken from the free lists (watermarks)? */
bool alloc_may_take(const struct quire_zone *zone, size_t nr, bool atomic);
/*
 * When the free lists have not enough for @nr pages: does what may help, one
 * thing a call, *step counting from 0, with no gate entered.  False: nothing
 * is left to try.
 */
bool alloc_help(struct quire_zone *zone, size_t nr, unsigned int *step);
/* After the slow path has taken pages: is it time to reclaim, to decay? */
void alloc_look_after(struct quire_zone *zone, unsigned int flags);
/* What is found, made ready for its owner; false: poisoned, withheld. */
bool alloc_hand_out(struct quire_zone *zone, uint32_t page, unsigned int order,
		    unsigned int flags);

/* ---- plan.c: what a list should take, keep and give ---- */
int pcp_open(struct quire_zone *zone, const struct quire_zone_options *options);
/* In the build for one CPU both are constant, so that whatever stands behind
 * them is dropped by the compiler (spec A.9). */
static inline bool pcp_has_list(const struct quire_zone *zone,
				unsigned int order, enum migratetype type)
{
	return !CONFIG_UP && order <= PCP_MAX_ORDER &&
	       zone->slow[order][type] !=
		       zone->percpu.offset[PERCPU_CLOSED_LIST];
}

static inline unsigned int pcp_nr_cpus(const struct quire_zone *zone)
{
	return CONFIG_UP ? 0 : zone->percpu.nr_cpus;
}

/* What list @list of NR_PCP_LISTS holds; 0 is none. */
unsigned int pcp_list_order(unsigned int list);
void plan_load(const struct slot *slot, struct tune *tune);
/* Blocks to take for an empty list, to give from a full one. */
uint32_t plan_refill(struct quire_zone *zone, struct slot *slot,
		     unsigned int order);
uint32_t plan_drain(struct quire_zone *zone, struct slot *slot,
		    unsigned int order);
/* After either: how many it has now. */
void plan_settle(struct slot *slot);
/* lock and mask modes, after each allocation, each free; blocks to give. */
void plan_note_alloc(struct quire_zone *zone, uint32_t offset);
uint32_t plan_note_free(struct quire_zone *zone, uint32_t offset,
			unsigned int order);
/* One step of decay; blocks to give, of a list that nobody used since. */
uint32_t plan_decay(struct slot *slot, unsigned int order);
/* Blocks under one hold. */
uint32_t plan_chunk(const struct quire_zone *zone, unsigned int order);

/* ---- pcp.c ---- */
/* @nr blocks of this CPU's list of @order and @type, by the mode of the zone.
 */
void pcp_drain_own(struct quire_zone *zone, unsigned int order,
		   enum migratetype type, uint32_t nr);
/* Whatever is in the depot. */
size_t pcp_drain_depot(struct quire_zone *zone, unsigned int magazines);

#endif /* PAGE_SLOW_H */
