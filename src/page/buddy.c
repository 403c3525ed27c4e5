/* SPDX-License-Identifier: MIT */
/*
 * Blocks of a shard: split, merged, taken from the other type when their own
 * has none.  See buddy.h for [B1] to [B4].
 *
 * A buddy is found by its state byte alone; a descriptor is touched only where
 * a block joins or leaves a list.  Numbers of free pages are kept where blocks
 * come in and go out; what happens between lists changes none.
 */
#include "page/buddy_inside.h"

void buddy_init(struct buddy *buddy, struct memmap *map, uint32_t start,
		uint32_t end)
{
	*buddy = (struct buddy){
		.map = map, .start = start, .end = end, .tick = 1
	};
	lock_init(&buddy->lock, RANK_ZONE);
	for (int order = 0; order < NR_ORDERS; order++)
		for (int type = 0; type < NR_TYPES; type++)
			buddy->free[order][type] =
				(struct free_list){ .first = NO_PAGE,
						    .last = NO_PAGE };
}

/* Lists: a block is free from buddy_enlist to buddy_delist */

static void link_at_head(struct page *pages, struct free_list *list,
			 uint32_t page)
{
	pages[page].prev = NO_PAGE;
	pages[page].next = list->first;
	if (list->first == NO_PAGE)
		list->last = page;
	else
		pages[list->first].prev = page;
	list->first = page;
}

static void link_at_tail(struct page *pages, struct free_list *list,
			 uint32_t page)
{
	pages[page].next = NO_PAGE;
	pages[page].prev = list->last;
	if (list->last == NO_PAGE)
		list->first = page;
	else
		pages[list->last].next = page;
	list->last = page;
}

static void unlink_page(struct page *pages, struct free_list *list,
			uint32_t page)
{
	uint32_t next = pages[page].next, prev = pages[page].prev;

	if (prev == NO_PAGE)
		list->first = next;
	else
		pages[prev].next = next;
	if (next == NO_PAGE)
		list->last = prev;
	else
		pages[next].prev = prev;
}

void buddy_enlist(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail)
{
	enum migratetype type = memmap_type(buddy->map, page);
	struct free_list *list = &buddy->free[order][type];

	set_state(buddy, page, STATE_BUDDY | order);
	if (tail)
		link_at_tail(buddy->map->page, list, page);
	else
		link_at_head(buddy->map->page, list, page);
	list->nr++;
	buddy->orders[type] |= 1ull << order;
}

/* The caller says what it is from here on. */
void buddy_delist(struct buddy *buddy, uint32_t page, unsigned int order)
{
	enum migratetype type = memmap_type(buddy->map, page);
	struct free_list *list = &buddy->free[order][type];

	DEBUG_ASSERT(state_of(buddy, page) == (STATE_BUDDY | order));
	unlink_page(buddy->map->page, list, page);
	if (!--list->nr)
		buddy->orders[type] &= ~(1ull << order);
}

/* Numbers: where blocks come in and go out */

static void count_pages(struct buddy *buddy, uint32_t page, unsigned int order,
			bool in)
{
	size_t nr = (size_t)1 << order;
	size_t fresh = memmap_nr_fresh(buddy->map, page, nr);
	size_t isolated =
		memmap_type(buddy->map, page) == TYPE_ISOLATE ? nr : 0;

	if (!in) {
		nr = -nr;
		fresh = -fresh;
		isolated = -isolated;
	}
	store_relaxed(&buddy->free_pages, buddy->free_pages + nr);
	if (fresh)
		store_relaxed(&buddy->fresh_pages, buddy->fresh_pages + fresh);
	if (isolated)
		store_relaxed(&buddy->isolated_pages,
			      buddy->isolated_pages + isolated);
}

/* Splitting */

/*
 * The block at @page, out of its list, is @order; cut until the part that holds
 * @want is @down.  The rest goes to the free lists; it is as old as it was.
 */
uint32_t buddy_cut(struct buddy *buddy, uint32_t page, unsigned int order,
		   struct part want)
{
	uint32_t since =
		order >= BLOCK_ORDER ? buddy->map->page[page].dirty_since : 0;

