/* SPDX-License-Identifier: MIT */
/*
 * Groups: pages of zones, charged to groups that have limits, kept in order of
 * use, and taken back from whoever can spare them.
 *
 *	groups ──> root ──┬─> group ──> group	a tree; what is charged to a
 *	   │		  └─> group		group is charged to all above it
 *	   └──> zones: of each, every group has lists by age of its pages
 *
 * What a page is for is its owner's business.  An owner (a buffer pool, a page
 * cache) allocates pages for a group, finds them by a key of its own, and says
 * when one is used; in exchange it is asked, page by page, to give up those
 * that were not used for long when the group is at its limit or the zone is
 * low.  It is asked through struct quire_owner, never under a lock of ours.
 *
 * The life of a page:
 *
 *	alloc ──> add ──> touch, touch, … ──> isolate ─> [clean] ─> drop
 *	  │ one reference	│			   └──> put_back
 *	  │ is the owner's	└──> put (the last): free
 *	  └──> put: free, never seen by reclaim
 *
 * Unless a function says otherwise:
 *
 *   Sizes	Pages of 4096 bytes; a block of order n counts as 2^n of them.
 *   Threads	Any thread may call anything at any time.  quire_groups_open
 *		and quire_groups_close stand alone: no call for the groups, and
 *		no allocation from their zones, at the same time.
 *   Signals	Not for signal handlers.
 *   Fork	Everything is there in the child, with limits, lists and pages
 *		of its own.  Pages that other threads of the parent had isolated
 *		in that moment (up to 32 for each that was reclaiming) stay
 *		isolated there.  No callback may fork without exec.
 *   Errors	0 or a negative errno; errno is left alone.  quire_group_page_alloc
 *		returns NULL and sets errno.  -ESTALE: the group was deleted.
 *		-EFAULT: the address is no page that is charged to a group.
 *		-EINVAL: arguments that can never be right.
 *   Ownership	A handle of a group is a word, not an address: it cannot be
 *		looked through, and one of a deleted group is found out.
 */
#ifndef QUIRE_GROUP_H
#define QUIRE_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <quire/page.h>
#include <quire/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_groups;
struct quire_group;

/* Which lock guards the lists of pages. */
enum quire_lru_lock {
	QUIRE_LRU_LOCK_GROUP, /* one for each group and zone */
	QUIRE_LRU_LOCK_NODE, /* one for all groups of a zone: to compare with */
};

/*
 * Flags of groups.
 *   STRICT	no fallback: where `pcp` is rseq and it does not work, or the
 *		background threads cannot be started, open fails: -EOPNOTSUPP
 *   NO_THREAD	no background threads: a zone that runs low is reclaimed by
 *		whoever allocates
 */
#define QUIRE_GROUPS_STRICT    (1u << 0)
#define QUIRE_GROUPS_NO_THREAD (1u << 1)

/*
 * Set everything to 0 and `size` to sizeof(struct quire_groups_options), then
 * change what is wanted.
 */
struct quire_groups_options {
	size_t size;
	struct quire_zone *const *zones; /* read during open only */
	size_t nr_zones;		 /* 1 to 16 */
	uint32_t lru_lock;		 /* enum quire_lru_lock */
	uint32_t pcp;			 /* enum quire_pcp; OFF: no stocks, no
					    batches */
	uint32_t flags;			 /* QUIRE_GROUPS_… */
	uint32_t max_groups; /* at one time, the root included; 0: 4096; at most
				65535 */
	size_t traces; /* of pages dropped that are remembered; 0: half as many
			  as the zones have pages; SIZE_MAX: none */
};

/*
 * quire_groups_open - groups over zones, and their root
 * A zone belongs to one instance at most, and must have no `reclaim` of its
 * own: groups are what is called when it runs low.  Takes 32 bytes a page of
 * address space, resident only for parts that are in use.
 * -EINVAL: no zone, a zone twice, unknown option; -EBUSY: a zone that has
 * groups or a reclaim function already; -ENOMEM; -EOPNOTSUPP: see STRICT.
 */
int quire_groups_open(const struct quire_groups_options *options,
		      struct quire_groups **out);
/*
 * quire_groups_close - end groups and background threads
 * Pages that are still charged stay allocated in their zones, as plain blocks.
 * Returns the number of pages that were still charged.
 */
long quire_groups_close(struct quire_groups *groups);

/* ---- the tree ---- */

/* The root has no limits; it cannot be deleted. */
struct quire_group *quire_groups_root(struct quire_groups *groups);

