/* SPDX-License-Identifier: MIT */
/*
 * Groups: the objects, and the parts of this layer to each other.
 *
 *	struct quire_groups ── node[]	zones: records of pages, batches, thread
 *	   │
 *	   └── table ── struct group ── lruvec[]	lists, for each node
 *		id 1: the root
 *
 * A group's memory is never used for anything else (type-stable), and carries a
 * generation; a handle is its address with the generation in the low bits, so
 * that a pointer to it can always be followed, and one that is stale is seen.
 *
 * [T1] usage counts the pages charged to the group and to all below it, what
 *	stands in stocks of CPUs for it included.  In the same word stand holds
 *	(threads that look at the group and need it to stay) and GROUP_DEAD.
 * [T2] A group that was deleted stays, dead, until that word has neither pages
 *	nor holds; who takes the last away frees it.  Its parent counts its
 *	pages too, so it outlives it.
 * [T3] A page that says a dead group is of the nearest one above it that is
 *	alive, and is charged to that one when it is put on a list; its dead
 *	group loses it then (rehome).
 * [T4] Only one lock of lists is held at a time (spec I-B5), and nothing is
 *	freed, uncharged or called back under it (R5).
 *
 * Lock order: RANK_GROUPS > RANK_GROUP_THREAD > RANK_GROUP_DRAIN >
 * RANK_GROUP_TREE > RANK_LRU > (zones).
 */
#ifndef GROUP_GROUP_H
#define GROUP_GROUP_H

#include <quire/group.h>

#include "base/bits.h"
#include "base/list.h"
#include "group/page.h"
#include "os/lock.h"
#include "os/os.h"
#include "page/zone.h"
#include "percpu/percpu.h"

#define GROUP_ROOT   1u /* id; 0 is none */
#define GROUPS_MAX   65535u
#define NODES_MAX    16u
#define OWNERS_MAX   64u
#define GROUP_LEVELS 32u

#define BATCH_PAGES 31u /* that a CPU collects */
#define CHUNK_PAGES 32u /* under one hold of a lock */
#define STOCK_PAGES 64u

/* What is counted for each group, with no regard to those below it. */
enum group_count {
	GROUP_LOW, /* reclaimed below low */
	GROUP_HIGH,
	GROUP_AT_MAX,
	GROUP_FAILED,
	GROUP_ADDED,
	GROUP_SCANNED,
	GROUP_DROPPED,
	GROUP_ACTIVATED,
	GROUP_DEACTIVATED,
	GROUP_ROTATED,
	GROUP_CLEANED,
	GROUP_MOVED,
	GROUP_REFAULT, /* by kind */
	GROUP_REFAULT_ACTIVE = GROUP_REFAULT + 2,
	NR_GROUP_COUNTS = GROUP_REFAULT_ACTIVE + 2,
};

struct lru_list {
	uint32_t head, tail; /* newest, oldest; NO_PAGE */
	uint64_t nr;	     /* pages, blocks counted whole; read as a hint */
};

/* Lists of a group, of one node. */
struct lruvec {
	struct lock own; /* on a line of its own (spec B15) */
	/* const while the group is in use */
	struct lock *lock __attribute__((aligned(64))); /* own, or the node's */
	struct group *group;
	struct node *node;
	/* lock */
	struct lru_list list[NR_LRU];
	uint64_t cost[2]; /* by kind; decays; read as a hint */
	bool dead;	  /* the group was deleted: look it up again */
	/* atomic */
	int64_t nr_isolated; /* pages */
} __attribute__((aligned(64)));

#define GROUP_DEAD  (1ull << 63)
#define GROUP_FREE  (GROUP_DEAD | 1ull << 62) /* tree.c */
#define GROUP_HOLD  (1ull << 40)
#define PAGES_OF(w) ((w) & (GROUP_HOLD - 1))

struct group {
	/* const while it is in use: what charging reads */
	struct quire_groups *groups;
	struct group *parent;
	uint32_t id;
	uint32_t generation; /* tree lock to change; read anywhere */
	uint32_t level;
	uint32_t dead; /* atomic: as GROUP_DEAD, but on a quiet line */

	/* atomic */
	uint64_t usage __attribute__((aligned(64))); /* [T1] */
	uint64_t limit[QUIRE_GROUP_NR_LIMITS];	     /* pages */
	uint64_t peak;
	uint64_t age; /* pages that left its inactive lists */

	/* atomic, relaxed: statistics */
	uint64_t count[NR_GROUP_COUNTS] __attribute__((aligned(64)));
	/* of limit[]: what the last reclaim from above took it to be worth */
	uint64_t protected_min, protected_low;
	uint32_t cursor; /* id below it where reclaim goes on */

	/* tree lock */
	struct list children, link; /* link: also of free ones */
	uint32_t nr_children;

