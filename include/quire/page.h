/* SPDX-License-Identifier: MIT */
/*
 * Pages: a zone hands out blocks and ranges of pages, and takes them back.
 *
 *	zone ──> block   2^order pages, aligned to its own size, order 0 to 18
 *	    └──> range   any number of pages, any power-of-two alignment
 *
 * A block is freed whole, by its first address; the zone knows its order.  A
 * range is freed in any page-aligned parts.  The two do not mix: freeing a part
 * of a block, or a block by an address inside it, is an error that is seen.
 *
 * In front of the zone's free lists (a buddy allocator) each CPU has lists of
 * its own for orders 0 to 3 and 9, so that allocating and freeing take no lock,
 * make no system call and write nothing that another CPU writes.
 *
 * Unless a function says otherwise:
 *
 *   Sizes	Orders are exponents of two of pages; a page is 4096 bytes.
 *		Counts are pages where the name says pages, else blocks.
 *   Threads	Any thread may call anything at any time; what is allocated by
 *		one may be freed by another.  quire_zone_close must be last.
 *   Signals	Not for signal handlers, except quire_page_alloc and
 *		quire_block_alloc with QUIRE_ATOMIC, and quire_block_free_atomic:
 *		these never wait.  A handler may leave by siglongjmp only where
 *		`pcp` is rseq and the call was served by a CPU's own list;
 *		otherwise a lock may stay taken.
 *   Fork	A zone over private memory is the child's own copy, and goes on
 *		working there; pages that other threads of the parent were just
 *		being handed (at most one each) belong to nobody in the child.
 *		A zone over memory that both processes share
 *		(QUIRE_ZONE_SHARED), or that the child does not have, is offline
 *		in the child: allocating fails, freeing answers -ENXIO.
 *   Errors	Pointer functions return NULL and set errno; the others return 0
 *		or a negative errno and leave errno alone.  -EINVAL: arguments
 *		that can never be right.  Misuse that can be seen is an error,
 *		is counted, and changes nothing: -EFAULT: not an address of this
 *		zone, or not of a page; -EALREADY: free already; -EINVAL: inside
 *		a block, or a block freed as a range or the other way round.
 *   Ownership	What is allocated belongs to the caller until it is freed.
 *		Closing a zone ends all of it.
 */
#ifndef QUIRE_PAGE_H
#define QUIRE_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include <quire/region.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_zone;

#define QUIRE_MAX_ORDER 18 /* 1 GiB */

/*
 * Flags of an allocation.
 *   MOVABLE	its owner could give it up or move it: grouped apart, so that
 *		large blocks can form again
 *   ZERO	filled with zeros; what is still as the kernel gave it is not
 *		cleared
 *   ATOMIC	from a signal handler: never waits, may use the reserve
 */
#define QUIRE_MOVABLE (1u << 0)
#define QUIRE_ZERO    (1u << 1)
#define QUIRE_ATOMIC  (1u << 2)

/* How a CPU's own lists are protected. */
enum quire_pcp {
	QUIRE_PCP_AUTO, /* rseq where it works, else lock */
	QUIRE_PCP_RSEQ, /* restartable sequences: no lock, no atomic access */
	QUIRE_PCP_LOCK, /* a lock for each CPU, tried once */
	QUIRE_PCP_MASK, /* the same, with all signals blocked meanwhile */
	QUIRE_PCP_OFF,	/* no lists: every page by the zone's lock */
};

/* How a CPU's list is drained into the free lists. */
enum quire_drain {
	QUIRE_DRAIN_SINGLE,   /* one pass under the zone's lock */
	QUIRE_DRAIN_PICK,     /* pages are picked and checked before the lock */
	QUIRE_DRAIN_PREFETCH, /* and their neighbours' state is fetched */
};

/*
 * Flags of a zone.
 *   NO_DEPOT	batches never go from CPU to CPU past the free lists
 *   POISON	free pages are filled with a pattern, checked when handed out
 *   INIT_FREE	pages are cleared when they are freed; not with POISON
 *   SHARED	`memory` is shared with children; not with `decay_ms`
 *   STRICT	no fallback from the `pcp` asked for: open fails with
 *		-EOPNOTSUPP instead
 */
#define QUIRE_ZONE_NO_DEPOT  (1u << 0)
#define QUIRE_ZONE_POISON    (1u << 1)
#define QUIRE_ZONE_INIT_FREE (1u << 2)
#define QUIRE_ZONE_SHARED    (1u << 3)
#define QUIRE_ZONE_STRICT    (1u << 4)

/* A part of a zone that is not there, in bytes from the zone's start. */
struct quire_hole {
	size_t offset;
	size_t bytes;
};

