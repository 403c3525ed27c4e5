/* SPDX-License-Identifier: MIT */
/*
 * Pages as their users see them: new ones, and what is said of them.
 *
 * [A1] A page is charged before it is allocated, and allocated before anybody
 *	can know its number, so it says its group before it is on any list (R3).
 * [A2] Its state in the zone says that it is charged, so that the zone refuses to
 *	free it (page/state.h); that costs the zone nothing.
 * [A3] A touch takes no lock, and writes nothing where the page is active and
 *	known to be used.
 */
#include <errno.h>

#include "base/step.h"
#include "group/group.h"
#include "page/fast.h"
#include "page/slow.h"

#define ZONE_FLAGS (QUIRE_MOVABLE | QUIRE_ZERO)

/* New ones */

/* Times that all zones are asked, once they have to be reclaimed. */
#define ATTEMPTS 4

static int64_t take_listed(const struct quire_zone *zone, unsigned int order,
			   unsigned int flags)
{
	if (likely(order <= PCP_MAX_ORDER && flags <= QUIRE_MOVABLE))
		return block_alloc_fast(zone, order, (enum migratetype)flags);
	return -1;
}

/* @eager: also where that means to reclaim. */
static int64_t take_block(struct quire_zone *zone, unsigned int order,
			  unsigned int flags, bool eager)
{
	int64_t page = take_listed(zone, order, flags);
	uint32_t slow;

	if (likely(page >= 0))
		return page;
	if (!eager && zone_usable_pages(zone) <
			      zone->watermark_low + ((size_t)1 << order))
		return -1;
	slow = zone_alloc_slow(zone, order, flags);
	return slow == NO_PAGE ? -1 : (int64_t)slow;
}

static void begin(struct node *node, uint32_t page, struct group *group,
		  const struct quire_page_request *request)
{
	struct group_page *gp = &node->page[page];
	uint32_t flags = GP_CHARGED | request->order << GP_ORDER_SHIFT |
			 request->owner << GP_OWNER_SHIFT;

	if (request->kind == QUIRE_PAGE_ANON)
		flags |= GP_ANON;
	if (request->owner)
		flags |= trace_find(node, group, request->owner, request->key,
				    flags);
	store_relaxed(&node->zone->state[page],
		      (uint8_t)(STATE_HEAD | (STATE_CHARGED + request->order)));
	gp->key = request->key;
	store_relaxed(&gp->group, group->id);
	store_relaxed(&gp->flags, flags);
	store_release(&gp->refs, PAGE_REF); /* pairs with page_get */
}

static void *take_once(struct group *group,
		       const struct quire_page_request *request, bool eager)
{
	struct quire_groups *groups = group->groups;
	uint32_t at = request->zone;

	for (uint32_t i = 0; i < groups->nr_nodes; i++) {
		struct node *node = &groups->node[at];
		int64_t page = take_block(node->zone, request->order,
					  request->flags & ZONE_FLAGS, eager);

		if (likely(page >= 0)) {
			begin(node, (uint32_t)page, group, request);
			return zone_address(node->zone, (uint32_t)page);
		}
		at = at + 1 == groups->nr_nodes ? 0 : at + 1;
	}
	return NULL;
}

static int why_none(const struct quire_groups *groups)
{
	for (uint32_t i = 0; i < groups->nr_nodes; i++)
		if (!load_relaxed(&groups->node[i].zone->offline))
			return ENOMEM;
	return ENXIO;
}

/* From any zone that has some; then from any that can be made to have some,
 * again if others took it, as long as that can be. */
static void *take_page(struct group *group,
		       const struct quire_page_request *request)
{
	void *page = take_once(group, request, group->groups->nr_nodes == 1);

	for (int i = 1; unlikely(!page) && i < ATTEMPTS; i++)
		page = take_once(group, request, true);
	if (unlikely(!page))
		errno = why_none(group->groups);
	return page;
}

void *group_page_alloc(struct group *group,
		       const struct quire_page_request *request)
{
	uint64_t nr = (uint64_t)1 << request->order;
	bool reserved = request->flags & QUIRE_GROUP_RESERVED;
	void *page;
	int error = 0;

	if (!reserved)
		error = group_charge(group, nr,
				     request->flags & QUIRE_GROUP_NO_RECLAIM
					     ? CHARGE_NO_RECLAIM
					     : 0); /* [A1] */
	if (unlikely(error)) {
		errno = -error;
		return NULL;
	}
	page = take_page(group, request);
	if (unlikely(!page) && !reserved)
		group_uncharge(group, nr);
	return page;
}

/* What is said of them */

/* To a batch, with a reference; blocks at once. */
static void collect(struct node *node, enum batch which, uint32_t page)
{
	if (likely(!page_order(page_flags(&node->page[page]))))
		batch_push(node, which, page);
	else
		batch_move(node, which, &page, 1);
}

static int ask(struct node *node, enum batch which, uint32_t page)
{
	if (!page_get(&node->page[page], PAGE_REF))
		return -EFAULT;
	collect(node, which, page);
	return 0;
}

int group_page_add(struct node *node, uint32_t page)
{
	struct group_page *gp = &node->page[page];

	if (!page_owner(page_flags(gp)))
		return -EINVAL;
	if (page_set(gp, GP_ADDED) & GP_ADDED)
		return -EALREADY;
	return ask(node, BATCH_ADD, page);
}

void group_page_touch(struct node *node, uint32_t page)
{
	struct group_page *gp = &node->page[page];
	uint32_t flags = page_flags(gp);

	if (!(flags & GP_REFERENCED)) {
		page_set(gp, GP_REFERENCED);
		return;
	}
	if (likely(flags & (GP_WANT_ACTIVE | GP_UNEVICTABLE))) /* [A3] */
		return;
	if (!(flags & GP_LRU)) {
		page_set(gp, GP_WANT_ACTIVE);
		return;
	}
	/* So that it is collected once. */
	if (page_test_clear(gp, GP_REFERENCED))
		ask(node, BATCH_ACTIVATE, page);
}

int group_page_deactivate(struct node *node, uint32_t page)
{
	struct group_page *gp = &node->page[page];

	page_clear(gp, GP_REFERENCED);
	if (page_flags(gp) & GP_LRU)
		return ask(node, BATCH_DEACTIVATE, page);
	page_clear(gp, GP_WANT_ACTIVE);
	return 0;
}

int group_page_rotate(struct node *node, uint32_t page)
{
	if (!(page_flags(&node->page[page]) & GP_LRU))
		return 0;
	return ask(node, BATCH_ROTATE, page);
}

/* The bit and the look for GP_LRU are one access: see lruvec_link_locked. */
int group_page_set_evictable(struct node *node, uint32_t page, bool evictable)
{
	struct group_page *gp = &node->page[page];

	if (!page_get(gp, PAGE_REF))
		return -EFAULT;
	if (evictable)
		page_clear(gp, GP_UNEVICTABLE);
	else
		page_set(gp, GP_UNEVICTABLE);
	STEP("evictable: said, not moved");
	page_reconsider(node, page);
	pages_put(node, &page, 1);
	return 0;
}
