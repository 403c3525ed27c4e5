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

static inline void put_in(struct buddy *buddy, uint32_t page,
			  unsigned int order, enum migratetype type, bool tail)
{
	struct free_list *list = &buddy->free[order][type];

	set_state(buddy, page, STATE_BUDDY | order);
	if (tail)
		link_at_tail(buddy->map->page, list, page);
	else
		link_at_head(buddy->map->page, list, page);
	list->nr++;
	store_relaxed(&buddy->orders[type],
		      buddy->orders[type] | 1ull << order);
}

static inline void take_out(struct buddy *buddy, uint32_t page,
			    unsigned int order, enum migratetype type)
{
	struct free_list *list = &buddy->free[order][type];

	DEBUG_ASSERT(state_of(buddy, page) == (STATE_BUDDY | order));
	DEBUG_ASSERT(memmap_type(buddy->map, page) == type);
	unlink_page(buddy->map->page, list, page);
	if (!--list->nr)
		store_relaxed(&buddy->orders[type],
			      buddy->orders[type] & ~(1ull << order));
}

void buddy_enlist(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail)
{
	put_in(buddy, page, order, memmap_type(buddy->map, page), tail);
}

/* The caller says what it is from here on. */
void buddy_delist(struct buddy *buddy, uint32_t page, unsigned int order)
{
	take_out(buddy, page, order, memmap_type(buddy->map, page));
}

/* Numbers: where blocks come in and go out */

/* Negative numbers wrap as they should. */
static void add_pages(struct buddy *buddy, size_t nr, size_t fresh,
		      size_t isolated)
{
	store_relaxed(&buddy->free_pages, buddy->free_pages + nr);
	if (fresh)
		store_relaxed(&buddy->fresh_pages, buddy->fresh_pages + fresh);
	if (isolated)
		store_relaxed(&buddy->isolated_pages,
			      buddy->isolated_pages + isolated);
}

static void count_pages(struct buddy *buddy, uint32_t page, unsigned int order,
			bool in)
{
	size_t nr = (size_t)1 << order;
	size_t fresh = memmap_nr_fresh(buddy->map, page, nr);
	bool isolated = memmap_type(buddy->map, page) == TYPE_ISOLATE;

	if (!in) {
		nr = -nr;
		fresh = -fresh;
	}
	add_pages(buddy, nr, fresh, isolated ? nr : 0);
}

/* Splitting */

/*
 * The block at @page, out of its list, is @order; cut until the part that holds
 * @want is @down.  The rest goes to the free lists; it is as old as it was.
 */
uint32_t buddy_cut(struct buddy *buddy, uint32_t page, unsigned int order,
		   struct part want)
{
	uint32_t since = buddy_since(buddy, page, order);
	enum migratetype type = memmap_type(buddy->map, page); /* [B1] */

	while (order > want.order) {
		uint32_t upper = page + (1u << --order);
		bool in_upper = want.page >= upper;
		uint32_t rest = in_upper ? page : upper;

		if (order >= BLOCK_ORDER)
			store_relaxed(&buddy->map->page[rest].dirty_since,
				      since);
		put_in(buddy, rest, order, type, false);
		page = in_upper ? upper : page;
		store_relaxed(&buddy->nr_split, buddy->nr_split + 1);
	}
	if (order >= BLOCK_ORDER)
		store_relaxed(&buddy->map->page[page].dirty_since, since);
	return page;
}

/* Taking */

