/* SPDX-License-Identifier: MIT */
/*
 * Deleting a group: its pages go to its parent.
 *
 *	out of the tree, dead ── stocks forgotten ── for each node:
 *	  lock ── lruvec dead ── a chunk owned and unlinked ── unlock
 *	  parent's lock ── the chunk linked, at the old end ── unlock …
 *
 * What is on a list is fetched from there; what is not (in a batch, isolated,
 * never added) goes to the parent when it comes to a list (T3), or is uncharged
 * from the dead group when it is freed.  So nothing is searched for, and
 * nothing of the group is left when its last page has gone.
 *
 * [X1] Nothing is linked to a lruvec that is dead (L2), so a sweep of its lists
 *	finds all there is.  A page on them that somebody else owns is his to
 *	unlink.
 */
#include <errno.h>

#include "base/step.h"
#include "group/group.h"

struct chunk {
	uint32_t page[CHUNK_PAGES], nr;	       /* owned, unlinked, referenced */
	uint32_t aside[CHUNK_PAGES], nr_aside; /* referenced only */
};

static void own_one_locked(struct lruvec *vec, uint32_t page,
			   struct chunk *chunk)
{
	struct group_page *gp = &vec->node->page[page];

	if (!(page_flags(gp) & GP_LRU) || !page_get(gp, PAGE_REF))
		return; /* [X1] */
	if (page_test_clear(gp, GP_LRU)) {
		lruvec_unlink_locked(vec, page);
		chunk->page[chunk->nr++] = page;
	} else {
		chunk->aside[chunk->nr_aside++] = page;
	}
}

static void own_some_locked(struct lruvec *vec, enum lru which,
			    struct chunk *chunk)
{
	uint32_t page = vec->list[which].head, next;

	chunk->nr = chunk->nr_aside = 0;
	for (; page != NO_PAGE && chunk->nr < CHUNK_PAGES &&
	       chunk->nr_aside < CHUNK_PAGES;
	     page = next) {
		next = vec->node->page[page].next;
		own_one_locked(vec, page, chunk);
	}
}

/* The newest first, each behind those before it: the order stays. */
static void inherit_list(struct lruvec *vec, enum lru which)
{
	struct chunk chunk;

	do {
		lock_take(vec->lock);
		vec->dead = true;
		own_some_locked(vec, which, &chunk);
		lock_release(vec->lock);
		STEP("delete: owned, not inherited");
		pages_put_back(vec->node, chunk.page, chunk.nr, true);
		pages_put(vec->node, chunk.aside, chunk.nr_aside);
	} while (chunk.nr || chunk.nr_aside);
}

int group_delete(struct group *group)
{
	struct quire_groups *groups = group->groups;
	int error;

	if (!group->parent)
		return -EINVAL;
	group_hold(group);
	error = tree_remove(group);
	if (!error) {
		STEP("delete: dead, not inherited");
		groups_count(groups, GROUPS_DELETED);
		stock_forget(groups);
		for (uint32_t i = 0; i < groups->nr_nodes; i++)
			for (unsigned int k = 0; k < NR_LRU; k++)
				inherit_list(&group->vec[i], (enum lru)k);
		groups_event(groups);
	}
	group_release(group);
	return error;
}
