/* SPDX-License-Identifier: MIT */
/*
 * The old ends of the lists.
 *
 *	inactive ── isolate up to 32 ──┬─ used, held, refused: put back
 *		    (one hold)	       └─ isolate?, clean?, freeze, drop, free
 *	active ──── up to 32 (one hold) ─┬─ used: to the new end
 *					 └─ to inactive
 *
 * [S1] Owners are asked with no lock held (spec I-B4), each page once.
 * [S2] A page is dropped only when the owner's reference and ours are all there
 *	are, and from then on nobody gets one (page_freeze).
 * [S3] A page whose time has come but that was used once has a second chance:
 *	the use is forgotten and it goes to the new end.
 * [S4] A pinned page is passed over at the cost of two links.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

struct chunk {
	uint32_t page[CHUNK_PAGES], nr;	       /* owned, referenced */
	uint32_t aside[CHUNK_PAGES], nr_aside; /* referenced only */
	uint64_t scanned;
};

/* A reference and the bit; else it goes to the new end, where it is in nobody's
 * way. */
static bool own_locked(struct lruvec *vec, enum lru which, uint32_t page,
		       struct chunk *chunk)
{
	struct group_page *gp = &vec->node->page[page];
	bool isolate = !(which & LRU_ACTIVE);

	if (!PINS_OF(load_relaxed(&gp->refs)) && page_get(gp, PAGE_REF)) {
		if (isolate ? page_test_isolate(gp)
			    : page_test_clear(gp, GP_LRU))
			return true;
		chunk->aside[chunk->nr_aside++] = page;
	}
	lruvec_rotate_locked(vec, which, page);
	return false;
}

/* Inactive */

/* The record of the page after this one, before it is needed. */
static void fetch_next(const struct lruvec *vec, uint32_t page)
{
	uint32_t next = vec->node->page[page].prev;

	if (next != NO_PAGE)
		__builtin_prefetch(&vec->node->page[next], 1);
}

static void isolate_locked(struct lruvec *vec, enum lru which, uint32_t nr,
			   struct chunk *chunk)
{
	struct lru_list *list = &vec->list[which];
	int64_t isolated = 0;

	for (; nr-- && list->tail != NO_PAGE;) {
		uint32_t page = list->tail;
		uint32_t blocks = page_nr(page_flags(&vec->node->page[page]));

		fetch_next(vec, page);
		chunk->scanned += blocks;
		if (!own_locked(vec, which, page, chunk))
			continue;
		lruvec_unlink_locked(vec, page);
		isolated += blocks;
		chunk->page[chunk->nr++] = page;
	}
	add_relaxed(&vec->nr_isolated, isolated);
}

/* What becomes of a page. */
enum fate { KEPT, ASKED, DROPPED };

static enum fate clean_and_freeze(struct node *node, uint32_t page,
				  const struct quire_owner *owner, int dirty)
{
	struct group_page *gp = &node->page[page];
	void *address = node->zone->base + ((size_t)page << PAGE_SHIFT);

	if (dirty) {
		if (!owner->clean || owner->clean(owner->arg, address, gp->key))
			return ASKED;
		group_count(group_of_id(node->groups, gp->group), GROUP_CLEANED,
			    page_nr(page_flags(gp)));
	}
	STEP("shrink: clean, not frozen");
	if (!page_freeze(gp)) /* [S2] */
		return ASKED;
	trace_leave(node, gp); /* its age is told by settle */
	owner->drop(owner->arg, address, gp->key);
	return DROPPED;
}

static enum fate decide(struct node *node, uint32_t page)
{
	struct group_page *gp = &node->page[page];
	uint32_t flags = page_flags(gp);
	const struct quire_owner *owner =
		&node->groups->owner[page_owner(flags)];
	void *address = node->zone->base + ((size_t)page << PAGE_SHIFT);
	enum fate fate;
	int dirty = 0;

	if (flags & (GP_UNEVICTABLE | GP_WANT_ACTIVE))
		return KEPT;
	if (page_test_clear(gp, GP_REFERENCED)) /* [S3] */
		return KEPT;
	if (load_relaxed(&gp->refs) != 2)
		return KEPT;
	if (owner->isolate)
		dirty = owner->isolate(owner->arg, address, gp->key);
	if (dirty < 0)
		return KEPT;
	fate = clean_and_freeze(node, page, owner, dirty);
	if (fate == ASKED && owner->put_back)
		owner->put_back(owner->arg, address, gp->key);
	return fate;
}