	while (order > want.order) {
		uint32_t upper = page + (1u << --order);
		bool in_upper = want.page >= upper;
		uint32_t rest = in_upper ? page : upper;

		if (order >= BLOCK_ORDER)
			buddy->map->page[rest].dirty_since = since;
		buddy_enlist(buddy, rest, order, false);
		page = in_upper ? upper : page;
		buddy->nr_split++;
	}
	if (order >= BLOCK_ORDER)
		buddy->map->page[page].dirty_since = since;
	return page;
}

/* Taking */

static uint32_t take_first(struct buddy *buddy, unsigned int found,
			   unsigned int order, enum migratetype type)
{
	uint32_t page = buddy->free[found][type].first;

	buddy_delist(buddy, page, found);
	return buddy_cut(buddy, page, found, (struct part){ page, order });
}

/* The smallest block that is large enough. */
static uint32_t take_own(struct buddy *buddy, unsigned int order,
			 enum migratetype type)
{
	uint64_t orders = buddy->orders[type] >> order;

	if (!orders)
		return NO_PAGE;
	return take_first(buddy, order + (unsigned int)__builtin_ctzll(orders),
			  order, type);
}

/*
 * From the other type: its largest block, so that it seldom happens again.  A
 * whole pageblock changes its type; of a smaller piece, the pageblock does if
 * half of it is free.
 */
static uint32_t take_others(struct buddy *buddy, unsigned int order,
			    enum migratetype type)
{
	enum migratetype other =
		type == TYPE_MOVABLE ? TYPE_UNMOVABLE : TYPE_MOVABLE;
	uint64_t orders = buddy->orders[other] >> order;
	unsigned int found;
	uint32_t page;

	if (!orders)
		return NO_PAGE;
	found = order + 63u - (unsigned int)__builtin_clzll(orders);
	page = buddy->free[found][other].first;
	buddy->nr_steal++;
	if (found >= BLOCK_ORDER) {
		unsigned int down = order > BLOCK_ORDER ? order : BLOCK_ORDER;

		page = take_first(buddy, found, down, other);
		buddy_type_blocks(buddy, page, down, type);
		return buddy_cut(buddy, page, down,
				 (struct part){ page, order });
	}
	if (buddy_free_in_block(buddy, page) >= BLOCK_PAGES / 2) {
		buddy_retype_block(buddy, page, type);
		return take_own(buddy, order, type);
	}
	return take_first(buddy, found, order, other);
}

static uint32_t take(struct buddy *buddy, unsigned int order,
		     enum migratetype type)
{
	uint32_t page = take_own(buddy, order, type);

	if (page == NO_PAGE)
		page = take_others(buddy, order, type);
	return page;
}

static void went_out(struct buddy *buddy, uint32_t page, unsigned int order)
{
	set_state(buddy, page, STATE_LENT | order);
	count_pages(buddy, page, order, false);
}

uint32_t buddy_take_locked(struct buddy *buddy, unsigned int order,
			   enum migratetype type)
{
	uint32_t page = take(buddy, order, type);

	if (page != NO_PAGE)
		went_out(buddy, page, order);
	return page;
}

void buddy_take_at_locked(struct buddy *buddy, uint32_t page,
			  unsigned int order)
{
	ASSERT(state_of(buddy, page) == (STATE_BUDDY | order));
	buddy_delist(buddy, page, order);
	went_out(buddy, page, order);
}

/* Clusters */

static uint32_t put_out(struct buddy *buddy, uint32_t page, unsigned int order,
			uint32_t *out)
{
	uint32_t nr = 1u << order;

	count_pages(buddy, page, order, false);
	for (uint32_t i = 0; i < nr; i++) {
		out[i] = page + i;
		set_state(buddy, page + i, STATE_LENT);
	}
	return nr;
}

