/* SPDX-License-Identifier: MIT */
/*
 * A zone: pages, from CPUs' lists down to the memory behind them.
 *
 *	alloc ── own CPU's list ──┐ empty			   ┌── free
 *	                          │				   │
 *	       refill (pcp.c) <───┴─ depot ── shards (buddy) <─── drain (pcp.c)
 *				      │		  │		   │ full
 *				      └ batches	  └ give back to the kernel
 *						    after a decay (decay.c)
 *
 * [Z1] Every page of the zone is in exactly one place: a shard's free lists, a
 *	CPU's list, the depot, the deferred list, lent (LENT), or out.  The
 *	numbers of these add up to managed_pages whenever nobody is inside.
 * [Z2] No thread waits while it holds a page that is none of these, except
 *	inside the gate; so fork, which closes the gate, finds at most the one
 *	page of each other thread that was between two places on the fast path.
 * [Z3] The fast path (page/fast.h) takes no lock, makes no call, and writes one
 *	state byte and its own CPU's list.  Whatever it cannot serve, it leaves
 *	as it was for the slow path: modes other than rseq, careful zones
 *	(poison, clear at free) and orders without a list see list 0, which is
 *	never open.
 * [Z4] Nothing is held over reclaim, over a call to the kernel that gives
 *	memory back, or over waiting for another CPU's section, but the drain
 *	lock (over the last).
 *
 * Whoever takes a lock of a zone (drain, shards, depot) is inside its gate, or
 * holds the lent lock (lend.c): fork counts on it.
 *
 * Lock order: RANK_ZONES > RANK_DECAY > RANK_LENT > RANK_DRAIN > RANK_ZONE
 * (shards), RANK_DEPOT; shard and depot locks are never held together.
 */
#ifndef PAGE_ZONE_H
#define PAGE_ZONE_H

#include <quire/page.h>

#include "base/list.h"
#include "os/lock.h"
#include "region/area.h"
#include "page/depot.h"
#include "page/memmap.h"
#include "page/buddy.h"
#include "page/tune.h"
#include "percpu/percpu.h"

/* Orders that CPUs' lists hold: 0 … 3 and 9.  One list per order and type. */
#define PCP_MAX_ORDER 9
#define NR_PCP_ORDERS 5
#define NR_PCP_LISTS  (1 + NR_PCP_ORDERS * NR_PCP_TYPES) /* list 0: closed */
#define PCP_RING      8192u /* entries of an order-0 list */

/* NR_TYPES, but a power of two: an index is a shift. */
#define FAST_TYPES 4

enum zone_backing {
	BACKING_NONE,
	BACKING_MEMORY,
	BACKING_REGION,
};

/* Counters that have no other home; see counters.def for the names. */
enum zone_count {
	ZONE_COUNT_ALLOC_SLOW, /* fast path could not */
	ZONE_COUNT_FREE_SLOW,
	ZONE_COUNT_REFILL,
	ZONE_COUNT_DRAIN,
	ZONE_COUNT_DRAIN_REMOTE,
	ZONE_COUNT_BYPASS,
	ZONE_COUNT_DEFERRED,
	ZONE_COUNT_RECLAIM,
	ZONE_COUNT_FAILED,
	ZONE_COUNT_MISUSE,
	ZONE_COUNT_DEPOT_GET,
	ZONE_COUNT_DEPOT_PUT,
	ZONE_COUNT_DISCARDED,	   /* pages */
	ZONE_COUNT_DISCARD_FAILED, /* calls */
	ZONE_COUNT_CLEARED,	   /* pages */
	ZONE_COUNT_POISON,	   /* blocks withheld: written to after free */
	ZONE_NR_COUNTS,
};

struct quire_zone {
	/* const after open: all that the fast path reads */
	char *base;	/* address of page 0 */
	uint64_t end;	/* pages; addresses from there on are not ours */
	uint8_t *state; /* memmap.state */
	const uint8_t *block_type; /* memmap.block_type */
	struct percpu percpu;
	/* Offset in a CPU's stride of the list for [order][type]; list 0's
	 * where the fast path must not. */
	uint32_t fast[PCP_MAX_ORDER + 1][FAST_TYPES];