struct outcome {
	uint64_t dropped, kept; /* pages */
};

static struct outcome settle(struct lruvec *vec, struct chunk *chunk)
{
	uint32_t dropped[CHUNK_PAGES], nr_dropped = 0, nr_kept = 0;
	struct node *node = vec->node;
	struct outcome sum = { 0, 0 };

	ASSERT(!lock_holds_from(RANK_GROUPS)); /* [S1] */
	for (uint32_t i = 0; i < chunk->nr; i++)
		trace_fetch(node, &node->page[chunk->page[i]]);
	for (uint32_t i = 0; i < chunk->nr; i++) {
		uint32_t page = chunk->page[i];
		uint32_t nr = page_nr(page_flags(&node->page[page]));

		if (decide(node, page) == DROPPED) {
			dropped[nr_dropped++] = page;
			sum.dropped += nr;
		} else {
			chunk->page[nr_kept++] = page;
			sum.kept += nr;
		}
	}
	if (nr_dropped) {
		add_relaxed(&vec->group->age, sum.dropped);
		pages_free(node, dropped, nr_dropped);
	}
	pages_put_back(node, chunk->page, nr_kept, false);
	return sum;
}

uint64_t shrink_inactive(struct lruvec *vec, unsigned int kind, uint32_t nr)
{
	struct chunk chunk = { .nr = 0, .nr_aside = 0, .scanned = 0 };
	struct group *group = vec->group;
	struct outcome sum;

	ASSERT(nr <= CHUNK_PAGES);
	if (!lruvec_size(vec, (enum lru)(2 * kind)))
		return 0;
	lock_take(vec->lock);
	if (!vec->dead)
		isolate_locked(vec, (enum lru)(2 * kind), nr, &chunk);
	lock_release(vec->lock);
	pages_put(vec->node, chunk.aside, chunk.nr_aside);
	sum = settle(vec, &chunk);
	group_count(group, GROUP_SCANNED, chunk.scanned);
	group_count(group, GROUP_DROPPED, sum.dropped);
	group_count(group, GROUP_ROTATED, chunk.scanned - sum.dropped);
	cost_note(vec, kind, sum.kept);
	return sum.dropped;
}

/* Active */

/* Returns true as lruvec_link_locked. */
static bool age_locked(struct lruvec *vec, uint32_t page)
{
	struct group_page *gp = &vec->node->page[page];

	lruvec_unlink_locked(vec, page);
	if (!page_test_clear(gp, GP_REFERENCED)) {
		page_clear(gp, GP_WANT_ACTIVE);
		page_set(gp, GP_WORKINGSET);
		group_count(vec->group, GROUP_DEACTIVATED,
			    page_nr(page_flags(gp)));
	}
	return lruvec_link_locked(vec, page, false);
}

static uint32_t age_some_locked(struct lruvec *vec, enum lru which, uint32_t nr,
				struct chunk *chunk)
{
	struct lru_list *list = &vec->list[which];
	uint32_t again = 0;

	while (nr-- && list->tail != NO_PAGE) {
		uint32_t page = list->tail;

		if (!own_locked(vec, which, page, chunk))
			continue;
		again |= (uint32_t)age_locked(vec, page) << chunk->nr;
		chunk->page[chunk->nr++] = page;
	}
	return again;
}

void shrink_active(struct lruvec *vec, unsigned int kind, uint32_t nr)
{
	struct chunk chunk = { .nr = 0, .nr_aside = 0, .scanned = 0 };
	enum lru which = (enum lru)(2 * kind + LRU_ACTIVE);
	uint32_t again = 0;

	ASSERT(nr <= CHUNK_PAGES);
	if (!lruvec_size(vec, which))
		return;
	lock_take(vec->lock);
	if (!vec->dead)
		again = age_some_locked(vec, which, nr, &chunk);
	lock_release(vec->lock);
	for (; again; again &= again - 1)
		page_reconsider(vec->node, chunk.page[__builtin_ctz(again)]);
	pages_put(vec->node, chunk.page, chunk.nr);
	pages_put(vec->node, chunk.aside, chunk.nr_aside);
}
