/* SPDX-License-Identifier: MIT */
/*
 * Owning pages off their lists, and putting them back.
 *
 *	isolate: reference ── clear GP_LRU ── lock ── unlink ── unlock
 *	put back: lock ── link, set GP_LRU ── unlock ── reference
 *
 * [I1] Every way out of owning a page puts it back, or frees it (spec B6).
 * [I2] A page is charged to another group only while it is owned (I-B7); where
 *	it is counted as isolated goes with it.
 */
#include <errno.h>

#include "base/step.h"
#include "group/group.h"

static bool own(struct node *node, uint32_t page)
{
	struct group_page *gp = &node->page[page];
	struct lruvec *vec;

	STEP("isolate: referenced, not owned");
	if (!page_test_clear(gp, GP_LRU))
		return false;
	STEP("isolate: owned, not locked");
	vec = page_lruvec_lock(node, gp);
	lruvec_unlink_locked(vec, page);
	lruvec_unlock(vec);
	page_set(gp, GP_ISOLATED);
	page_count_isolated(node, gp, page_nr(page_flags(gp)));
	return true;
}

int page_isolate(struct node *node, uint32_t page)
{
	if (!page_get(&node->page[page], PAGE_REF))
		return -EFAULT;
	if (own(node, page))
		return 0;
	pages_put(node, &page, 1);
	return -EBUSY;
}

static struct lruvec *put_back_one(struct node *node, uint32_t page,
				   struct lruvec *vec, bool at_tail,
				   bool *again)
{
	struct group_page *gp = &node->page[page];

	vec = page_lruvec_relock_live(node, gp, vec);
	if (page_test_clear(gp, GP_ISOLATED))
		page_count_isolated(node, gp,
				    -(int64_t)page_nr(page_flags(gp)));
	*again = lruvec_link_locked(vec, page, at_tail);
	return vec;
}

void pages_put_back(struct node *node, const uint32_t *pages, uint32_t nr,
		    bool at_tail)
{
	uint32_t left = nr < CHUNK_PAGES ? (1u << nr) - 1 : UINT32_MAX;
	uint32_t again = 0;
	struct lruvec *vec = NULL;

	while (left) {
		uint32_t part = chunk_part(node, pages, &left);

		for (; part; part &= part - 1) {
			unsigned int i = (unsigned int)__builtin_ctz(part);
			bool changed;

			vec = put_back_one(node, pages[i], vec, at_tail,
					   &changed);
			again |= (uint32_t)changed << i;
		}
	}
	if (vec)
		lruvec_unlock(vec);
	for (; again; again &= again - 1)
		page_reconsider(node, pages[__builtin_ctz(again)]);
	pages_put(node, pages, nr);
}

/* Moving */

/* It may still be in a batch, of this CPU or of another. */
static int isolate_or_flush(struct node *node, uint32_t page)
{
	int error = page_isolate(node, page);

	if (error != -EBUSY)
		return error;
	batch_flush_own(node);
	error = page_isolate(node, page);
	if (error == -EBUSY && batch_flush_all(node))
		error = page_isolate(node, page);
	return error;
}

static void recharge(struct node *node, uint32_t page, struct group *to)
{
	struct group_page *gp = &node->page[page];
	struct group *from = group_of_id(node->groups, gp->group);
	uint32_t nr = page_nr(page_flags(gp));

	page_count_isolated(node, gp, -(int64_t)nr); /* [I2] */
	store_relaxed(&gp->group, to->id);
	page_count_isolated(node, gp, nr);
	group_count(to, GROUP_MOVED, nr);
	STEP("move: recharged");
	group_uncharge(from, nr);
}

int page_move(struct node *node, uint32_t page, struct group *to)
{
	int error = isolate_or_flush(node, page);

	if (error)
		return error;
	error = group_charge(to, page_nr(page_flags(&node->page[page])), 0);
	if (!error)
		recharge(node, page, to);
	pages_put_back(node, &page, 1, false);
	return error;
}
