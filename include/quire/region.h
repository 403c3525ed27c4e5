/* SPDX-License-Identifier: MIT */
/*
 * Regions: big memory that is populated, discarded and released by range, and
 * by several threads where that helps.
 *
 *	open ──> address space, no memory behind it
 *	populate(range) ──> memory, all of it now, or an error and no signal
 *	discard(range) ──> no memory, still the region's: reads as zeros
 *	release(range) ──> no memory, no addresses: the range is gone
 *	close ──> whatever is left is released
 *
 * A range is `offset` and `bytes`, both in bytes, both multiples of
 * quire_region_page_size().  A range of 0 bytes inside the region is allowed
 * everywhere and does nothing.  Ranges can be released in any order and in any
 * parts; what was released is not part of the region any more, and touching it
 * is the caller's mistake, as after munmap.
 *
 * Unless a function says otherwise:
 *
 *   Threads	Any thread may call anything at any time, for the same region
 *		too; only quire_region_close must be the last call.  Ranges that
 *		another call is working on are refused with -EBUSY where the two
 *		cannot go together: a release goes with nothing else, populate
 *		and discard go with each other.
 *   Signals	Not for signal handlers.  Helper threads block all signals.
 *   Fork	The child has a copy of the region, except where options say
 *		that it is not inherited: there every call but close answers
 *		-ENXIO.  Helper threads do not exist in the child and are
 *		started again when something needs them.  A release that was
 *		started and not finished is finished in the child by whoever
 *		waits for it there, or by the child's first helper thread; one
 *		that another thread of the parent was waiting in is called off:
 *		the range still belongs to the child's region, and reads as
 *		zeros or as it did.  The parent notices nothing.
 *   Errors	0 or a negative errno.  `errno` is left alone.  Results are
 *		written only as said.  -EINVAL: a range that is not
 *		page-aligned, is not inside the region or has a released part in
 *		it; an option that is not known.  -EBUSY: see above, and
 *		quire_region_register.
 *   Ownership	Handles belong to the caller until the function that ends them.
 */
#ifndef QUIRE_REGION_H
#define QUIRE_REGION_H

#include <stddef.h>
#include <stdint.h>

#include <quire/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_region;
struct quire_release;

enum quire_pages {
	QUIRE_PAGES_4K,		/* never huge: MADV_NOHUGEPAGE */
	QUIRE_PAGES_THP,	/* transparent huge pages wanted, 4 KiB where
				   the kernel has none; ranges by 4 KiB */
	QUIRE_PAGES_HUGETLB_2M, /* from the machine's pool; ranges by 2 MiB */
};

enum quire_numa {
	QUIRE_NUMA_LOCAL,      /* the node of whoever touches first */
	QUIRE_NUMA_INTERLEAVE, /* over the nodes of the mask, or over all */
	QUIRE_NUMA_BIND,       /* on the nodes of the mask only */
};

/* Leave the region out of core dumps. */
#define QUIRE_REGION_NO_DUMP (1u << 0)
/* A forked child does not have the region.  Always so for HUGETLB pages, whose
 * copying in a child could end it with SIGBUS, unless QUIRE_REGION_FORK. */
#define QUIRE_REGION_NO_FORK (1u << 1)
#define QUIRE_REGION_FORK    (1u << 2)
/* All of it is registered from the start, see quire_region_register. */
#define QUIRE_REGION_REGISTERED (1u << 3)
/*
 * No fallbacks.  Without this flag, THP is used where the pool of huge pages is
 * too small, and a NUMA policy, THP, NO_DUMP or NO_FORK that the system refuses
 * is done without; each is counted (region_fallback) and shown by
 * quire_region_describe.  With it, open fails instead.
 */
#define QUIRE_REGION_STRICT (1u << 4)
/* Do not look at memory limits before populating. */
#define QUIRE_REGION_NO_LIMIT (1u << 5)

/*
 * Set everything to 0 and `size` to sizeof(struct quire_region_options), then
 * change what is wanted.
 */
struct quire_region_options {
	size_t size;
	uint32_t pages;		   /* enum quire_pages */
	uint32_t numa;		   /* enum quire_numa */
	uint32_t flags;		   /* QUIRE_REGION_… */
	uint32_t headroom_percent; /* of the tightest memory limit (control
				   groups and machine) that populating must
				   leave; 0: 5.  At most 100. */
	const uint64_t *nodes;	   /* bit n of word n / 64: memory node n; read
				      during open only */
	size_t nr_nodes; /* bits of `nodes` that are valid; at most 1024 */
};

