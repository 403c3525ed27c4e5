/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: who is asked for pages, and for how many.
 *
 *	pass 12, 11, … 0: each looks at twice as much as the one before, until
 *	there is enough
 *	   └─ the groups below the one at its limit, going on where the last
 *	      call stopped
 *		 └─ nodes ── kinds, by what each has cost ── chunks of 32
 *
 * [V1] One call ends: the passes look at twice all pages at most, and at 32 for
 *	each list and pass.
 * [V2] Reclaim within reclaim (an owner that allocates in a callback) does
 *	nothing, on the same thread.
 * [V3] A group is not brought below what it is spared (protect.c): min never,
 *	low only when nothing else could be had.
 */
#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

#define PASSES	  13u
#define DESPERATE 2u  /* from this pass on active pages are not spared */
#define GIB_SHIFT 18u /* of pages */

static __thread bool in_reclaim __attribute__((tls_model("initial-exec")));

bool reclaim_under_way(void)
{
	return in_reclaim;
}

struct sweep {
	struct group *top;
	struct node *node; /* NULL: all */
	uint64_t want, got;
	unsigned int pass; /* 0: the widest look */
	bool spare_low;
	bool spared; /* something was, for low */
};

/* One group */

static uint64_t square_root(uint64_t n)
{
	uint64_t r = 0;

	while ((r + 1) * (r + 1) <= n)
		r++;
	return r;
}

/* Few inactive pages are enough where there are many in all. */
static bool inactive_is_low(const struct lruvec *vec, unsigned int kind)
{
	uint64_t inactive = lruvec_size(vec, (enum lru)(2 * kind));
	uint64_t active = lruvec_size(vec, (enum lru)(2 * kind + LRU_ACTIVE));
	uint64_t gib = (inactive + active) >> GIB_SHIFT;

	return inactive * (gib ? square_root(10 * gib) : 1) < active;
}

/* Pages to look at: the share of each kind is what the other has cost. */
static void share(const struct lruvec *vec, unsigned int pass, uint64_t scan[2])
{
	uint64_t cost[2] = { load_relaxed(&vec->cost[0]),
			     load_relaxed(&vec->cost[1]) };
	uint64_t all = cost[0] + cost[1], ease[2], size;

	for (unsigned int kind = 0; kind < 2; kind++) {
		size = lruvec_size(vec, (enum lru)(2 * kind)) +
		       lruvec_size(vec, (enum lru)(2 * kind + LRU_ACTIVE));
		scan[kind] =
			max_size(size >> pass, min_size(size, CHUNK_PAGES));
		ease[kind] = ((all + 1) << 16) / (all + cost[kind] + 1);
	}
	if (!scan[0] || !scan[1])
		return;
	for (unsigned int kind = 0; kind < 2; kind++)
		scan[kind] = scan[kind] * ease[kind] / (ease[0] + ease[1]) + 1;
}

/* Where the inactive pages are not to be had (pinned, refused), the active ones
 * are what is left. */
static uint64_t shrink_kind(struct lruvec *vec, unsigned int kind,
			    unsigned int pass, uint64_t *scan, uint64_t want)
{
	uint32_t nr = (uint32_t)min_size(min_size(*scan, want), CHUNK_PAGES);

	if (!nr)
		return 0;
	*scan -= nr;
	if (pass <= DESPERATE || inactive_is_low(vec, kind))
		shrink_active(vec, kind, nr);
	return shrink_inactive(vec, kind, nr);
}

static uint64_t shrink_lruvec(struct lruvec *vec, unsigned int pass,
			      uint64_t want)
{
	uint64_t scan[2], got = 0;

	share(vec, pass, scan);
	while ((scan[0] || scan[1]) && got < want) {
		got += shrink_kind(vec, 0, pass, &scan[0], want - got);
		if (got < want)
			got += shrink_kind(vec, 1, pass, &scan[1], want - got);
	}
	return got;
}

static uint64_t quota_of(struct sweep *sweep, struct group *group)
{
	struct protection spared = group_protection(sweep->top, group);
	uint64_t usage = group_usage(group), keep = spared.min;

	if (sweep->spare_low && spared.low > keep) {
		keep = spared.low;
		sweep->spared = true;
	} else if (!sweep->spare_low && usage <= spared.low &&
		   usage > spared.min) {
		group_count(group, GROUP_LOW, 1);
	}
	return usage > keep ? usage - keep : 0; /* [V3] */
}

static void visit(struct sweep *sweep, struct group *group)
{
	struct quire_groups *groups = group->groups;
	uint64_t want =
		min_size(sweep->want - sweep->got, quota_of(sweep, group));

	for (uint32_t i = 0; want && i < groups->nr_nodes; i++) {
		uint64_t got = 0;

		if (!sweep->node || sweep->node->index == i)
			got = shrink_lruvec(&group->vec[i], sweep->pass, want);
		sweep->got += got;
		want -= min_size(want, got);
	}
}

/* All groups */

static struct group *first_of(struct group *top)
{
	struct quire_groups *groups = top->groups;
	struct group *first = top;
	uint32_t id;

	lock_take(&groups->tree_lock);
	id = load_relaxed(&top->cursor);
	if (id && id < groups->nr_used)
		first = group_of_id(groups, id);
	if (load_relaxed(&first->dead) || !group_below(first, top))
		first = top;
	group_hold(first);
	lock_release(&groups->tree_lock);
	return first;
}

static void pass(struct sweep *sweep)
{
	struct group *top = sweep->top, *group = first_of(top);
	uint32_t first = group->id;
	bool wrapped = false;

	do {
		visit(sweep, group);
		group = group_next(top, group);
		if (!group && !wrapped) {
			wrapped = true;
			group_hold(top);
			group = top;
		}
	} while (group && sweep->got < sweep->want &&
		 !(wrapped && group->id == first));
	store_relaxed(&top->cursor, group ? group->id : top->id);
	if (group)
		group_release(group);
}

static void passes(struct sweep *sweep)
{
	unsigned int left = PASSES;

	while (left-- && sweep->got < sweep->want) {
		sweep->pass = left;
		pass(sweep);
	}
}

uint64_t groups_reclaim(struct group *top, struct node *node, uint64_t nr)
{
	struct quire_groups *groups = top->groups;
	struct sweep sweep = {
		.top = top, .node = node, .want = nr, .spare_low = true
	};

	if (in_reclaim) /* [V2] */
		return 0;
	ASSERT(!lock_holds_from(RANK_GROUPS));
	in_reclaim = true;
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		batch_flush_own(&groups->node[i]);
	passes(&sweep);
	if (!sweep.got && sweep.spared) {
		sweep.spare_low = false;
		passes(&sweep);
	}
	in_reclaim = false;
	return sweep.got;
}
