/* SPDX-License-Identifier: MIT */
/*
 * The last reference: off the list, uncharged, free.
 *
 *	put ── put ── the last ── clear GP_LRU ── unlink ── uncharge ── zone
 *			     └ of a chunk ┘	under the locks, in parts
 *
 * [R1] Nobody else owns a page that has no reference (G2), so GP_LRU says
 *	whether it is on a list.
 * [R2] Uncharging and freeing come behind the lock (spec I-B4), and a lock is
 *	held for a chunk at most.
 */
#include "base/assert.h"
#include "group/group.h"
#include "page/fast.h"

static void unlink_part(struct node *node, const uint32_t *pages, uint32_t part)
{
	struct lruvec *vec = NULL;

	for (; part; part &= part - 1) {
		uint32_t page = pages[__builtin_ctz(part)];

		vec = page_lruvec_relock(node, &node->page[page], vec);
		lruvec_unlink_locked(vec, page);
	}
	if (vec)
		lruvec_unlock(vec);
}

static void unlink_all(struct node *node, const uint32_t *pages, uint32_t nr)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < nr; i++)
		if (page_test_clear(&node->page[pages[i]], GP_LRU)) /* [R1] */
			left |= 1u << i;
	while (left)
		unlink_part(node, pages, chunk_part(node, pages, &left));
}

static void free_block(struct node *node, uint32_t page, unsigned int order)
{
	ASSERT(!lock_holds_from(RANK_LRU)); /* R5 */
	store_relaxed(&node->zone->state[page], (uint8_t)(STATE_HEAD | order));
	if (likely(block_free_fast(node->zone, page)))
		return;
	zone_free_slow(node->zone, page, false);
}

/* What a record says to itself is over; returns pages to be uncharged. */
static uint32_t forget(struct node *node, struct group_page *gp)
{
	uint32_t flags = page_flags(gp), nr = page_nr(flags);

	ASSERT(flags & GP_CHARGED);
	if (flags & GP_ISOLATED)
		page_count_isolated(node, gp, -(int64_t)nr);
	store_relaxed(&gp->flags, 0);
	store_relaxed(&gp->group, 0);
	return nr;
}

/* What reclaim gets is for whoever is at a limit, not for this CPU's stock. */
static void uncharge(struct node *node, uint32_t id, uint64_t nr)
{
	struct group *group = group_of_id(node->groups, id);

	if (reclaim_under_way())
		uncharge_exact(group, nr);
	else
		group_uncharge(group, nr);
}

void pages_free(struct node *node, const uint32_t *pages, uint32_t nr)
{
	uint32_t group = 0;
	uint64_t charged = 0;

	unlink_all(node, pages, nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct group_page *gp = &node->page[pages[i]];
		uint32_t its = gp->group;
		unsigned int order;

		if (its != group && charged) {
			uncharge(node, group, charged);
			charged = 0;
		}
		group = its;
		order = page_order(page_flags(gp));
		charged += forget(node, gp);
		free_block(node, pages[i], order);
	}
	if (charged)
		uncharge(node, group, charged);
}

void pages_put(struct node *node, const uint32_t *pages, uint32_t nr)
{
	uint32_t last[CHUNK_PAGES], nr_last = 0;

	ASSERT(nr <= CHUNK_PAGES);
	for (uint32_t i = 0; i < nr; i++)
		if (page_put(&node->page[pages[i]], PAGE_REF))
			last[nr_last++] = pages[i];
	if (nr_last)
		pages_free(node, last, nr_last);
}
