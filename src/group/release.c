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

/* What is to be taken off a group, of pages in a row that are its. */
struct account {
	uint32_t group; /* id; 0: nothing yet */
	uint64_t charged;
	int64_t isolated;
};

static void settle(struct node *node, struct account *account)
{
	struct group *group = group_of_id(node->groups, account->group);

	if (account->isolated)
		add_relaxed(&group->vec[node->index].nr_isolated,
			    -account->isolated);
	/* What reclaim gets is for whoever is at a limit, not for this CPU. */
	if (reclaim_under_way())
		uncharge_exact(group, account->charged);
	else
		group_uncharge(group, account->charged);
}

static void forget(struct node *node, struct group_page *gp,
		   struct account *account)
{
	uint32_t flags = page_flags(gp), nr = page_nr(flags);

	ASSERT(flags & GP_CHARGED);
	if (gp->group != account->group && account->group) {
		settle(node, account);
		account->charged = 0;
		account->isolated = 0;
	}
	account->group = gp->group;
	account->charged += nr;
	account->isolated += flags & GP_ISOLATED ? nr : 0;
	store_relaxed(&gp->flags, 0);
	store_relaxed(&gp->group, 0);
}

void pages_free(struct node *node, const uint32_t *pages, uint32_t nr)
{
	struct account account = { 0, 0, 0 };

	unlink_all(node, pages, nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct group_page *gp = &node->page[pages[i]];
		unsigned int order = page_order(page_flags(gp));

		forget(node, gp, &account);
		free_block(node, pages[i], order);
	}
	settle(node, &account);
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
