/* SPDX-License-Identifier: MIT */
/*
 * Lists of a group and node, and which lock is a page's.
 *
 *	page ── group (its id) ── lruvec of the node ── lock
 *
 * [L1] Only the owner of a page (GP_LRU cleared) asks for its lock, and only the
 *	owner changes its group, so a page that is on a list is on one of the
 *	group that it says, dead or alive: there it is unlinked (R3).
 * [L2] It is linked only where the group is alive.  A group may die between the
 *	look at it and the lock; delete marks the lruvec dead under the lock, so
 *	that mark, behind the lock, says whether to look again.
 * [L3] A page is charged to the group that inherits it with no lock held, since
 *	giving it up may free the dead one.
 * [L4] Lists count pages, blocks whole (spec B2); isolated ones are counted
 *	signed, where they are, and where they go (spec B1, B10).
 */
#include "base/assert.h"
#include "base/step.h"
#include "group/group.h"

void lruvec_init(struct lruvec *vec, struct group *group, struct node *node)
{
	bool shared = group->groups->lru_lock == QUIRE_LRU_LOCK_NODE;
	struct lock counted = vec->own;

	*vec = (struct lruvec){ .group = group, .node = node };
	lock_init(&vec->own, RANK_LRU);
	vec->own.takes = counted.takes;
	vec->own.contended = counted.contended;
	vec->own.hold_cycles = counted.hold_cycles;
	vec->lock = shared ? &node->lock : &vec->own;
	for (unsigned int i = 0; i < NR_LRU; i++)
		vec->list[i].head = vec->list[i].tail = NO_PAGE;
}

uint64_t lruvec_size(const struct lruvec *vec, enum lru list)
{
	return load_relaxed(&vec->list[list].nr);
}

/* Which lock */

static struct lruvec *look_up(struct node *node, const struct group_page *gp)
{
	struct group *group =
		group_of_id(node->groups, load_relaxed(&gp->group));

	return &group->vec[node->index];
}

void page_count_isolated(struct node *node, const struct group_page *gp,
			 int64_t nr)
{
	add_relaxed(&look_up(node, gp)->nr_isolated, nr);
}

void page_rehome(struct node *node, struct group_page *gp)
{
	struct group *dead = group_of_id(node->groups, gp->group), *parent;
	struct group *live = group_live(dead);
	uint32_t flags = page_flags(gp), nr = page_nr(flags);
	int64_t isolated = flags & GP_ISOLATED ? (int64_t)nr : 0;

	if (dead == live)
		return;
	page_count_isolated(node, gp, -isolated);
	store_relaxed(&gp->group, live->id);
	page_count_isolated(node, gp, isolated);
	group_count(live, GROUP_MOVED, nr);
	for (; dead != live; dead = parent) {
		parent = dead->parent;
		group_sub(dead, nr); /* may free it [L3] */
	}
}

struct lruvec *page_lruvec_lock(struct node *node, struct group_page *gp)
{
	struct lruvec *vec = look_up(node, gp); /* [L1] */

	lock_take(vec->lock);
	return vec;
}

struct lruvec *page_lruvec_lock_live(struct node *node, struct group_page *gp)
{
	struct lruvec *vec;

	for (;;) {
		page_rehome(node, gp);
		vec = look_up(node, gp);
		STEP("lru: looked up, not locked");
		lock_take(vec->lock);
		if (likely(!vec->dead)) /* [L2] */
			return vec;
		lock_release(vec->lock);
	}
}

void lruvec_unlock(struct lruvec *vec)
{
	lock_release(vec->lock);
}

struct lruvec *page_lruvec_relock(struct node *node, struct group_page *gp,
				  struct lruvec *locked)
{
	struct lruvec *vec = look_up(node, gp);

	if (locked && locked->lock == vec->lock)
		return vec;
	if (locked)
		lruvec_unlock(locked);
	return page_lruvec_lock(node, gp);
}

struct lruvec *page_lruvec_relock_live(struct node *node, struct group_page *gp,
				       struct lruvec *locked)
{
	struct lruvec *vec = look_up(node, gp);

	if (locked && locked->lock == vec->lock && !vec->dead)
		return vec;
	if (locked)
		lruvec_unlock(locked);
	return page_lruvec_lock_live(node, gp);
}

/* On and off */