/*
 * quire_group_create - a group below @parent, without limits
 * -ENOSPC: max_groups, or 32 levels; -ESTALE.
 */
int quire_group_create(struct quire_group *parent, struct quire_group **out);
/*
 * quire_group_delete - the group is gone; its pages go to its parent
 * Pages that are pinned, isolated or elsewhere on their way go there when they
 * come back to a list.  Whoever is charging it at the same time is refused
 * (-ESTALE), and whoever waits for it wakes up.  What was charged by
 * quire_group_charge or quire_group_reserve stays charged above it; it is given
 * back with quire_group_uncharge and the old handle, which is good for that, and
 * for that alone, as long as there is any.
 * -EBUSY: it has groups below it; -EINVAL: the root; -ESTALE.
 */
int quire_group_delete(struct quire_group *group);

#define QUIRE_GROUP_NO_LIMIT UINT64_MAX

/*
 * What a group may have, in pages.
 *   MIN	not reclaimed below it, whatever happens
 *   LOW	not reclaimed below it as long as others have something
 *   HIGH	above it whoever charges reclaims, and waits a little
 *   MAX	never above it
 * MIN and LOW are shares of what the group above it protects, as in cgroup v2.
 */
enum quire_group_limit {
	QUIRE_GROUP_MIN,
	QUIRE_GROUP_LOW,
	QUIRE_GROUP_HIGH,
	QUIRE_GROUP_MAX,
	QUIRE_GROUP_NR_LIMITS
};

/*
 * quire_group_set_limit - @pages, or QUIRE_GROUP_NO_LIMIT
 * In force from now on.  Where the group has more than its new HIGH or MAX it is
 * reclaimed before the call returns, as far as that goes: -EBUSY if there is
 * still more than MAX (all that is left is pinned or not reclaimable; nothing
 * can be charged until there is less).  Wakes those who wait.
 * MIN and LOW begin as 0, HIGH and MAX as QUIRE_GROUP_NO_LIMIT.
 * -EINVAL: the root.
 */
int quire_group_set_limit(struct quire_group *group,
			  enum quire_group_limit which, uint64_t pages);
int quire_group_limit(struct quire_group *group, enum quire_group_limit which,
		      uint64_t *pages);

/* ---- charging without pages of ours ---- */

/*
 * quire_group_charge - count @nr_pages of the caller's memory
 * Where a limit of the group or of one above it would be exceeded, pages of the
 * groups below that limit are reclaimed first.  They cannot be reclaimed
 * themselves.  -EBUSY: all that is left there is pinned, protected, or not
 * reclaimable; said in bounded time.  From within a callback of an owner
 * nothing is reclaimed: -EBUSY at the limit.
 * quire_group_uncharge - the same back, by any thread; what was not charged must
 * not be uncharged (panics when it is seen).
 */
int quire_group_charge(struct quire_group *group, size_t nr_pages);
int quire_group_uncharge(struct quire_group *group, size_t nr_pages);

/*
 * quire_group_reserve - charge all of @nr_pages, or wait until that can be
 * @timeout_ms: 0: do not wait; UINT64_MAX: for ever
 * @shortfall: may be NULL; how many pages were missing, where -EBUSY or
 * -ETIMEDOUT is returned
 * Nothing is held while it waits, so callers that want more together than there
 * is finish one after the other.  Wakes when something is uncharged or
 * unpinned, or a limit changes.  Use it up with QUIRE_GROUP_RESERVED, or give it
 * back with quire_group_uncharge.
 * -EBUSY: timeout 0, or more than MAX and so never possible; -ETIMEDOUT;
 * -ESTALE: the group was deleted meanwhile.
 */
int quire_group_reserve(struct quire_group *group, size_t nr_pages,
			uint64_t timeout_ms, size_t *shortfall);

/* ---- owners ---- */

/* What isolate may answer besides 0 and negative errnos. */
#define QUIRE_ISOLATE_DIRTY 1