	/* const after open */
	uint32_t slow[PCP_MAX_ORDER + 1]
		     [NR_TYPES]; /* the same for the slow path */
	struct memmap map;
	enum zone_backing backing;
	struct quire_region *region;
	size_t region_offset, region_bytes;
	struct claim region_claim; /* keeps it from being released */
	unsigned int flags;	   /* QUIRE_ZONE_… */
	enum quire_drain drain_mode;
	uint64_t decay_ms; /* UINT64_MAX: never */
	bool may_discard;  /* trim and decay: a region that is not HUGETLB, or
			      the caller's memory with decay_ms set */
	size_t managed_pages;
	size_t watermark_min, watermark_low, watermark_high;
	struct tune tune; /* what a list begins with */
	size_t (*reclaim)(void *arg, size_t nr_pages);
	void *reclaim_arg;
	struct buddy *buddies;
	unsigned int nr_buddies;
	unsigned int buddy_shift; /* a shard ends where these bits of a page
				     number are 0 */
	uint32_t buddy_first;	  /* map.start >> buddy_shift */
	struct depot depot;
	size_t metadata_bytes;

	/* zones lock (registry) */
	struct list link;
	/* the same, over a fork: what was put off before, and whether lists
	 * could not be closed */
	uint32_t fork_deferred, fork_nr_deferred;
	bool fork_torn;
	uint32_t pins; /* futex: threads that trim all zones are at it */

	/* decay lock (decay.c) */
	struct list decay_link;
	uint32_t decay_visits; /* futex: threads that look at it */
	bool decay_closing;
	uint64_t decay_looked_ms; /* when the tick moved last; who looks */
	uint32_t decay_quiet; /* looks in a row that found nothing; the same */

	/* drain lock: closing slots, disabling, isolating; [C1] one at a time
	 */
	struct lock drain_lock; /* RANK_DRAIN */
	unsigned int nr_disabled;
	uint32_t nr_isolated; /* pageblocks; read under shard locks, too */

	/* atomic */
	uint32_t gate;	  /* threads in the slow path; top bit: a fork waits */
	uint32_t offline; /* 1: a child that does not share it */
	uint32_t forked;  /* 1: a child: pages of lost threads are nowhere */
	uint32_t
		deferred; /* first page freed by a handler that could go nowhere
			     else, linked by page[].next; NO_PAGE: none */
	uint32_t nr_deferred;
	uint32_t reclaiming; /* threads in reclaim: TUNE_RECLAIM_ACTIVE */
	/* what the helper thread moves by itself, so that numbers are exact for
	 * those who know nothing of it: see zone_describe */
	uint32_t moving, moves;
	size_t lent_pages;     /* on their way to the kernel and back */
	uint32_t decay_wanted; /* something in it may be given back some time */
	uint64_t poison_at; /* address where a pattern was last found broken */
	uint64_t count[ZONE_NR_COUNTS]; /* relaxed: statistics */
} __attribute__((aligned(64)));

/* ---- the fast path (page/fast.h) is inline, for the API and for tests ---- */

/* ---- zone.c: open, close, registry, numbers ---- */
int zone_open(const struct quire_zone_options *options,
	      struct quire_zone **out);
long zone_close(struct quire_zone *zone);
struct buddy *zone_buddy(const struct quire_zone *zone, uint32_t page);
size_t zone_free_pages(const struct quire_zone *zone); /* all shards: a hint */
enum tune_zone zone_state(const struct quire_zone *zone);
void zone_count(struct quire_zone *zone, enum zone_count what, uint64_t n);
/* Every zone of the process, under the zones lock. */
void zones_each(void (*each)(struct quire_zone *zone, void *arg), void *arg);
/* What zone_trim gives back of all of them, keeping nothing. */
size_t zones_trim(void);
/* For fork, which holds the lock longer: the lock, and the list of links. */
struct lock *zones_lock(void);
struct list *zones_all(void);

/* ---- gate: who is in the slow path [Z2]; nests; never waits with @atomic
 * (false: a fork is waiting, do with what needs no gate) ---- */
bool gate_enter(struct quire_zone *zone, bool atomic);
void gate_leave(struct quire_zone *zone);
/* How often this thread is inside, of any zone: a handler that forks may have
 * interrupted the slow path. */
unsigned int gate_depth(void);
/* zone_fork.c: set in zone->gate while a fork waits or is under way; whoever
 * waits for it sleeps on the word, whoever leaves last wakes the fork. */
#define GATE_CLOSED (1u << 31)

/* ---- alloc.c, free.c: what the fast path could not do ---- */
/* A block, state HEAD | order; NO_PAGE: none. */
uint32_t zone_alloc_slow(struct quire_zone *zone, unsigned int order,
			 unsigned int flags);
int zone_free_slow(struct quire_zone *zone, uint64_t page, bool atomic);
size_t zone_alloc_bulk(struct quire_zone *zone, unsigned int order,
		       unsigned int flags, size_t nr, void **blocks);
