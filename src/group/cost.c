/* SPDX-License-Identifier: MIT */
/*
 * What reclaiming each kind of page has cost.
 *
 * Pages that were looked at and kept, were written out, or came back, were work
 * for nothing, or I/O; the kind that costs more is scanned less (reclaim.c).
 * Noted for the group whose page it was (spec B11), and for all above it, one
 * lock at a time (I-B5); halved where it exceeds a quarter of the group's size,
 * so that it follows what happens now.  Size is what is charged, since that is
 * known at each level for nothing.
 */
#include "group/group.h"

static void add_locked(struct lruvec *vec, unsigned int kind, uint64_t nr)
{
	uint64_t cost[2] = { vec->cost[0], vec->cost[1] };
	unsigned int shift;

	cost[kind] += nr;
	shift = cost[0] + cost[1] > group_usage(vec->group) / 4;
	store_relaxed(&vec->cost[0], cost[0] >> shift);
	store_relaxed(&vec->cost[1], cost[1] >> shift);
}

void cost_note(struct lruvec *vec, unsigned int kind, uint64_t nr)
{
	uint32_t index = vec->node->index;
	struct group *group = vec->group;

	if (!nr)
		return;
	for (; group; group = group->parent) {
		struct lruvec *at = &group->vec[index];

		lock_take(at->lock);
		add_locked(at, kind, nr);
		lock_release(at->lock);
	}
}
