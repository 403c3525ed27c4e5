/* SPDX-License-Identifier: MIT */
/*
 * What min and low are worth when a group above is reclaimed.
 *
 * As in cgroup v2.  The limits of the group that is reclaimed itself count for
 * nothing: it is what must shrink.  Those just below it count in full.  Further
 * down a group protects what it uses, up to its own limit, but all groups below
 * a parent together no more than the parent's is worth: then each gets its
 * share of that.
 */
#include "group/group.h"

static uint64_t protected_by(const struct group *group,
			     enum quire_group_limit which)
{
	return min_size(group_usage(group), group_limit(group, which));
}

static uint64_t siblings_locked(const struct group *parent,
				enum quire_group_limit which)
{
	uint64_t sum = 0;

	list_for_each (item, &parent->children)
		sum += protected_by(container_of(item, struct group, link),
				    which);
	return sum;
}

static uint64_t worth(struct group *top, struct group *group,
		      enum quire_group_limit which)
{
	uint64_t own = protected_by(group, which), above, all;
	struct lock *lock = &group->groups->tree_lock;

	if (group == top || !own)
		return 0;
	if (group->parent == top)
		return own;
	above = worth(top, group->parent, which);
	lock_take(lock);
	all = siblings_locked(group->parent, which);
	lock_release(lock);
	if (all <= above)
		return own;
	/* two numbers of pages, below 2^40: not below 2^64 as a product */
	return (uint64_t)((__uint128_t)own * above / all);
}

struct protection group_protection(struct group *top, struct group *group)
{
	if (!load_relaxed(&group->groups->any_protection))
		return (struct protection){ 0, 0 };
	return (struct protection){ worth(top, group, QUIRE_GROUP_MIN),
				    worth(top, group, QUIRE_GROUP_LOW) };
}