/* All that is free in the cluster of @page, smaller than a cluster. */
static uint32_t take_cluster(struct buddy *buddy, uint32_t page, uint32_t *out)
{
	uint32_t at = page & ~(CLUSTER_PAGES - 1), end = at + CLUSTER_PAGES;
	uint32_t got = 0;

	at = at < buddy->start ? buddy->start : at;
	end = end > buddy->end ? buddy->end : end;
	while (at < end) {
		unsigned int state = state_of(buddy, at);
		unsigned int order = STATE_ORDER(state);

		if (STATE_KIND(state) != STATE_BUDDY) {
			at++;
			continue;
		}
		buddy_delist(buddy, at, order);
		got += put_out(buddy, at, order, out + got);
		at += 1u << order;
	}
	return got;
}

static uint32_t take_some(struct buddy *buddy, enum migratetype type,
			  uint32_t *out)
{
	uint64_t orders = buddy->orders[type];
	unsigned int order;
	uint32_t page;

	if (orders & ((1u << CLUSTER_ORDER) - 1)) {
		order = (unsigned int)__builtin_ctzll(orders);
		return take_cluster(buddy, buddy->free[order][type].first, out);
	}
	for (order = CLUSTER_ORDER;; order = 0) {
		page = take(buddy, order, type);
		if (page != NO_PAGE)
			return put_out(buddy, page, order, out);
		if (!order)
			return 0;
	}
}

uint32_t buddy_take_pages_locked(struct buddy *buddy, uint32_t nr,
				 enum migratetype type, uint32_t *out)
{
	uint32_t got = 0, more;

	do {
		more = take_some(buddy, type, out + got);
		got += more;
	} while (more && got < nr);
	return got;
}

/* Giving */

static bool may_merge(const struct buddy *buddy, uint32_t other,
		      unsigned int order, enum migratetype type)
{
	if (other < buddy->start || other + (1u << order) > buddy->end ||
	    state_of(buddy, other) != (STATE_BUDDY | order))
		return false;
	return order < BLOCK_ORDER ||
	       (type == TYPE_ISOLATE) ==
		       (memmap_type(buddy->map, other) == TYPE_ISOLATE);
}

/* One step up: @page and its buddy @other, which leaves its list. */
static uint32_t merge(struct buddy *buddy, uint32_t page, uint32_t other,
		      unsigned int order)
{
	buddy_delist(buddy, other, order);
	if (order >= BLOCK_ORDER)
		buddy_type_blocks(buddy, other, order,
				  memmap_type(buddy->map, page));
	set_state(buddy, page | other, STATE_TAIL);
	buddy->nr_merge++;
	return page & other;
}

/* Into the free lists, as large as it becomes. */
void buddy_settle(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail)
{
	enum migratetype type = memmap_type(buddy->map, page);
	struct page *pages = buddy->map->page;
	bool fresh = order >= BLOCK_ORDER &&
		     memmap_fresh(buddy->map, page, (size_t)1 << order);

	while (order < MAX_ORDER) {
		uint32_t other = page ^ (1u << order);

		if (!may_merge(buddy, other, order, type))
			break;
		if (order >= BLOCK_ORDER)
			fresh = fresh && !pages[other].dirty_since;
		page = merge(buddy, page, other, order++);
		if (order == BLOCK_ORDER)
			fresh = memmap_fresh(buddy->map, page, BLOCK_PAGES);
	}
	if (order >= BLOCK_ORDER)
		pages[page].dirty_since = fresh ? 0 : buddy->tick;
	buddy_enlist(buddy, page, order, tail);
}

void buddy_give_locked(struct buddy *buddy, uint32_t page, unsigned int order,
		       bool tail)
{
	if (order > BLOCK_ORDER)
		buddy_type_blocks(buddy, page, order,
				  memmap_type(buddy->map, page));
	count_pages(buddy, page, order, true);
	buddy_settle(buddy, page, order, tail);
}

/* Its pages may be ranges that are out: every byte is written. */
void buddy_give_run_locked(struct buddy *buddy, uint32_t page, size_t nr)
{
	while (nr) {
		unsigned int order =
			(unsigned int)__builtin_ctz(page | 1u << MAX_ORDER);

		while ((size_t)1 << order > nr)
			order--;
		for (uint32_t i = 0; i < 1u << order; i++)
			set_state(buddy, page + i, STATE_TAIL);
		buddy_give_locked(buddy, page, order, false);
		page += 1u << order;
		nr -= (size_t)1 << order;
	}
}