	struct lruvec vec[];
};

enum batch {
	BATCH_ADD,
	BATCH_ACTIVATE,
	BATCH_DEACTIVATE,
	BATCH_ROTATE,
	NR_BATCHES,
};

/* A zone, as groups see it. */
struct node {
	/* const after open */
	struct quire_groups *groups;
	struct quire_zone *zone;
	uint32_t index;
	struct group_page *page;    /* by page number */
	uint64_t start, nr_numbers; /* the zone's page numbers */
	size_t page_bytes;
	struct percpu batches;			       /* list 1 + enum batch */
	struct lock lock __attribute__((aligned(64))); /* lru_lock=node */
	/* thread lock */
	struct os_thread thread __attribute__((aligned(64)));
	bool has_thread;
	/* atomic */
	uint32_t wanted; /* futex: times that it was asked to reclaim */
	uint32_t stop;
};

/* Counted for an instance; for the rest see enum group_count. */
enum groups_count {
	GROUPS_DELETED,
	GROUPS_CHARGE_SLOW,
	GROUPS_STOCK_DRAINED,
	GROUPS_WAITS,
	GROUPS_BATCH,
	GROUPS_BACKGROUND,
	GROUPS_DIRECT,
	GROUPS_MISUSE,
	GROUPS_THREAD_REFUSED,
	NR_GROUPS_COUNTS,
};

struct quire_groups {
	/* const after open */
	char *table;
	size_t pitch; /* bytes of a group: whole pages */
	uint32_t max_groups;
	uint32_t nr_nodes;
	uint32_t lru_lock; /* enum quire_lru_lock */
	uint32_t flags;
	uint32_t stock_offset; /* of the list in `stock` */
	struct percpu stock;
	uint64_t *traces;
	uint64_t trace_mask;  /* sets less 1; with traces NULL: none */
	uint32_t trace_shift; /* of ages, so that theirs are as long as ours */
	struct lock **all_locks; /* room for fork */
	size_t metadata_bytes, table_bytes, trace_bytes, lock_bytes;

	/* groups lock (registry) */
	struct list link;

	/* drain lock */
	struct lock drain_lock;

	/* thread lock */
	struct lock thread_lock;

	/* tree lock */
	struct lock tree_lock;
	struct list free; /* oldest first, so that a generation lasts */
	uint32_t nr_used; /* ids that were ever in use are below it */
	uint32_t nr_alive;
	uint32_t nr_dead;
	bool closing;

	/* atomic */
	struct quire_owner owner[OWNERS_MAX]; /* by id; const while in use */
	uint32_t any_protection;	      /* a min or low was ever set */
	uint32_t nr_waiters __attribute__((aligned(64)));
	uint32_t event; /* futex: something was uncharged, unpinned, changed */

	/* atomic, relaxed: statistics */
	uint64_t count[NR_GROUPS_COUNTS] __attribute__((aligned(64)));
	uint64_t gone[NR_GROUP_COUNTS]; /* of groups that are freed */

	struct node node[];
};

/* ---- inline: numbers and handles ---- */

static inline struct group *group_of_id(const struct quire_groups *groups,
					uint32_t id)
{
	return (struct group *)(groups->table + id * groups->pitch);
}

static inline struct group *group_of_handle(const struct quire_group *handle)
{
	return (struct group *)((uintptr_t)handle & ~(PAGE_SIZE - 1));
}

static inline bool handle_fits(const struct quire_group *handle,
			       const struct group *group)
{
	return !(((uintptr_t)handle ^ load_relaxed(&group->generation)) &
		 (PAGE_SIZE - 1));
}

static inline struct quire_group *group_handle(const struct group *group)
{
	return (struct quire_group *)((uintptr_t)group |
				      (group->generation & (PAGE_SIZE - 1)));
}

static inline uint64_t group_usage(const struct group *group)
{
	return PAGES_OF(load_relaxed(&group->usage));
}

static inline bool is_free(const struct group *group)
{
	return (load_relaxed(&group->usage) & GROUP_FREE) == GROUP_FREE;
}

static inline uint64_t group_limit(const struct group *group,
				   enum quire_group_limit which)
{
	return load_relaxed(&group->limit[which]);
}

static inline void group_count(struct group *group, unsigned int what,
			       uint64_t nr)
{
	if (nr)
		add_relaxed(&group->count[what], nr);
}

static inline void groups_count(struct quire_groups *groups,
				enum groups_count what)
{
	add_relaxed(&groups->count[what], 1);
}

/* The nearest one that is alive, itself first [T3]. */
static inline struct group *group_live(struct group *group)
{
	/* pairs with the release of delete */
	while (unlikely(load_acquire(&group->dead)))
		group = group->parent;
	return group;
}

