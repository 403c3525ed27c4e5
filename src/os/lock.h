/* SPDX-License-Identifier: MIT */
/*
 * Locks: adaptive, on a futex, each with a rank.
 *
 * The enum is the lock order: a thread may take a lock only while it holds
 * none of the same or a higher rank; taking one out of order panics.  Shard
 * locks are all of one rank: whoever needs several at once (fork) takes them
 * through lock_take_many, in address order, as the only thing it does.
 *
 * [K1] a waiter never spins for longer than a short bound: the holder may be
 *      preempted.
 * [K2] the counters are written under the lock, so they are exact.
 */
#ifndef OS_LOCK_H
#define OS_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lock_rank {
	RANK_NONE,
	RANK_GROUPS,	   /* group: which groups there are */
	RANK_GROUP_THREAD, /* group: threads in the background */
	RANK_GROUP_DRAIN,  /* group: who closes stocks and batches of CPUs */
	RANK_GROUP_TREE,   /* group: the tree, limits, owners */
	RANK_LRU,	   /* group: lists of pages of a group and zone */
	RANK_ZONES,	   /* page: which zones there are */
	RANK_DECAY,	   /* page: who gives memory back, and when */
	RANK_LENT,	   /* page: which memory is on its way and comes back */
	RANK_DRAIN,	   /* page: who closes CPUs' lists of a zone */
	RANK_ZONE,	   /* page: free lists of one shard of a zone */
	RANK_DEPOT,	   /* page: batches between CPUs */
	RANK_UNMAP,	   /* region: the last step of a release */
	RANK_REGION,  /* region: what belongs to regions, and who is in it */
	RANK_POOL,    /* os: helper threads and their jobs */
	RANK_KEEPER,  /* region: the helper thread's state */
	RANK_LEAVE,   /* region: memory on its way back to the kernel */
	RANK_QUEUE,   /* region: which spans are on their way */
	RANK_SHARD,   /* region: one shard of the span store */
	RANK_PAGEMAP, /* region: leaves and descriptors being added */
	RANK_LAST = 31,
};

struct lock {
	uint32_t word; /* atomic: 0 free, 1 held, 2 held and waited for */
	uint32_t rank; /* const after init */
	/* this lock */
	uint64_t takes;
	uint64_t contended;
	uint64_t hold_cycles; /* of one take in LOCK_SAMPLE */
	uint64_t taken_at;
};

#define LOCK_SAMPLE 64

void lock_init(struct lock *lock, enum lock_rank rank);
void lock_take(struct lock *lock);
bool lock_try(struct lock *lock);
void lock_release(struct lock *lock);
bool lock_held(const struct lock *lock); /* by anyone: for assertions */

bool lock_holds_any(void); /* does this thread hold any lock of ours */
/* One of @rank or behind it in the order: what keeps @rank from being taken. */
bool lock_holds_from(enum lock_rank rank);

/* All of @locks, an array of pointers, and back. */
void lock_take_many(struct lock *const *locks, size_t nr);
void lock_release_many(struct lock *const *locks, size_t nr);
/* More of a rank of which this thread holds some, or the first of one: for fork,
 * which alone takes several, one fork at a time, so that their order is all the
 * same.  Back by lock_release_many. */
void lock_take_more(struct lock *const *locks, size_t nr);

/* In a forked child, for locks that the forking thread held: free again. */
void lock_reset_in_child(struct lock *lock);

#endif /* OS_LOCK_H */