static void link_between(struct group_page *page, uint32_t at, uint32_t before,
			 uint32_t after, struct lru_list *list)
{
	page[at].prev = before;
	page[at].next = after;
	if (before == NO_PAGE)
		list->head = at;
	else
		page[before].next = at;
	if (after == NO_PAGE)
		list->tail = at;
	else
		page[after].prev = at;
}

static enum lru wanted_list(uint32_t flags)
{
	if (flags & GP_UNEVICTABLE)
		return LRU_UNEVICTABLE;
	return (enum lru)(2 * page_kind(flags) +
			  (flags & GP_WANT_ACTIVE ? LRU_ACTIVE : 0));
}

static void link_into(struct group_page *all, struct lru_list *list,
		      uint32_t page, bool at_tail)
{
	if (at_tail)
		link_between(all, page, list->tail, NO_PAGE, list);
	else
		link_between(all, page, NO_PAGE, list->head, list);
}

/*
 * Who changes what is wanted sets the bit and looks for GP_LRU in one access;
 * here GP_LRU is set and the bits are looked at in one.
 */
bool lruvec_link_locked(struct lruvec *vec, uint32_t page, bool at_tail)
{
	struct group_page *gp = &vec->node->page[page];
	uint32_t flags = page_flags(gp);
	enum lru which = wanted_list(flags);
	struct lru_list *list = &vec->list[which];
	uint32_t change = (flags ^ (uint32_t)which << GP_LIST_SHIFT) & GP_LIST;

	DEBUG_ASSERT(gp->group == vec->group->id && !vec->dead);
	ASSERT(!(flags & GP_LRU));
	link_into(vec->node->page, list, page, at_tail);
	store_relaxed(&list->nr, list->nr + page_nr(flags));
	STEP("lru: linked, not published");
	flags = __atomic_fetch_xor(&gp->flags, change | GP_LRU,
				   __ATOMIC_ACQ_REL);
	return (which == LRU_UNEVICTABLE) != !!(flags & GP_UNEVICTABLE);
}

static void unlink_from(struct group_page *all, struct lru_list *list,
			uint32_t page)
{
	struct group_page *gp = &all[page];

	if (gp->prev == NO_PAGE)
		list->head = gp->next;
	else
		all[gp->prev].next = gp->next;
	if (gp->next == NO_PAGE)
		list->tail = gp->prev;
	else
		all[gp->next].prev = gp->prev;
}

void lruvec_unlink_locked(struct lruvec *vec, uint32_t page)
{
	uint32_t flags = page_flags(&vec->node->page[page]);
	struct lru_list *list = &vec->list[page_list(flags)];

	ASSERT(list->nr >= page_nr(flags));
	unlink_from(vec->node->page, list, page);
	store_relaxed(&list->nr, list->nr - page_nr(flags));
}

/* It stays on its list, whoever owns it. */
void lruvec_rotate_locked(struct lruvec *vec, enum lru which, uint32_t page)
{
	unlink_from(vec->node->page, &vec->list[which], page);
	link_into(vec->node->page, &vec->list[which], page, false);
}

void page_reconsider(struct node *node, uint32_t page)
{
	struct group_page *gp = &node->page[page];
	struct lruvec *vec;
	bool again = true;

	while (unlikely(again) && page_test_clear(gp, GP_LRU)) {
		vec = page_lruvec_lock(node, gp);
		lruvec_unlink_locked(vec, page);
		vec = page_lruvec_relock_live(node, gp, vec);
		again = lruvec_link_locked(vec, page, false);
		lruvec_unlock(vec);
	}
}

/* Panics where a list is broken; its lock is held, or nobody is about. */
void lruvec_check(struct lruvec *vec)
{
	struct group_page *all = vec->node->page;

	for (unsigned int i = 0; i < NR_LRU; i++) {
		struct lru_list *list = &vec->list[i];
		uint32_t before = NO_PAGE;
		uint64_t nr = 0;

		for (uint32_t at = list->head; at != NO_PAGE;
		     at = all[at].next) {
			uint32_t flags = page_flags(&all[at]);

			ASSERT(all[at].prev == before);
			ASSERT(flags & GP_CHARGED && page_list(flags) == i);
			ASSERT(all[at].group == vec->group->id);
			nr += page_nr(flags);
			before = at;
		}
		ASSERT(before == list->tail && nr == list->nr); /* I-B1 */
	}
}
