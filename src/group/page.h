/* SPDX-License-Identifier: MIT */
/*
 * What is known of each page that is charged to a group.
 *
 * One record for each page of a zone, in an array by page number that is mapped
 * lazily; only that of a block's first page is used.  32 bytes, so that two
 * share a line and none lies in two.
 *
 * Words of flags are changed by anyone, atomically, bit by bit.  They are of
 * two kinds, and must not be mixed up:
 *
 *	where it is	GP_LRU, GP_LIST, GP_ISOLATED: by the page's owner only,
 *			which is whoever cleared GP_LRU or has it from alloc
 *	what is wanted	GP_REFERENCED, GP_WANT_ACTIVE, GP_UNEVICTABLE: by
 *			anyone; acted upon when it is next put on a list
 *
 * [G1] GP_LRU set: on the list that GP_LIST says, of the group that `group`
 *	says.  Whoever clears it owns the page until it sets it again: may take
 *	it off its list and charge it to another group (spec R1, R2, I-B7).
 * [G2] To clear GP_LRU a reference is needed, so that the last put, which has
 *	none, finds it as it is.  References are had from others, or by
 *	page_get, which fails where there is none.
 * [G3] Waiting in a batch clears nothing (spec B9).
 */
#ifndef GROUP_PAGE_H
#define GROUP_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

#define GP_LRU	       (1u << 0)
#define GP_REFERENCED  (1u << 1)
#define GP_WANT_ACTIVE (1u << 2)
#define GP_UNEVICTABLE (1u << 3)
#define GP_WORKINGSET  (1u << 4) /* was active, or would have been */
#define GP_ISOLATED    (1u << 5) /* counted as such */
#define GP_ADDED       (1u << 6)
#define GP_CHARGED     (1u << 7) /* const: what a record in use has */
#define GP_ANON	       (1u << 8) /* const */
#define GP_LIST_SHIFT  9	 /* 3 bits: enum lru */
#define GP_LIST	       (7u << GP_LIST_SHIFT)
#define GP_ORDER_SHIFT 16 /* const, 5 bits */
#define GP_OWNER_SHIFT 24 /* const, 6 bits */

enum lru {
	LRU_INACTIVE_FILE,
	LRU_ACTIVE_FILE,
	LRU_INACTIVE_ANON,
	LRU_ACTIVE_ANON,
	LRU_UNEVICTABLE,
	NR_LRU,
};

#define LRU_ACTIVE 1u /* added to an inactive one */

struct group_page {
	uint32_t next, prev; /* lock of the lists: page numbers */
	uint64_t refs;	     /* atomic: references; pins from bit 32 up */
	uint32_t flags;	     /* atomic */
	uint32_t group;	     /* id; its owner's, read by anyone */
	uint64_t key;	     /* const from alloc to free */
};

_Static_assert(sizeof(struct group_page) == 32, "two in a line");

#define PAGE_REF      (1ull)
#define PAGE_PIN      (1ull << 32)
#define REFS_OF(word) ((uint32_t)(word))
#define PINS_OF(word) ((uint32_t)((word) >> 32))

static inline uint32_t page_flags(const struct group_page *gp)
{
	return load_relaxed(&gp->flags);
}

/* Both return what was there before; the order is that of [G1]. */
static inline uint32_t page_set(struct group_page *gp, uint32_t bits)
{
	return __atomic_fetch_or(&gp->flags, bits, __ATOMIC_ACQ_REL);
}

static inline uint32_t page_clear(struct group_page *gp, uint32_t bits)
{
	return __atomic_fetch_and(&gp->flags, ~bits, __ATOMIC_ACQ_REL);
}

/* Tested first: a line that is only read is not written. */
static inline bool page_test_clear(struct group_page *gp, uint32_t bit)
{
	return (page_flags(gp) & bit) && (page_clear(gp, bit) & bit);
}

/* Both at once: owned, and counted as isolated by the caller. */
static inline bool page_test_isolate(struct group_page *gp)
{
	uint32_t flags = page_flags(gp);

	while (flags & GP_LRU) {
		if (cas_acq_rel(&gp->flags, flags,
				(flags & ~GP_LRU) | GP_ISOLATED))
			return true;
		flags = page_flags(gp);
	}
	return false;
}

static inline unsigned int page_order(uint32_t flags)
{
	return flags >> GP_ORDER_SHIFT & 31;
}

static inline uint32_t page_nr(uint32_t flags)
{
	return 1u << page_order(flags);
}

static inline unsigned int page_owner(uint32_t flags)
{
	return flags >> GP_OWNER_SHIFT & 63;
}

static inline unsigned int page_kind(uint32_t flags)
{
	return flags & GP_ANON ? 1 : 0;
}

static inline enum lru page_list(uint32_t flags)
{
	return (enum lru)((flags & GP_LIST) >> GP_LIST_SHIFT);
}

/* A reference (and a pin with PAGE_PIN | PAGE_REF) unless there is none. */
static inline bool page_get(struct group_page *gp, uint64_t what)
{
	uint64_t refs = load_relaxed(&gp->refs);

	while (REFS_OF(refs)) {
		/* pairs with the release of alloc */
		if (cas_acquire(&gp->refs, refs, refs + what))
			return true;
		refs = load_relaxed(&gp->refs);
	}
	return false;
}

/* True: it was the last; the page is the caller's, who frees it [G2].  In one
 * order with waiters (wait.c). */
static inline bool page_put(struct group_page *gp, uint64_t what)
{
	return !REFS_OF(__atomic_sub_fetch(&gp->refs, what, __ATOMIC_SEQ_CST));
}

/* Only the owner's reference and ours are left: nobody can get one any more. */
static inline bool page_freeze(struct group_page *gp)
{
	return cas_acq_rel(&gp->refs, 2, 0);
}

/* Owned, and still on its list: not owned any more.  True: what is wanted of it
 * has changed meanwhile (see lruvec_link_locked). */
static inline bool page_stays(struct group_page *gp)
{
	uint32_t flags = page_set(gp, GP_LRU);

	return (page_list(flags) == LRU_UNEVICTABLE) !=
	       !!(flags & GP_UNEVICTABLE);
}

#endif /* GROUP_PAGE_H */