/*
 * Set everything to 0 and `size` to sizeof(struct quire_zone_options), then
 * change what is wanted.
 *
 * The memory is one of
 *   region	a region or a page-aligned part of one; the zone keeps it busy
 *		(quire_region_close and release answer -EBUSY) until it is
 *		closed.  Regions of huge pages (HUGETLB) are never given back.
 *		It is taken to read as zeros unless it was a zone's before, so
 *		what was written to it must be discarded first.
 *   memory	the caller's, from a page-aligned address on; it must outlive the
 *		zone.  It is given back to the kernel by decay and trim only if
 *		`decay_ms` is set, and must then be private anonymous memory.
 *   neither	numbers only: addresses begin at 1 GiB, nothing is behind them,
 *		and nothing touches them.
 */
struct quire_zone_options {
	size_t size;
	struct quire_region *region;
	size_t region_offset; /* bytes; with region */
	void *memory;
	size_t bytes; /* of the zone; 0 with region: to its end */

	const struct quire_hole *holes; /* read during open only; in order */
	size_t nr_holes;

	uint32_t flags;	    /* QUIRE_ZONE_… */
	uint32_t pcp;	    /* enum quire_pcp */
	uint32_t drain;	    /* enum quire_drain */
	uint32_t nr_shards; /* free lists with locks of their own, each for a
			       part of the zone cut at powers of two, so there
			       may be fewer; 0: one; at most 64.  A range lies
			       in one */
	uint32_t high;	    /* pages that a CPU's list keeps; 0: tuned by use;
			       at most 8192 */
	uint32_t batch_scale_max; /* a list takes or gives at most batch << this
				     at once; 0: 5; 1 to 5 */
	uint32_t decay_ms; /* free for so long, memory goes back to the kernel;
			      0: 10 s with region and never with memory;
			      UINT32_MAX: never */
	uint32_t watermark_min_pages; /* below it only QUIRE_ATOMIC is served;
					 0: a thousandth, at most 4 MiB;
					 less than all */

	/*
	 * Called when memory runs low or out, by a thread that allocates
	 * without QUIRE_ATOMIC, with no lock held: may free pages to the zone.
	 * @nr_pages: how many would do.  Returns how many it freed.
	 */
	size_t (*reclaim)(void *arg, size_t nr_pages);
	void *reclaim_arg;
};

/*
 * quire_zone_open - a zone over the memory that @options names
 * Metadata is 13 bytes a page of address space, resident only for parts that
 * are in use.  -EINVAL: no size, not page-aligned, unknown option, holes that
 * overlap or are out of order; -EOVERFLOW: 16 TiB less 2 GiB, or more;
 * -ENOMEM; -EBUSY: the region's part is in use; -EOPNOTSUPP: see STRICT.
 */
int quire_zone_open(const struct quire_zone_options *options,
		    struct quire_zone **out);

/*
 * quire_zone_close - end the zone and everything in it
 * Pages that are still out are lost with it; the memory stays as it is, with
 * its owner.  Nobody may be inside any call for the zone.
 * Returns the number of pages that were still out, or -EBUSY: lists are
 * disabled, or a part is isolated.
 */
long quire_zone_close(struct quire_zone *zone);

/* The first byte of page 0, and bytes, holes included. */
void *quire_zone_address(const struct quire_zone *zone);
size_t quire_zone_size(const struct quire_zone *zone);

/*
 * quire_page_alloc / quire_block_alloc - one page; 2^order pages
 * @flags: QUIRE_MOVABLE, QUIRE_ZERO, QUIRE_ATOMIC
 * When the CPU's list and the free lists have none, other CPUs' lists are
 * drained, then `reclaim` is called, and only then it fails: ENOMEM.
 * EINVAL: order above QUIRE_MAX_ORDER, unknown flag, QUIRE_ZERO in a zone
 * without memory; ENXIO: offline.
 */
void *quire_page_alloc(struct quire_zone *zone, unsigned int flags);
void *quire_block_alloc(struct quire_zone *zone, unsigned int order,
			unsigned int flags);

/*
 * quire_block_free - a page or a block, whole, by its first address
 * -EALREADY, -EFAULT, -EINVAL as said above; two threads that free the same
 * block in the same instant are both told 0, and the second is found and
 * counted (misuse) when the CPU's list is drained.
 */
int quire_block_free(struct quire_zone *zone, void *block);
/* The same from a signal handler: never waits. */
int quire_block_free_atomic(struct quire_zone *zone, void *block);

/*
 * quire_block_alloc_bulk - up to @nr blocks into @blocks
 * Returns how many were written, from blocks[0] on; the rest of @blocks is left
 * as it was and need not be cleared before.  Fewer than @nr is no error.  0
 * only after everything that quire_block_alloc would try was tried for one.
 * errno is set as there when fewer than @nr are returned.
 */
size_t quire_block_alloc_bulk(struct quire_zone *zone, unsigned int order,
			      unsigned int flags, size_t nr, void **blocks);
/*
 * quire_block_fill - a block for every NULL of @blocks[0 … nr - 1]
 * Returns how many entries, from the first on, are not NULL now.
 */
size_t quire_block_fill(struct quire_zone *zone, unsigned int order,
			unsigned int flags, size_t nr, void **blocks);
/*
 * quire_block_free_bulk - free @nr blocks of any order
 * NULLs are skipped.  Returns 0, or the first error; the others are freed all
 * the same.
 */