static inline bool group_below(const struct group *group,
			       const struct group *top)
{
	while (group && group != top)
		group = group->parent;
	return group;
}

/* ---- groups.c: instances come and go ---- */
int groups_open(const struct quire_groups_options *options,
		struct quire_groups **out);
long groups_close(struct quire_groups *groups);
struct lock *groups_lock(void);
struct list *groups_all(void);
/* (the node and page number of an address: group/find.h) */

/* ---- tree.c ---- */
int tree_init(struct quire_groups *groups);
int group_create(struct group *parent, struct group **out);
/* A thread that needs the group to stay, alive or not. */
void group_hold(struct group *group);
void group_release(struct group *group);
/* @delta off `usage`, of this level only; frees it where it was the last. */
void group_sub(struct group *group, uint64_t delta);
/* The next one below @top in an order that begins with it and has parents
 * first; held, where @group is given up; NULL: that was all, or @group is not
 * there any more. */
struct group *group_next(struct group *top, struct group *group);
/* Out of the tree, and dead; -EBUSY. */
int tree_remove(struct group *group);

/* ---- charge.c ---- */
#define CHARGE_NO_RECLAIM (1u << 0)
int group_charge_slow(struct group *group, uint64_t nr, unsigned int flags);
void group_uncharge_slow(struct group *group, uint64_t nr);

/* From this CPU's stock: no lock, no shared line. */
static inline bool charge_fast(const struct group *group, uint64_t nr)
{
	const struct quire_groups *groups = group->groups;

	return nr <= STOCK_PAGES &&
	       slot_stock_take(&groups->stock, groups->stock_offset, group->id,
			       (uint32_t)nr) > 0;
}

static inline bool uncharge_fast(const struct group *group, uint64_t nr)
{
	const struct quire_groups *groups = group->groups;

	return nr <= STOCK_PAGES / 2 &&
	       slot_stock_put(&groups->stock, groups->stock_offset, group->id,
			      (uint32_t)nr, STOCK_PAGES) > 0;
}

static inline int group_charge(struct group *group, uint64_t nr,
			       unsigned int flags)
{
	return likely(charge_fast(group, nr))
		       ? 0
		       : group_charge_slow(group, nr, flags);
}

static inline void group_uncharge(struct group *group, uint64_t nr)
{
	if (unlikely(!uncharge_fast(group, nr)))
		group_uncharge_slow(group, nr);
}

/* At each level or at none; returns the level that refused. */
struct group *charge_try(struct group *group, uint64_t nr);
void uncharge_exact(struct group *group, uint64_t nr);
int group_set_limit(struct group *group, enum quire_group_limit which,
		    uint64_t pages);

/* ---- stock.c ---- */
int stock_init(struct quire_groups *groups, enum percpu_mode want);
/* @nr pages charged already are left with this CPU, if that may be. */
void stock_leave(struct group *group, uint32_t nr);
/* All stocks of all CPUs are uncharged; false: there was no page in any. */
bool stock_drain(struct quire_groups *groups);
/* The same, and nobody has one any more, empty ones included. */
void stock_forget(struct quire_groups *groups);
/* Pages in stocks for @group and those below it. */
uint64_t stock_pages(struct group *group);

/* ---- wait.c ---- */
int group_reserve(struct group *group, uint64_t nr, uint64_t timeout_ms,
		  size_t *shortfall);
/* Something changed that who waits might have waited for. */
void groups_event(struct quire_groups *groups);
/* Sleep at most so long, or until the next event. */
void groups_nap(struct quire_groups *groups, uint64_t ms);

/* ---- lruvec.c: which lock, and under it ---- */
/* Of a page that the caller owns and that is on its list: that list's. */
struct lruvec *page_lruvec_lock(struct node *node, struct group_page *gp);
/* Of one that is on no list: that of the group that is alive. */
struct lruvec *page_lruvec_lock_live(struct node *node, struct group_page *gp);
/* The same; @locked (or NULL) is kept where it is the one. */
struct lruvec *page_lruvec_relock(struct node *node, struct group_page *gp,
				  struct lruvec *locked);
struct lruvec *page_lruvec_relock_live(struct node *node, struct group_page *gp,
				       struct lruvec *locked);
void lruvec_unlock(struct lruvec *vec);
void lruvec_init(struct lruvec *vec, struct group *group, struct node *node);
void lruvec_unlink_locked(struct lruvec *vec, uint32_t page);
/* On the list that it wants to be on, at the new end or the old one, with
 * GP_LRU set; true: what it wants has changed meanwhile, see page_reconsider */
