/* SPDX-License-Identifier: MIT */
/*
 * Owners: whom to ask about a page.
 *
 * An entry is written whole before its id is told to anyone, and cleared only
 * when no page says it any more; so who has a page reads its owner's entry
 * without a lock.  Whether there is such a page is found by looking at all
 * records: removing is rare, and counting would cost each allocation a line
 * that all CPUs write.
 */
#include <errno.h>

#include "group/group.h"

bool owner_is_known(const struct quire_groups *groups, uint32_t id)
{
	return !id || load_relaxed(&groups->owner[id].drop);
}

int owner_add(struct quire_groups *groups, const struct quire_owner *owner,
	      uint32_t *id)
{
	uint32_t at = 1;

	lock_take(&groups->tree_lock);
	while (at < OWNERS_MAX && groups->owner[at].drop)
		at++;
	if (at < OWNERS_MAX)
		groups->owner[at] = *owner;
	lock_release(&groups->tree_lock);
	if (at == OWNERS_MAX)
		return -ENOSPC;
	*id = at;
	return 0;
}

static bool has_page(struct node *node, uint32_t id)
{
	const struct memmap *map = &node->zone->map;

	for (uint32_t page = map->start; page < map->end; page++)
		if (state_is_charged(load_relaxed(&map->state[page])) &&
		    page_owner(page_flags(&node->page[page])) == id)
			return true;
	return false;
}

int owner_remove(struct quire_groups *groups, uint32_t id)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		if (has_page(&groups->node[i], id))
			return -EBUSY;
	lock_take(&groups->tree_lock);
	groups->owner[id] = (struct quire_owner){ .size = 0 };
	lock_release(&groups->tree_lock);
	return 0;
}