/*
 * An owner of pages.  All of these are called by any thread that charges or
 * reclaims, without a lock of ours held, for pages that the owner has added.
 * They may call everything of this header, but not fork, and not close; nothing
 * is reclaimed from within.  @page is its address, @key what alloc was told.
 *
 *   isolate	may the page be dropped?  0: yes; QUIRE_ISOLATE_DIRTY: yes, once
 *		it is clean; negative: not now.  Until drop or put_back is
 *		called the owner must not give up its own reference.  It can be
 *		asked for a page that it has given up a moment ago, while it was
 *		being looked at: that one is negative, too.  NULL: all may be
 *		dropped, and are clean.
 *   clean	write it out.  0: it is clean; -EAGAIN: writing has begun, it
 *		will be clean some time (say so by quire_group_page_rotate);
 *		other errnos: it could not be written, and is kept.  NULL: dirty
 *		pages are kept.
 *   drop	it is dropped: forget the key.  Nobody holds a reference, and
 *		nobody can get one (quire_group_page_get answers -EFAULT); its
 *		content still stands.  Whoever held a reference between clean
 *		and now may have made it dirty again: an owner that allows that
 *		writes it here, or refuses writers from isolate on.  The page is
 *		free when this returns.  Never NULL.
 *   put_back	it is not dropped after all.  May be NULL.
 */
struct quire_owner {
	size_t size; /* sizeof(struct quire_owner) */
	void *arg;
	int (*isolate)(void *arg, void *page, uint64_t key);
	int (*clean)(void *arg, void *page, uint64_t key);
	void (*drop)(void *arg, void *page, uint64_t key);
	void (*put_back)(void *arg, void *page, uint64_t key);
};

#define QUIRE_OWNER_NONE 0u

/*
 * quire_owner_add - make an owner known; copied
 * @id: out, for the pages it allocates, 1 to 63
 * -ENOSPC: there are 63.
 * quire_owner_remove - -EBUSY: there are still pages of it.
 */
int quire_owner_add(struct quire_groups *groups,
		    const struct quire_owner *owner, uint32_t *id);
int quire_owner_remove(struct quire_groups *groups, uint32_t id);

/* ---- pages ---- */

/* Two kinds, balanced against each other by what dropping them has cost. */
enum quire_page_kind {
	QUIRE_PAGE_FILE, /* can be read again */
	QUIRE_PAGE_ANON, /* has no other place than where it is written to */
};

/*
 * Flags of a request, besides QUIRE_MOVABLE and QUIRE_ZERO.
 *   RESERVED	charged already, by quire_group_reserve or quire_group_charge
 *   NO_RECLAIM	fail at a limit instead of reclaiming
 */
#define QUIRE_GROUP_RESERVED   (1u << 16)
#define QUIRE_GROUP_NO_RECLAIM (1u << 17)

#define QUIRE_GROUP_MAX_ORDER 12 /* 16 MiB */

struct quire_page_request {
	size_t size;	/* sizeof(struct quire_page_request) */
	uint64_t key;	/* the owner's name for what is in it */
	uint32_t owner; /* QUIRE_OWNER_NONE: cannot be reclaimed */
	uint32_t kind;	/* enum quire_page_kind */
	uint32_t order; /* 0 to QUIRE_GROUP_MAX_ORDER */
	uint32_t flags;
	uint32_t zone; /* which to try first, 0 … nr_zones - 1 */
};

/*
 * quire_group_page_alloc - 2^order pages, charged to @group
 * The caller has the one reference; the last quire_group_page_put frees it, and
 * nothing else does: quire_block_free and its like answer -EINVAL.  If a page of this owner and key was
 * dropped from the group not long ago, sooner than its pages in use would have
 * been, it begins as active.
 * EBUSY: at a limit (see quire_group_charge); ENOMEM: no zone has such a block;
 * ESTALE; EINVAL; ENXIO: zones are offline.
 */
void *quire_group_page_alloc(struct quire_group *group,
			     const struct quire_page_request *request);

/*
 * quire_group_page_add - a page may be reclaimed from now on, when its turn is
 * Once for each page that was allocated with an owner.  (It may take a while
 * until it is on a list: each CPU collects 31.)  -EALREADY.
 */
int quire_group_page_add(struct quire_groups *groups, void *page);

/*
 * quire_group_page_get - one reference more: it is not dropped meanwhile
 * -EFAULT: it is free, or about to be dropped.  A page that is used for another
 * key already cannot be told from the one that was meant: look again at what
 * the page is, after this.
 * quire_group_page_put - one less; the last one frees the page
 * quire_group_page_put_many - of each of @nr pages, NULLs are skipped; holds a
 * lock for at most 32 pages.  Returns 0 or the first error.
 */
int quire_group_page_get(struct quire_groups *groups, void *page);
int quire_group_page_put(struct quire_groups *groups, void *page);
int quire_group_page_put_many(struct quire_groups *groups, size_t nr,
			      void **pages);

