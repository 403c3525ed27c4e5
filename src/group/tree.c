/* SPDX-License-Identifier: MIT */
/*
 * The tree, and the life of a group.
 *
 *	free ── create ──> alive ── delete ──> dead ── last page, hold ──> free
 *	(GROUP_FREE)	   0			GROUP_DEAD
 *
 * The state stands in the word that counts pages and holds, so who takes the
 * last of them away learns in the same instant that it was the last [T2].
 *
 * [D1] A group is freed once: by who changes GROUP_DEAD to GROUP_FREE.  One that
 *	charges a stale handle may add and subtract at any time meanwhile, also
 *	to a group that is free, or in use anew; so the word is never stored,
 *	only changed.
 * [D2] A dead group is out of the tree, but keeps its parent, whose word counts
 *	the dead one's pages.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

static void start_anew(struct quire_groups *groups, struct group *group)
{
	for (unsigned int i = 0; i < NR_GROUP_COUNTS; i++)
		group->count[i] = 0;
	group->limit[QUIRE_GROUP_MIN] = group->limit[QUIRE_GROUP_LOW] = 0;
	group->limit[QUIRE_GROUP_HIGH] = QUIRE_GROUP_NO_LIMIT;
	group->limit[QUIRE_GROUP_MAX] = QUIRE_GROUP_NO_LIMIT;
	group->protected_min = group->protected_low = 0;
	group->peak = group->age = group->cursor = 0;
	group->nr_children = 0;
	list_init(&group->children);
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		lruvec_init(&group->vec[i], group, &groups->node[i]);
}

static struct group *fresh_locked(struct quire_groups *groups)
{
	struct group *group;

	if (groups->nr_used == groups->max_groups + 1)
		return NULL;
	group = group_of_id(groups, groups->nr_used);
	group->id = groups->nr_used++;
	group->groups = groups;
	group->usage = GROUP_FREE;
	return group;
}

static struct group *take_free_locked(struct quire_groups *groups)
{
	struct list *oldest = groups->free.next;

	if (list_empty(&groups->free))
		return fresh_locked(groups);
	list_remove(oldest);
	return container_of(oldest, struct group, link);
}

static void enter_locked(struct group *group, struct group *parent)
{
	struct quire_groups *groups = group->groups;

	start_anew(groups, group);
	group->parent = parent;
	group->level = parent ? parent->level + 1 : 0;
	if (parent) {
		list_add_tail(&parent->children, &group->link);
		parent->nr_children++;
	}
	groups->nr_alive++;
	store_release(&group->dead, 0);
	__atomic_fetch_and(&group->usage, ~GROUP_FREE, __ATOMIC_RELEASE);
}

int tree_init(struct quire_groups *groups)
{
	struct group *root;

	lock_init(&groups->tree_lock, RANK_GROUP_TREE);
	list_init(&groups->free);
	groups->nr_used = GROUP_ROOT;
	root = fresh_locked(groups);
	ASSERT(root->id == GROUP_ROOT);
	enter_locked(root, NULL);
	return 0;
}

int group_create(struct group *parent, struct group **out)
{
	struct quire_groups *groups = parent->groups;
	struct group *group = NULL;
	int error = -ENOSPC;

	lock_take(&groups->tree_lock);
	if (load_relaxed(&parent->dead))
		error = -ESTALE;
	else if (parent->level + 1 < GROUP_LEVELS)
		group = take_free_locked(groups);
	if (group)
		enter_locked(group, parent);
	lock_release(&groups->tree_lock);
	if (!group)
		return error;
	*out = group;
	return 0;
}

int tree_remove(struct group *group)
{
	struct quire_groups *groups = group->groups;
	int error = 0;

	lock_take(&groups->tree_lock);
	if (load_relaxed(&group->dead))
		error = -ESTALE;
	else if (group->nr_children)
		error = -EBUSY;
	if (!error) {
		list_remove(&group->link);
		group->parent->nr_children--;
		groups->nr_alive--;
		groups->nr_dead++;
		store_release(&group->dead, 1); /* pairs with group_live */
		__atomic_fetch_or(&group->usage, GROUP_DEAD, __ATOMIC_SEQ_CST);
	}
	lock_release(&groups->tree_lock);
	return error;
}

static __attribute__((noinline)) void set_free(struct group *group)
{
	struct quire_groups *groups = group->groups;

	if (!cas_acq_rel(&group->usage, GROUP_DEAD, GROUP_FREE)) /* [D1] */
		return;
	lock_take(&groups->tree_lock);
	for (unsigned int i = 0; i < NR_GROUP_COUNTS; i++)
		add_relaxed(&groups->gone[i], load_relaxed(&group->count[i]));
	store_relaxed(&group->generation, group->generation + 1);
	groups->nr_dead--;
	list_add_tail(&groups->free, &group->link);
	lock_release(&groups->tree_lock);
}

void group_hold(struct group *group)
{
	add_relaxed(&group->usage, GROUP_HOLD);
}

void group_sub(struct group *group, uint64_t delta)
{
	/* in one order with waiters (wait.c) */
	uint64_t old =
		__atomic_fetch_sub(&group->usage, delta, __ATOMIC_SEQ_CST);

	ASSERT(delta & GROUP_HOLD || PAGES_OF(old) >= delta);
	if (unlikely(old - delta == GROUP_DEAD)) {
		STEP("group: nothing left");
		set_free(group);
	}
}

void group_release(struct group *group)
{
	group_sub(group, GROUP_HOLD);
}

static struct group *next_locked(struct group *top, struct group *group)
{
	if (!list_empty(&group->children))
		return container_of(group->children.next, struct group, link);
	while (group != top) {
		struct group *parent = group->parent;

		if (group->link.next != &parent->children)
			return container_of(group->link.next, struct group,
					    link);
		group = parent;
	}
	return NULL;
}

struct group *group_next(struct group *top, struct group *group)
{
	struct quire_groups *groups = top->groups;
	struct group *next = NULL;

	lock_take(&groups->tree_lock);
	if (!load_relaxed(&group->dead))
		next = next_locked(top, group);
	if (next)
		group_hold(next);
	lock_release(&groups->tree_lock);
	group_release(group);
	return next;
}