int zone_free_bulk(struct quire_zone *zone, size_t nr, void **blocks);

/* ---- pcp.c: between CPUs' lists, the depot and the shards ---- */
/* Fill the list of this CPU; returns one page of it for the caller. */
uint32_t pcp_refill(struct quire_zone *zone, unsigned int order,
		    enum migratetype type, bool atomic);
/* Make room in the list of this CPU. */
void pcp_drain_full(struct quire_zone *zone, unsigned int order,
		    enum migratetype type);
long pcp_drain_cpu(struct quire_zone *zone, unsigned int cpu);
long pcp_drain_all(struct quire_zone *zone);
int pcp_disable(struct quire_zone *zone);
int pcp_enable(struct quire_zone *zone);
/* One step of decay for all CPUs, idle ones too (spec A11). */
void pcp_decay(struct quire_zone *zone);
size_t pcp_count(const struct quire_zone *zone); /* pages: a hint */
/* One CPU's lists, of all orders: what they hold, may hold, and take at once,
 * in pages; hints. */
struct pcp_facts {
	uint32_t count, high, batch;
};
void pcp_describe(const struct quire_zone *zone, unsigned int cpu,
		  struct pcp_facts *out);

/* ---- range.c, isolate.c ---- */
uint32_t zone_alloc_range(struct quire_zone *zone, size_t nr, size_t align,
			  unsigned int flags);
int zone_free_range(struct quire_zone *zone, uint64_t page, size_t nr);
long zone_isolate(struct quire_zone *zone, uint64_t page, size_t nr);
int zone_unisolate(struct quire_zone *zone, uint64_t page, size_t nr);

/* ---- many.c: a big batch by several threads ---- */
int zone_free_many(struct quire_zone *zone, size_t nr, void **blocks,
		   struct quire_work *work);

/* ---- decay.c: memory back to the kernel, and the thread that does it ---- */
/* Pages given back. */
size_t zone_trim(struct quire_zone *zone, size_t keep_pages);
/* No lock held, for these three.  closing returns when no helper is in it. */
void decay_zone_opened(struct quire_zone *zone);
void decay_zone_closing(struct quire_zone *zone);
/* A block of BLOCK_ORDER or more became free and dirty; not from handlers.
 * Two loads when that is known already. */
void decay_wanted(struct quire_zone *zone);
/* For the slow path, no lock held, not from handlers: where there is no helper
 * thread, looks by the clock.  One load otherwise. */
void decay_poll(void);
/* One look at all zones; returns ms until the next is due, UINT64_MAX: when
 * something is wanted. */
uint64_t decay_look(uint64_t now_ms);
/*
 * Before an allocation fails: is memory of the zone lent, on its way to the
 * kernel and back?  Then waits until some of it is there again, and the caller
 * tries again.  No lock held, not from handlers.
 */
bool decay_wait(struct quire_zone *zone);
/* Pages that nobody else can reach: to the kernel; they read as zeros then.
 * 0 or a negative errno: -EBUSY where some are registered. */
int zone_discard(struct quire_zone *zone, uint32_t page, size_t nr);
/* Times that the helper thread was started, and that it could not be. */
void decay_counts(uint64_t *nr_started, uint64_t *nr_refused);
/* Around fork; prepare after the zones lock and before drain locks. */
void decay_fork_prepare(void);
void decay_fork_parent(void);
void decay_fork_child(void);

/* ---- content.c: zeros and poison; pages are the caller's.  Fresh bits are
 * read here, so they stand until the block is handed out, and are cleared
 * then at the latest: a page that is CACHED or HEAD has no fresh bit. ---- */
void zone_clear(struct quire_zone *zone, uint32_t page, unsigned int order,
		bool was_fresh);
void zone_poison(struct quire_zone *zone, uint32_t page, unsigned int order);
bool zone_poison_stands(struct quire_zone *zone, uint32_t page,
			unsigned int order);

/* ---- info.c, check.c ---- */
int zone_describe(struct quire_zone *zone, struct quire_zone_facts *out);
int zone_print(struct quire_zone *zone, enum quire_zone_text what, char *buf,
	       size_t len);
void zone_counters(struct quire_zone *zone,
		   uint64_t counter[QUIRE_NR_COUNTERS]);
void zone_check(struct quire_zone *zone);

/* ---- zone_fork.c: registered once, when the first zone opens ---- */
int zone_at_fork(void);

#endif /* PAGE_ZONE_H */
