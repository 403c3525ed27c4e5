/* SPDX-License-Identifier: MIT */
/*
 * Everything, walked while nobody is inside a call; threads in the background are
 * ended before, and start again when they are wanted.
 *
 *	lists	each page of them is charged, says its group and its list (I-B1,
 *		I-B2), and has the bit
 *	pages	each record with the bit is on one list: their numbers agree
 *	sums	what groups count is what pages and stocks say, level by level
 */
#include "base/assert.h"
#include "group/group.h"

struct found {
	uint64_t listed, isolated; /* pages */
};

static void check_record(struct node *node, uint32_t page, struct found *found)
{
	const struct group_page *gp = &node->page[page];
	uint32_t flags = page_flags(gp), nr = page_nr(flags);

	ASSERT(flags & GP_CHARGED);
	ASSERT(page_order(flags) == STATE_ORDER(node->zone->state[page]));
	ASSERT(gp->group && gp->group < node->groups->nr_used);
	ASSERT(REFS_OF(gp->refs) && REFS_OF(gp->refs) >= PINS_OF(gp->refs));
	ASSERT(!(flags & GP_LRU) || !(flags & GP_ISOLATED));
	found->listed += flags & GP_LRU ? nr : 0;
	found->isolated += flags & GP_ISOLATED ? nr : 0;
}

/* Parts of the zone that were never used have no memory: not looked at. */
static struct found check_records(struct node *node)
{
	struct found found = { 0, 0 };
	struct memmap *map = &node->zone->map;

	for (uint32_t page = map->start; page < map->end; page++)
		if (state_is_charged(map->state[page]))
			check_record(node, page, &found);
	return found;
}

static void check_node(struct node *node)
{
	struct found found = check_records(node);
	struct quire_groups *groups = node->groups;
	uint64_t listed = 0;
	int64_t isolated = 0;

	for (uint32_t id = GROUP_ROOT; id < groups->nr_used; id++) {
		struct lruvec *vec = &group_of_id(groups, id)->vec[node->index];

		lruvec_check(vec);
		ASSERT(vec->nr_isolated >= 0);
		isolated += vec->nr_isolated; /* I-B3 */
		for (unsigned int i = 0; i < NR_LRU; i++)
			listed += vec->list[i].nr;
	}
	ASSERT(listed == found.listed); /* I-B2 */
	ASSERT((uint64_t)isolated == found.isolated);
	percpu_check(&node->batches);
}

static uint64_t below(struct group *group)
{
	uint64_t sum = 0;

	list_for_each (item, &group->children)
		sum += group_usage(container_of(item, struct group, link));
	return sum;
}

static void check_group(struct group *group)
{
	uint64_t word = group->usage;

	if (is_free(group)) {
		ASSERT(PAGES_OF(word) == 0);
		return;
	}
	ASSERT((word & ~GROUP_DEAD) < GROUP_HOLD); /* nobody holds it */
	ASSERT(!!(word & GROUP_DEAD) == !!group->dead);
	ASSERT(!group->dead || PAGES_OF(word)); /* T2 */
	ASSERT(PAGES_OF(word) >= below(group));
	ASSERT(group->parent || group->id == GROUP_ROOT);
}

void groups_check(struct quire_groups *groups)
{
	uint32_t alive = 0, dead = 0;

	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		background_stop(&groups->node[i]);
	lock_take(&groups->tree_lock);
	for (uint32_t id = GROUP_ROOT; id < groups->nr_used; id++) {
		struct group *group = group_of_id(groups, id);

		check_group(group);
		if (!is_free(group)) {
			alive += !group->dead;
			dead += group->dead;
		}
	}
	ASSERT(alive == groups->nr_alive && dead == groups->nr_dead);
	lock_release(&groups->tree_lock);
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		check_node(&groups->node[i]);
	percpu_check(&groups->stock);
}
