/* SPDX-License-Identifier: MIT */
/* The walker of a shard: panics where [S1] or [B1] to [B3] do not hold. */
#include "page/buddy_inside.h"

struct sums {
	uint64_t blocks;
	size_t pages, isolated, fresh;
};

static void check_tails(const struct buddy *buddy, uint32_t page,
			unsigned int order)
{
	for (uint32_t i = 1; i < 1u << order; i++)
		ASSERT(state_of(buddy, page + i) == STATE_TAIL); /* [S1] */
}

static void check_types(const struct buddy *buddy, uint32_t page,
			unsigned int order, enum migratetype type)
{
	for (uint32_t i = 0; i < 1u << order; i += BLOCK_PAGES)
		ASSERT(memmap_type(buddy->map, page + i) == type); /* [B1] */
}

static void check_alone(const struct buddy *buddy, uint32_t page,
			unsigned int order, enum migratetype type)
{
	uint32_t other = page ^ (1u << order);

	if (order == MAX_ORDER || other < buddy->start ||
	    other + (1u << order) > buddy->end ||
	    state_of(buddy, other) != (STATE_BUDDY | order))
		return;
	ASSERT((memmap_type(buddy->map, other) == TYPE_ISOLATE) !=
	       (type == TYPE_ISOLATE)); /* [B2] */
}

static void check_block(const struct buddy *buddy, uint32_t page,
			unsigned int order, enum migratetype type)
{
	size_t nr = (size_t)1 << order;
	const struct page *first = &buddy->map->page[page];

	ASSERT(page >= buddy->start && page + nr <= buddy->end);
	ASSERT(!(page & (nr - 1)));
	ASSERT(state_of(buddy, page) == (STATE_BUDDY | order));
	check_tails(buddy, page, order);
	check_types(buddy, page, order, type);
	check_alone(buddy, page, order, type);
	if (order >= BLOCK_ORDER && !first->dirty_since)
		ASSERT(memmap_fresh(buddy->map, page, nr));
}

static void check_list(const struct buddy *buddy, unsigned int order,
		       enum migratetype type, struct sums *sums)
{
	const struct free_list *list = &buddy->free[order][type];
	const struct page *pages = buddy->map->page;
	uint32_t before = NO_PAGE;
	uint64_t nr = 0;

	for (uint32_t at = list->first; at != NO_PAGE; at = pages[at].next) {
		ASSERT(pages[at].prev == before);
		ASSERT(nr++ < list->nr);
		check_block(buddy, at, order, type);
		sums->fresh +=
			memmap_nr_fresh(buddy->map, at, (size_t)1 << order);
		before = at;
	}
	ASSERT(list->last == before && list->nr == nr); /* [B3] */
	ASSERT(!nr == !(buddy->orders[type] >> order & 1));
	sums->blocks += nr;
	sums->pages += nr << order;
	if (type == TYPE_ISOLATE)
		sums->isolated += nr << order;
}

/* No block says that it is free and is in no list. */
static uint64_t nr_free_by_state(const struct buddy *buddy)
{
	uint64_t nr = 0;

	for (uint32_t at = buddy->start; at < buddy->end;) {
		unsigned int state = state_of(buddy, at);

		if (STATE_KIND(state) != STATE_BUDDY) {
			at++;
			continue;
		}
		at += 1u << STATE_ORDER(state);
		nr++;
	}
	return nr;
}

void buddy_check_locked(const struct buddy *buddy)
{
	struct sums sums = { 0 };

	for (unsigned int order = 0; order < NR_ORDERS; order++)
		for (int type = 0; type < NR_TYPES; type++)
			check_list(buddy, order, (enum migratetype)type, &sums);
	ASSERT(sums.pages == buddy->free_pages);
	ASSERT(sums.isolated == buddy->isolated_pages);
	ASSERT(sums.fresh == buddy->fresh_pages);
	ASSERT(sums.blocks == nr_free_by_state(buddy));
}