int quire_block_free_bulk(struct quire_zone *zone, size_t nr, void **blocks);

/*
 * quire_block_free_many - free a big batch by several threads
 * @work: as for regions, but progress is told numbers of blocks, not of bytes;
 * workers 0: as many as there are shards, CPUs that are free, and as help.
 * Below 16384 blocks the caller does it alone.  Each shard is freed by one
 * thread, so that they never wait for the same lock.  NULLs are skipped.  The
 * order of @blocks is changed, and what was freed is NULL in it; so what is not
 * was refused, or (-ECANCELED) was not come to.  Returns 0, -ECANCELED, or one
 * of the errors; work->bytes_done are those that were freed.
 */
int quire_block_free_many(struct quire_zone *zone, size_t nr, void **blocks,
			  struct quire_work *work);

/*
 * quire_range_alloc - @nr_pages pages in a row
 * @align: of the address, in bytes; a power of two; at least 4096, or 0
 * Found wherever it fits, by search if need be.  EINVAL: 0 pages, an alignment
 * that is none; ENOMEM.
 */
void *quire_range_alloc(struct quire_zone *zone, size_t nr_pages, size_t align,
			unsigned int flags);
/* quire_range_free - any page-aligned part of ranges; all or nothing */
int quire_range_free(struct quire_zone *zone, void *address, size_t nr_pages);

/*
 * quire_zone_drain - the pages of CPUs' lists (@cpu; -1: all CPUs, and the
 * depot) go to the free lists, where they merge.  Returns pages drained.
 */
long quire_zone_drain(struct quire_zone *zone, int cpu);
/*
 * quire_zone_pcp_disable / enable - no page in any CPU's list, from the return
 * of disable to enable; calls nest.  Allocating goes on, by the zone's lock.
 */
int quire_zone_pcp_disable(struct quire_zone *zone);
int quire_zone_pcp_enable(struct quire_zone *zone);

/*
 * quire_zone_isolate - hand out nothing more of a part
 * @address, @bytes: multiples of 2 MiB of address
 * What is free of it is out of reach; what is freed later becomes so too.
 * Returns 0 when all of it is free, else how many pages are still out: call
 * again with the same part to look again (which also finds pages whose free had
 * begun before the first call and ended in a CPU's list after it).  -EBUSY: a
 * part of it is isolated already, and another is not; -EFAULT: not all of it is
 * the zone's.
 * Unisolate: what is in it may be handed out again, as movable at first.
 */
long quire_zone_isolate(struct quire_zone *zone, void *address, size_t bytes);
int quire_zone_unisolate(struct quire_zone *zone, void *address, size_t bytes);

/*
 * quire_zone_trim - give free memory back to the kernel now
 * In whole 2 MiB that are free; at most until @keep_bytes of free memory are
 * left resident.  Returns bytes given back.
 * quire_trim - the same with all zones, keeping nothing.
 */
size_t quire_zone_trim(struct quire_zone *zone, size_t keep_bytes);
size_t quire_trim(void);

/* What is in force, and how it stands.  Exact when nobody is inside a call. */
struct quire_zone_facts {
	size_t size;	/* set by the caller */
	uint32_t pcp;	/* enum quire_pcp, never AUTO */
	uint32_t drain; /* enum quire_drain */
	uint32_t nr_shards;
	uint32_t offline;      /* 1: in a child that does not share it */
	size_t managed_pages;  /* without holes */
	size_t free_pages;     /* in the free lists, isolated ones included */
	size_t isolated_pages; /* of these */
	size_t pcp_pages;      /* in CPUs' lists */
	size_t depot_pages;    /* in batches between CPUs; deferred frees */
	size_t used_pages;     /* out: managed less all of the above */
	size_t fresh_pages;    /* of the free, as the kernel gives them */
	size_t watermark_min, watermark_low, watermark_high; /* pages */
	size_t metadata_bytes; /* address space of our own */
};
int quire_zone_describe(struct quire_zone *zone, struct quire_zone_facts *out);

enum quire_zone_text {
	QUIRE_ZONE_BUDDYINFO,	 /* free blocks by order */
	QUIRE_ZONE_PAGETYPEINFO, /* by migratetype and order */
	QUIRE_ZONE_ZONEINFO,	 /* watermarks, and each CPU's lists */
	QUIRE_ZONE_VMSTAT,	 /* counters, one a line */
};
/*
 * quire_zone_print - in the shape of the files of /proc of these names
 * Returns the length that the whole text has, like snprintf.
 */
int quire_zone_print(struct quire_zone *zone, enum quire_zone_text what,
		     char *buf, size_t len);

/* quire_zone_counters - as quire_region_counters, for one zone */
void quire_zone_counters(struct quire_zone *zone,
			 uint64_t counter[QUIRE_NR_COUNTERS]);

/* quire_zone_check - walk everything; panics where something is broken */
void quire_zone_check(struct quire_zone *zone);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_PAGE_H */
