/* SPDX-License-Identifier: MIT */
/*
 * The span store: big blocks, and the memory of freed ones kept for re-use.
 *
 *	alloc ─> own shard: best fit ─> other shards: best fit
 *	      ─> largest kept span made larger by moving its pages
 *	      ─> fresh memory from the kernel
 *	free  ─> the block's shard keeps it ─> decay, cap, limit: to the kernel
 *
 * [S1] live + kept stays within 17/16 of the largest amount that was ever live
 *	(plus 4 MiB): when fresh memory is bought while kept memory does not
 *	fit, kept memory is given back to make room.  So the peak of resident
 *	memory is not more than a few per cent above that of a program that
 *	frees at once.
 * [S2] memory that leaves is unmarked in the page map first and unmapped then,
 *	so an address cannot come back from the kernel while a mark stands.
 * [S3] zeros are promised for fresh memory; a kept span is cleared for a zero
 *	request up to zero_max, larger zero requests get fresh memory only, so a
 *	sparse one stays sparse.
 * [S4] no lock is held while the kernel works, but for RANK_LEAVE, which is
 *	held over unmapping so that fork finds no half-given-back memory.  What
 *	is big was discarded before, with no lock but in a list for the child.
 * [S5] while the helper thread runs, it gives back what is big (a slice or
 *	more), so that the program does not wait for the kernel; except to make
 *	room for a new block [S1], where more than a sixteenth of the peak would
 *	be waiting, and where memory ran out.
 *
 * Thread-safe.  Not for signal handlers (as malloc is not).  Fork: see
 * store_fork_*.
 */
#ifndef REGION_STORE_H
#define REGION_STORE_H

#include <quire/stat.h>

#include "os/limit.h"
#include "os/os.h"
#include "region/shard.h"

#define MAX_SHARDS 16
/* How often limits are looked at, at the most in quiet times. */
#define LOOK_EVERY_MS 100

enum thp_policy {
	THP_AUTO,   /* huge pages where whole 2 MiB units allow, for the first
		       128 MiB [B3]; not for fresh zeros (calloc), of which a
		       program may use little */
	THP_ALWAYS, /* for those as well, and without a bound */
	THP_NEVER,  /* whatever the system does by itself */
};

struct store_options {
	uint64_t decay_ms; /* kept memory older than this leaves; 0: at once */
	size_t keep_bytes; /* cap; 0: a quarter of the smallest limit */
	size_t thread_bytes;   /* kept memory that is worth a helper thread */
	size_t zero_max_bytes; /* largest kept span that is cleared, [S3] */
	unsigned int
		reserve_percent; /* of the tightest limit, below: give back */
	unsigned int nr_shards;	 /* 0: twice the CPUs, at most MAX_SHARDS */
	enum thp_policy thp;
};

#define THREAD_BYTES_DEFAULT ((size_t)64 << 20)

void store_options_default(struct store_options *options);

struct store {
	struct store_options options; /* const after init */
	struct shard_common common;
	unsigned int nr_shards;
	struct shard shards[MAX_SHARDS];

	/* atomic, relaxed: statistics and hints of the rare paths */
	uint64_t count[QUIRE_NR_COUNTERS];
	size_t peak_live_pages;
	uint64_t next_look_ms;
	/* the same; see bound.c */
	size_t cap_pages;
	size_t helper_pages;
	size_t peak_resident_pages;
	size_t huge_pages, huge_budget;
	uint64_t look_ms;
	uint32_t inherited; /* forked child: kept memory is shared, drop it */

	struct lock leave_lock;

	struct lock queue_lock;
	/* queue lock: LEAVING spans, linked by by_age */
	struct list behind;   /* for the keeper, oldest first */
	struct list half_way; /* being discarded by some thread */
	size_t behind_pages;  /* read anywhere: atomic, relaxed */

	/* keeper lock; see keeper.c */
	struct lock keeper_lock;
	struct os_thread keeper;
	uint32_t keeper_word;	/* atomic, futex: changes when there is news */
	uint32_t keeper_idle;	/* atomic: it sleeps without a time limit */
	uint32_t keeper_runs;	/* atomic: there is one, elsewhere a hint */
	uint32_t keeper_stop;	/* atomic */
	uint32_t keeper_barred; /* atomic: nesting count, no thread wanted */
	uint64_t keeper_retry_ms;
};

/* 0 or a negative errno; the memory of *store is the caller's. */
int store_open(struct store *store, const struct store_options *options);
/* All memory back, live blocks too; the helper thread joined. */
void store_close(struct store *store);

/*
 * store_alloc - a block of at least @bytes, aligned to a page and to @align
 * @align: a power of two; @zero: the block reads as zeros
 * NULL when the kernel has no memory, also not after all kept memory was given
 * back.  errno is left alone.
 */
void *store_alloc(struct store *store, size_t bytes, size_t align, bool zero);

/*
 * store_free - take back a block
 * 0; -ENOENT: not an address of this store; -EINVAL: inside a block;
 * -EALREADY: the block is free already.
 */
int store_free(struct store *store, void *address);

/*
 * store_resize - make a block @bytes long, its content kept
 * The block may move.  NULL: no memory, the block is as it was.
 */
void *store_resize(struct store *store, void *address, size_t bytes);

/* Bytes that the owner may use; 0 when @address is not a live block's head. */
size_t store_usable(const struct store *store, const void *address);

/*
 * The program is about to change mappings itself.  TAINT: protection, locks,
 * policy, advice of [address, address + len) change: blocks that it touches are
 * not kept after their free.  HOLE: the range is unmapped or replaced: it is
 * ours no longer.
 */
enum store_note {
	NOTE_TAINT,
	NOTE_HOLE,
};
void store_note(struct store *store, const void *address, size_t len,
		enum store_note what);
/* The same for everything that is mapped now (mlockall). */
void store_note_all(struct store *store);

/* Give back all kept memory; returns the bytes. */
size_t store_trim(struct store *store);

void store_snapshot(struct store *store, uint64_t counter[QUIRE_NR_COUNTERS]);
/* Walks everything; panics where an invariant is broken.  Slow. */
void store_check(struct store *store);

/* Before a fork, so that it does not copy what is kept: all but 4 MiB of it
 * goes back.  Takes locks, so before prepare. */
void store_before_fork(struct store *store);

/* Around fork: prepare in the parent, then one of the others. */
void store_fork_prepare(struct store *store);
void store_fork_parent(struct store *store);
/* True when the child has inherited kept memory. */
bool store_fork_child(struct store *store);
/*
 * Instead, with no prepare, where a handler forks that interrupted the store:
 * what this thread holds it still releases; a lock that another thread held
 * stays taken, as fork in a process of many threads allows.
 */
void store_fork_child_interrupted(struct store *store);

/*
 * What the parent kept is shared with it in a child, and writing to it would
 * copy.  It goes at the child's first allocation, not before, so that a child
 * that only executes another program does not pay.  store_alloc does this by
 * itself; a caller with smaller allocations of its own may be earlier.
 */
void store_drop_inherited(struct store *store);

#endif /* REGION_STORE_H */