bool lruvec_link_locked(struct lruvec *vec, uint32_t page, bool at_tail);
void lruvec_rotate_locked(struct lruvec *vec, enum lru which, uint32_t page);
/* The caller has a reference, and no lock. */
void page_reconsider(struct node *node, uint32_t page);
/* Charge it to the group that is alive; its owner, without a lock. */
void page_rehome(struct node *node, struct group_page *gp);
void page_count_isolated(struct node *node, const struct group_page *gp,
			 int64_t nr);
uint64_t lruvec_size(const struct lruvec *vec, enum lru list);
void lruvec_check(struct lruvec *vec);

/* ---- batch.c ---- */
int batch_init(struct node *node, enum percpu_mode want);
/* A reference of the page's is given to the batch. */
void batch_push(struct node *node, enum batch which, uint32_t page);
void batch_flush_own(struct node *node);
/* Of all CPUs; false: there was nothing. */
bool batch_flush_all(struct node *node);
/* Up to CHUNK_PAGES of them, whose references it takes. */
void batch_move(struct node *node, enum batch which, const uint32_t *pages,
		uint32_t nr);
/* Of those that @left says, the first and all that are of its group, as bits:
 * to be done next, in their order (spec I-B6).  They are taken from @left. */
uint32_t chunk_part(struct node *node, const uint32_t *pages, uint32_t *left);

/* ---- pages.c ---- */
void *group_page_alloc(struct group *group,
		       const struct quire_page_request *request);
int group_page_add(struct node *node, uint32_t page);
void group_page_touch(struct node *node, uint32_t page);
int group_page_deactivate(struct node *node, uint32_t page);
int group_page_rotate(struct node *node, uint32_t page);
int group_page_set_evictable(struct node *node, uint32_t page, bool evictable);

/* ---- owner.c ---- */
bool owner_is_known(const struct quire_groups *groups, uint32_t id);
int owner_add(struct quire_groups *groups, const struct quire_owner *owner,
	      uint32_t *id);
int owner_remove(struct quire_groups *groups, uint32_t id);

/* ---- release.c ---- */
/* One reference less of each of up to CHUNK_PAGES; frees what has none. */
void pages_put(struct node *node, const uint32_t *pages, uint32_t nr);
/* Up to CHUNK_PAGES that nobody has a reference of. */
void pages_free(struct node *node, const uint32_t *pages, uint32_t nr);

/* ---- isolate.c ----
 * "Put back" stands for linking what its caller owns and has off its list. */
/* With a reference, of the caller's or a new one: 0 or -EBUSY. */
int page_isolate(struct node *node, uint32_t page);
/* Up to CHUNK_PAGES isolated ones, whose references it takes. */
void pages_put_back(struct node *node, const uint32_t *pages, uint32_t nr,
		    bool at_tail);
int page_move(struct node *node, uint32_t page, struct group *to);

/* ---- delete.c ---- */
int group_delete(struct group *group);

/* ---- cost.c, trace.c, protect.c ---- */
void cost_note(struct lruvec *vec, unsigned int kind, uint64_t nr);
int trace_init(struct quire_groups *groups, size_t nr);
void trace_leave(struct node *node, struct group_page *gp);
/* Into the cache, for trace_leave soon. */
void trace_fetch(struct node *node, const struct group_page *gp);
/* Flags that a page of this owner and key begins with. */
uint32_t trace_find(struct node *node, struct group *group, unsigned int owner,
		    uint64_t key, uint32_t flags);
/* What @group is spared of its usage when @top is reclaimed. */
struct protection {
	uint64_t min, low;
};
struct protection group_protection(struct group *top, struct group *group);

/* ---- shrink.c, reclaim.c ---- */
/* Looks at up to @nr pages of an inactive list; returns pages dropped. */
uint64_t shrink_inactive(struct lruvec *vec, unsigned int kind, uint32_t nr);
void shrink_active(struct lruvec *vec, unsigned int kind, uint32_t nr);
/* Pages of @top and those below it, of one node or of all (NULL). */
uint64_t groups_reclaim(struct group *top, struct node *node, uint64_t nr);
/* Is this thread in it? */
bool reclaim_under_way(void);

/* ---- background.c ---- */
size_t node_reclaim_hook(void *arg, size_t nr);
void background_stop(struct node *node);
int background_start(struct node *node);

/* ---- info.c, check.c ---- */
int group_describe(struct group *group, struct quire_group_facts *out);
int group_print(struct group *group, enum quire_group_text what, char *buf,
		size_t len);
int groups_describe(struct quire_groups *groups,
		    struct quire_groups_facts *out);
void groups_counters(struct quire_groups *groups,
		     uint64_t counter[QUIRE_NR_COUNTERS]);
void groups_check(struct quire_groups *groups);
int groups_drain(struct quire_groups *groups);

/* ---- fork.c ---- */
int groups_at_fork(void);

#endif /* GROUP_GROUP_H */