/*
 * quire_group_page_pin / unpin - a reference that is held for long
 * Reclaim passes over a pinned page without trying it, and who waits for room
 * is woken when one is unpinned.  Unpinning may be the last reference.
 */
int quire_group_page_pin(struct quire_groups *groups, void *page);
int quire_group_page_unpin(struct quire_groups *groups, void *page);

/*
 * For a page that the caller has a reference of, or otherwise knows to stay:
 *
 * quire_group_page_touch - it is used: the second time it becomes active
 * quire_group_page_deactivate - it will not be used soon: inactive, at the end
 * where pages are dropped next
 * quire_group_page_rotate - an inactive page is clean now, or was put off long
 * enough: to that end, too
 */
int quire_group_page_touch(struct quire_groups *groups, void *page);
int quire_group_page_deactivate(struct quire_groups *groups, void *page);
int quire_group_page_rotate(struct quire_groups *groups, void *page);

/*
 * quire_group_page_set_evictable - 0: apart from all others, never looked at
 * by reclaim; 1: like others again
 */
int quire_group_page_set_evictable(struct quire_groups *groups, void *page,
				   int evictable);

/*
 * quire_group_page_isolate - off its list, with a reference
 * Nobody else can isolate, move or drop it until quire_group_page_put_back, which
 * also gives up that reference.  -EBUSY: on no list, or somebody else has it.
 */
int quire_group_page_isolate(struct quire_groups *groups, void *page);
int quire_group_page_put_back(struct quire_groups *groups, void *page);

/*
 * quire_group_page_move - charge it to @group instead
 * -EBUSY: somebody has it isolated; or @group is at a limit, and reclaiming
 * there did not help.  The page is then where it was.
 */
int quire_group_page_move(struct quire_groups *groups, void *page,
			  struct quire_group *group);

/* ---- reclaim ---- */

/*
 * quire_group_reclaim - drop up to @nr_pages of @group and those below it, the
 * longest unused first, whatever the limits
 * Returns how many; fewer: no more could be, this time.
 */
long quire_group_reclaim(struct quire_group *group, size_t nr_pages);

/*
 * quire_groups_drain - stocks and batches of all CPUs, and pages on their way to
 * lists, are where they belong when it returns
 */
int quire_groups_drain(struct quire_groups *groups);

/* ---- how it stands ---- */

/* Of a group and all below it; exact when nobody is inside a call. */
struct quire_group_facts {
	size_t size; /* set by the caller */
	uint64_t usage_pages;
	uint64_t peak_pages; /* the most it ever was, stocks of CPUs included */
	uint64_t inactive_pages[2], active_pages[2]; /* by kind */
	uint64_t unevictable_pages;
	uint64_t isolated_pages;
	uint64_t other_pages; /* on no list: charged without pages, without an
				 owner, not added yet, in a batch */
	uint64_t nr_groups;   /* below it */
};
int quire_group_describe(struct quire_group *group,
			 struct quire_group_facts *out);

enum quire_group_text {
	QUIRE_GROUP_STAT,   /* as memory.stat: sizes in bytes, events */
	QUIRE_GROUP_EVENTS, /* as memory.events */
};
/*
 * quire_group_print - in the shape of the files of cgroup v2 of these names
 * Returns the length that the whole text has, like snprintf.
 */
int quire_group_print(struct quire_group *group, enum quire_group_text what,
		      char *buf, size_t len);

/* What is in force. */
struct quire_groups_facts {
	size_t size;	   /* set by the caller */
	uint32_t lru_lock; /* enum quire_lru_lock */
	uint32_t pcp;	   /* enum quire_pcp, never AUTO */
	uint32_t nr_zones;
	uint32_t nr_groups;  /* alive, the root included */
	uint32_t nr_deleted; /* deleted, and pages of them not come back yet */
	uint32_t nr_threads; /* in the background, now */
	size_t metadata_bytes; /* address space of our own */
};
int quire_groups_describe(struct quire_groups *groups,
			  struct quire_groups_facts *out);

/* quire_groups_counters - as quire_region_counters, for all groups together;
 * those of their zones are not among them */
void quire_groups_counters(struct quire_groups *groups,
			   uint64_t counter[QUIRE_NR_COUNTERS]);

/* quire_groups_check - walk everything; panics where something is broken.
 * Nobody may be inside a call; ends background threads, which start again. */
void quire_groups_check(struct quire_groups *groups);

#ifdef __cplusplus
}
#endif

#endif /* QUIRE_GROUP_H */