/*
 * quire_region_open - reserve @bytes of address space
 * @bytes: at least 1; rounded up to the page size of the region and not more
 * @options: NULL for all zeros
 * @out: written on success; ends with quire_region_close
 *
 * Nothing is resident yet.  Address space of 4K and THP pages is not charged
 * unless the system forbids overcommitting; HUGETLB pages are set aside in the
 * pool now, so that touching them later cannot raise SIGBUS for want of pages.
 * From 2 MiB on, THP regions start at a multiple of 2 MiB.
 *
 * -ENOMEM: no address space (ulimit -v), overcommit forbidden, or (STRICT) pool
 * too small; -EINVAL: 0 bytes, unknown option, a mask that is missing or empty
 * with BIND; -EOVERFLOW: a size that does not fit; STRICT only, as the kernel
 * says: -EPERM, -ENOSYS, -EINVAL and others for what it refuses.
 */
int quire_region_open(size_t bytes, const struct quire_region_options *options,
		      struct quire_region **out);

/*
 * quire_region_close - release what is left and end the handle
 * Does not wait for releases that were started; they hold nothing of the
 * caller's and go on by themselves.  Caller alone; for the rest as
 * quire_region_release.  In a child that did not inherit the region it frees
 * the handle only.
 * -EBUSY: a range is registered or another call is in it; nothing is changed.
 * -ENOMEM: the kernel has too many mappings to cut one; the memory is gone all
 * the same, the addresses and the handle stay, and closing can be tried again.
 */
int quire_region_close(struct quire_region *region);

/* The first byte; bytes as rounded up by open; the unit of ranges. Signal-safe.
 */
void *quire_region_address(const struct quire_region *region);
size_t quire_region_size(const struct quire_region *region);
size_t quire_region_page_size(const struct quire_region *region);

/* What is in force, after fallbacks; nothing else about it can change. */
struct quire_region_facts {
	size_t size;		 /* set by the caller: sizeof of this struct */
	uint32_t pages;		 /* enum quire_pages */
	uint32_t numa;		 /* enum quire_numa */
	uint32_t flags;		 /* QUIRE_REGION_… */
	uint32_t nr_fallbacks;	 /* wishes that were not granted */
	size_t bytes_left;	 /* not released yet */
	size_t bytes_registered; /* ranges that overlap are counted twice */
	size_t nr_releases;	 /* started and not finished */
};
/* -EINVAL: out->size is not known.  For all regions, also not inherited ones.
 */
int quire_region_describe(struct quire_region *region,
			  struct quire_region_facts *out);

/*
 * Called by the thread that called populate (or discard, or release), between
 * two parts of its own work, with no lock held: it may call anything but
 * functions for the same range.
 * @bytes_done: finished by all threads so far; @bytes: of the whole range
 * Non-zero ends the call early with -ECANCELED.  Called once more when all is
 * done, with @bytes_done == @bytes; then the result does not matter.  Not
 * called where the work is too small to be cut.  Must not be left by longjmp.
 */
typedef int (*quire_progress_fn)(size_t bytes_done, size_t bytes, void *arg);

/*
 * How a call is to be done, and how it was done.  A NULL stands for all zeros
 * and nobody who wants to know.
 */
struct quire_work {
	size_t size; /* set by the caller: sizeof(struct quire_work) */
	/* in */
	quire_progress_fn progress; /* or NULL */
	void *arg;
	uint32_t workers; /* threads at most, the caller included; 1: the
			     caller alone; 0: quire chooses.  Never more
			     than 8, than CPUs that this thread may use,
			     or than are worth it, and fewer while others
			     keep CPUs busy. */
	/* out: written on failure too, but not when @size is not known */
	uint32_t workers_used; /* threads that did at least one part */
	size_t bytes_done;     /* from the start of the range: all of this is
				  done; more may be, behind it */
	size_t nr_slices;      /* parts that it was cut into; 0: below the size
				  from which cutting is worth it */
	size_t nr_helped;      /* of these, done by helper threads */
	uint64_t cpu_ns;       /* CPU time of all threads that took part, so
				  that it can be charged to whoever asked */
};

/*
 * quire_region_populate - memory behind the whole range, ready to write
 * What is there already keeps its content.  Returns when all of it is done.
 *
 * Before anything is done, what the range still lacks is compared with the
 * tightest memory limit of the process: -ENOMEM, with nothing populated, when
 * less than the headroom would be left (a process that goes over a control
 * group's limit is killed, not refused).  This is a look, not a promise: others
 * may take the memory meanwhile.
 *
 * On a kernel without MADV_POPULATE_WRITE pages are touched one by one
 * (counted: region_touched); HUGETLB pages then cannot be populated safely:
 * -EOPNOTSUPP.  -ENOMEM: no memory, or no page left in the pool; -ECANCELED;
 * -EFAULT, -EHWPOISON: as the kernel says.  After an error work->bytes_done
 * from the start of the range are populated, and perhaps more behind them;
 * discard gives that back.
 */