static uint32_t take_first(struct buddy *buddy, unsigned int found,
			   unsigned int order, enum migratetype type)
{
	uint32_t page = buddy->free[found][type].first;

	take_out(buddy, page, found, type);
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

static enum migratetype other_type(enum migratetype type)
{
	return type == TYPE_MOVABLE ? TYPE_UNMOVABLE : TYPE_MOVABLE;
}

static unsigned int largest_of(const struct buddy *buddy, enum migratetype type)
{
	return 63u - (unsigned int)__builtin_clzll(buddy->orders[type]);
}

/* The pageblock around the largest block of @from, which is smaller than it,
 * changes its type if half of it is free. */
static bool convert_largest(struct buddy *buddy, enum migratetype from)
{
	uint32_t page = buddy->free[largest_of(buddy, from)][from].first;

	if (buddy_free_in_block(buddy, page) < BLOCK_PAGES / 2)
		return false;
	buddy_retype_block(buddy, page, other_type(from));
	return true;
}

/*
 * From the other type: its largest block, so that it seldom happens again.
 * Whole pageblocks change their type.
 */
static uint32_t take_others(struct buddy *buddy, unsigned int order,
			    enum migratetype type)
{
	enum migratetype other = other_type(type);
	unsigned int found, down;
	uint32_t page;

	if (!(buddy->orders[other] >> order))
		return NO_PAGE;
	store_relaxed(&buddy->nr_steal, buddy->nr_steal + 1);
	found = largest_of(buddy, other);
	if (found < BLOCK_ORDER) {
		if (convert_largest(buddy, other))
			return take_own(buddy, order, type);
		return take_first(buddy, found, order, other);
	}
	down = order > BLOCK_ORDER ? order : BLOCK_ORDER;
	page = take_first(buddy, found, down, other);
	buddy_type_blocks(buddy, page, down, type);
	return buddy_cut(buddy, page, down, (struct part){ page, order });
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

/* Blocks in the cluster from @first on that are the shard's. */
static uint64_t cluster_heads(const struct buddy *buddy, uint32_t first)
{
	uint64_t heads = buddy_heads(buddy, first);

	if (first < buddy->start)
		heads &= UINT64_MAX << (buddy->start - first);
	if (buddy->end - first < CLUSTER_PAGES)
		heads &= ~(UINT64_MAX << (buddy->end - first));
	return heads;
}

/* All that is free in the cluster of @page, all of it smaller than that. */
static uint32_t take_cluster(struct buddy *buddy, uint32_t page, uint32_t *out)
{
	enum migratetype type = memmap_type(buddy->map, page);
	uint32_t first = page & ~(CLUSTER_PAGES - 1);
	uint64_t heads = cluster_heads(buddy, first);
	uint32_t got = 0;

	for (; heads; heads &= heads - 1) {
		uint32_t at = first + (uint32_t)__builtin_ctzll(heads);
		unsigned int order = STATE_ORDER(state_of(buddy, at));

		take_out(buddy, at, order, type);
		got += put_out(buddy, at, order, out + got);
	}
	return got;
}

/* The cluster of the first block of the smallest order; some are below that of
 * a cluster. */
static uint32_t take_first_cluster(struct buddy *buddy, enum migratetype type,
				   uint32_t *out)
{
	unsigned int order = (unsigned int)__builtin_ctzll(buddy->orders[type]);

	return take_cluster(buddy, buddy->free[order][type].first, out);
}

#define BELOW_CLUSTER ((1u << CLUSTER_ORDER) - 1)

static uint32_t take_some(struct buddy *buddy, enum migratetype type,
			  uint32_t *out)
{
	uint32_t page;

	if (buddy->orders[type] & BELOW_CLUSTER)
		return take_first_cluster(buddy, type, out);
	page = take(buddy, CLUSTER_ORDER, type);
	if (page != NO_PAGE)
		return put_out(buddy, page, CLUSTER_ORDER, out);
	if (!buddy->orders[other_type(type)])
		return 0;
	store_relaxed(&buddy->nr_steal, buddy->nr_steal + 1);
	if (convert_largest(buddy, other_type(type)))
		return take_first_cluster(buddy, type, out);
	return take_first_cluster(buddy, other_type(type), out);
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

static inline bool may_merge(const struct buddy *buddy, uint32_t other,
			     unsigned int order, enum migratetype type)
{
	if (other < buddy->start ||
	    (uint64_t)other + (1u << order) > buddy->end ||
	    state_of(buddy, other) != (STATE_BUDDY | order))
		return false;
	return order < BLOCK_ORDER ||
	       (type == TYPE_ISOLATE) ==
		       (memmap_type(buddy->map, other) == TYPE_ISOLATE);
}

/* One step up: a block of @type and its buddy @other, which leaves its list. */
static inline void merge(struct buddy *buddy, uint32_t other,
			 unsigned int order, enum migratetype type)
{
	enum migratetype theirs = memmap_type(buddy->map, other);

	take_out(buddy, other, order, theirs);
	if (theirs != type)
		buddy_type_blocks(buddy, other, order, type);
	set_state(buddy, other | 1u << order, STATE_TAIL);
	store_relaxed(&buddy->nr_merge, buddy->nr_merge + 1);
}

/* The older of two stamps; 0 is none. */
static uint32_t older(const struct buddy *buddy, uint32_t one, uint32_t other)
{
	if (!one || !other)
		return one | other;
	return buddy->tick - one > buddy->tick - other ? one : other;
}

static uint32_t stamp_of(const struct buddy *buddy, uint32_t page,
			 unsigned int order)
{
	return memmap_fresh(buddy->map, page, (size_t)1 << order) ? 0
								  : buddy->tick;
}

/*
 * Into the free lists, as large as it becomes, and as old as the oldest part of
 * it: what comes and goes at its edge does not keep the rest from being given
 * back.
 */
static void settle(struct buddy *buddy, uint32_t page, unsigned int order,
		   bool tail, uint32_t since)
{
	enum migratetype type = memmap_type(buddy->map, page);
	struct page *pages = buddy->map->page;

	while (order < MAX_ORDER) {
		uint32_t other = page ^ (1u << order);

		if (!may_merge(buddy, other, order, type))
			break;
		if (order >= BLOCK_ORDER)
			since = older(buddy, since, pages[other].dirty_since);
		merge(buddy, other, order, type);
		page &= other;
		order++;
		if (order == BLOCK_ORDER)
			since = stamp_of(buddy, page, order);
	}
	if (order >= BLOCK_ORDER)
		store_relaxed(&pages[page].dirty_since, since);
	put_in(buddy, page, order, type, tail);
}

void buddy_settle(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail)
{
	settle(buddy, page, order, tail,
	       order >= BLOCK_ORDER ? stamp_of(buddy, page, order) : 0);
}

/* Parts of it may have been isolated while it was out. */
static bool is_mixed(const struct buddy *buddy, uint32_t page,
		     unsigned int order)
{
	const uint8_t *type = buddy->map->block_type + (page >> BLOCK_ORDER);
	bool any = false, all = true;

	for (uint32_t i = 0; i < 1u << (order - BLOCK_ORDER); i++) {
		any |= type[i] == TYPE_ISOLATE;
		all &= type[i] == TYPE_ISOLATE;
	}
	return any && !all;
}

static void give_one(struct buddy *buddy, uint32_t page, unsigned int order,
		     bool tail)
{
	count_pages(buddy, page, order, true);
	buddy_settle(buddy, page, order, tail);
}

void buddy_give_locked(struct buddy *buddy, uint32_t page, unsigned int order,
		       bool tail)
{
	if (likely(order <= BLOCK_ORDER)) {
		give_one(buddy, page, order, tail);
		return;
	}
	if (is_mixed(buddy, page, order)) {
		for (uint32_t i = 0; i < 1u << order; i += BLOCK_PAGES)
			give_one(buddy, page + i, BLOCK_ORDER, tail);
		return;
	}
	buddy_type_blocks(buddy, page, order, memmap_type(buddy->map, page));
	give_one(buddy, page, order, tail);
}

/* Of a run that begins at @page. */
static unsigned int largest_block(uint32_t page, size_t nr)
{
	unsigned int order =
		(unsigned int)__builtin_ctz(page | 1u << MAX_ORDER);
	unsigned int most = 63u - (unsigned int)__builtin_clzll(nr);

	return order < most ? order : most;
}

void buddy_give_rest(struct buddy *buddy, uint32_t page, size_t nr,
		     uint32_t since)
{
	while (nr) {
		unsigned int order = largest_block(page, nr);

		count_pages(buddy, page, order, true);
		settle(buddy, page, order, false, since);
		page += 1u << order;
		nr -= (size_t)1 << order;
	}
}

void buddy_give_run_locked(struct buddy *buddy, uint32_t page, size_t nr)
{
	uint32_t end = page + (uint32_t)nr, at = page, next;

	for (; at < end; at = next) {
		next = buddy_step(buddy, at);
		if (state_of(buddy, at) != STATE_TAIL)
			set_state(buddy, at, STATE_TAIL);
	}
	while (nr) {
		unsigned int order = largest_block(page, nr);

		buddy_give_locked(buddy, page, order, false);
		page += 1u << order;
		nr -= (size_t)1 << order;
	}
}

void buddy_give_new_locked(struct buddy *buddy, uint32_t page, size_t nr)
{
	bool fresh = buddy->map->fresh_invert;

	while (nr) {
		unsigned int order = largest_block(page, nr);
		size_t pages = (size_t)1 << order;

		add_pages(buddy, pages, fresh ? pages : 0, 0);
		settle(buddy, page, order, false,
		       fresh || order < BLOCK_ORDER ? 0 : buddy->tick);
		page += 1u << order;
		nr -= pages;
	}
}