int quire_region_populate(struct quire_region *region, size_t offset,
			  size_t bytes, struct quire_work *work);

/*
 * quire_region_discard - give the memory of a range back, keep its addresses
 * The range reads as zeros afterwards and can be populated again.  HUGETLB
 * pages lose what open set aside for them: populate before touching again.
 * On return all of it is free.  -EBUSY: a part of it is registered.
 * -EINVAL also where the program has locked a part (mlock).
 */
int quire_region_discard(struct quire_region *region, size_t offset,
			 size_t bytes, struct quire_work *work);

/*
 * quire_region_release - give a range back for good, and wait
 * On return all of it is free: the memory, and the addresses too.
 *
 * Ranges below 128 MiB (of huge pages: 4 GiB) are unmapped by the caller in one
 * call.  Larger ones are discarded in slices of 64 MiB (1 GiB), by helper
 * threads too, and unmapped in one call when all slices are done.  A helper
 * that cannot be started is counted (thread_refused) and its share done by the
 * caller.
 * That no CPU still reaches a page through an old translation when it becomes
 * free is the kernel's care: each slice is one call that flushes first.
 *
 * -ENOMEM: too many mappings to cut one; -ECANCELED: by the progress function.
 * After either the range is still the region's, and work->bytes_done of it (at
 * least) read as zeros.
 */
int quire_region_release(struct quire_region *region, size_t offset,
			 size_t bytes, struct quire_work *work);

/*
 * quire_region_release_start - the same, but do not wait
 * @workers: helper threads at most; 0: quire chooses (a quarter of the CPUs, at
 * least 1, because nobody waits)
 * @out: the handle, or NULL if nobody will ask
 *
 * Returns at once.  From here on the range belongs to nobody: it is not part of
 * the region, and the kernel will not give its addresses to anybody before the
 * memory is gone.  Helper threads of idle priority (SCHED_IDLE) do the work,
 * oldest release first, and releases end in the order in which they were
 * started.  They hold no file, and nothing of the thread that started them: it
 * may end, and the region may be closed.  At exit nobody waits for them.
 *
 * Ranges below 2 MiB (of huge pages: 64 MiB) are unmapped here, because that
 * takes less time than handing them over; and when no helper can be started,
 * the caller does all of the work here (counted: region_inline).  Either way
 * the handle is finished when this returns.
 * -ENOMEM: no memory for the bookkeeping; nothing was released.
 */
int quire_region_release_start(struct quire_region *region, size_t offset,
			       size_t bytes, uint32_t workers,
			       struct quire_release **out);

/*
 * quire_release_poll - is it done?
 * 0: yes; -EAGAIN: not yet; else how it failed, as for quire_region_release
 * (then the range is the region's again, or, if that was closed, only its
 * addresses are still taken).
 * @result: may be NULL; size set by the caller; the "out" members are written,
 * while it is running too: then bytes_done is about how much, wherever it lies.
 * The handle stays.
 */
int quire_release_poll(struct quire_release *release,
		       struct quire_work *result);

/*
 * quire_release_wait - wait until it is done, and end the handle
 * The caller takes part at its own priority, so that waiting is not waiting for
 * idle time.  Returns as poll, never -EAGAIN.  Once for each handle.
 */
int quire_release_wait(struct quire_release *release,
		       struct quire_work *result);

/* quire_release_forget - nobody will ask any more: ends the handle at once. */
void quire_release_forget(struct quire_release *release);

/*
 * quire_region_register - the kernel or a device now holds on to the pages of
 * a range (io_uring buffers, pinned for DMA)
 *
 * Discarding or releasing such a page would leave the kernel with the old page
 * and the program with a new one, and data would silently go stale.  Until
 * quire_region_unregister of the same range, every discard and release that
 * touches it is refused with -EBUSY.  A note only: registering with the kernel
 * is the caller's own call.  The same range, or one that overlaps, can be noted
 * several times, and then needs as many unregister calls.
 * -EBUSY: a discard or release is working on it; -ENOMEM: no memory to note it.
 */
int quire_region_register(struct quire_region *region, size_t offset,
			  size_t bytes);
/* -ENOENT: no such range is noted (all of it, and exactly it). */
int quire_region_unregister(struct quire_region *region, size_t offset,
			    size_t bytes);

/*
 * quire_region_counters - the counters of all regions of this process
 * @counter: by enum quire_counter; those that have nothing to do with regions
 * are 0.  While nobody works on a region the sums of counters.def close.
 */
void quire_region_counters(uint64_t counter[QUIRE_NR_COUNTERS]);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_REGION_H */
