/* SPDX-License-Identifier: MIT */
/*
 * Runs of free pages: any number, any alignment, wherever they fit.
 *
 * First a block that is surely large enough, from the lists.  Where there is
 * none, a walk over the shard that steps over whole blocks: slow, and exact.
 */
#include "page/buddy_inside.h"

static unsigned int order_for(size_t nr)
{
	return nr > 1 ? 64u - (unsigned int)__builtin_clzll(nr - 1) : 0;
}

static uint32_t keep_front(struct buddy *buddy, uint32_t page,
			   unsigned int order, size_t nr)
{
	buddy_give_rest(buddy, page + (uint32_t)nr, ((size_t)1 << order) - nr,
			buddy_since(buddy, page, order));
	return page;
}

static uint32_t from_lists(struct buddy *buddy, size_t nr, size_t align,
			   enum migratetype type)
{
	unsigned int order = order_for(nr > align ? nr : align);
	uint32_t page;

	if (order > MAX_ORDER)
		return NO_PAGE;
	page = buddy_take_locked(buddy, order, type);
	return page == NO_PAGE ? NO_PAGE : keep_front(buddy, page, order, nr);
}

/* The first page in [@page, @end) that is not free to be taken, or @end. */
static uint32_t first_taken(const struct buddy *buddy, uint32_t page,
			    uint32_t end)
{
	struct part block;

	while (page < end) {
		if (memmap_type(buddy->map, page) == TYPE_ISOLATE ||
		    !buddy_block_of(buddy, page, &block))
			return page;
		page = block.page + (1u << block.order);
	}
	return end;
}

static bool next_place(uint32_t *page, size_t align)
{
	size_t at = ((size_t)*page + align - 1) & ~(align - 1);

	*page = (uint32_t)at;
	return at < NO_PAGE;
}

static uint32_t find(const struct buddy *buddy, size_t nr, size_t align)
{
	uint32_t page = buddy_next_free(buddy, buddy->start, buddy->end);

	while (next_place(&page, align) && page < buddy->end &&
	       nr <= buddy->end - page) {
		uint32_t end = page + (uint32_t)nr;
		uint32_t taken = first_taken(buddy, page, end);

		if (taken == end)
			return page;
		page = buddy_next_free(buddy, buddy_step(buddy, taken),
				       buddy->end);
	}
	return NO_PAGE;
}

/* What of the block lies outside [@page, @end) stays free. */
static void carve(struct buddy *buddy, struct part block, uint32_t page,
		  uint32_t end)
{
	uint32_t last = block.page + (1u << block.order);
	uint32_t since = buddy_since(buddy, block.page, block.order);

	buddy_take_at_locked(buddy, block.page, block.order);
	if (block.page < page)
		buddy_give_rest(buddy, block.page, page - block.page, since);
	if (end < last)
		buddy_give_rest(buddy, end, last - end, since);
}

static void take_all(struct buddy *buddy, uint32_t page, uint32_t end)
{
	struct part block;

	for (uint32_t at = page; at < end;) {
		ASSERT(buddy_block_of(buddy, at, &block));
		carve(buddy, block, page, end);
		at = block.page + (1u << block.order);
	}
}

static uint32_t from_walk(struct buddy *buddy, size_t nr, size_t align)
{
	uint32_t page = find(buddy, nr, align);

	if (page != NO_PAGE)
		take_all(buddy, page, page + (uint32_t)nr);
	return page;
}

uint32_t buddy_take_run_locked(struct buddy *buddy, size_t nr, size_t align,
			       enum migratetype type)
{
	uint32_t page;

	if (!nr || nr > buddy->free_pages - buddy->isolated_pages)
		return NO_PAGE;
	page = from_lists(buddy, nr, align, type);
	if (page == NO_PAGE)
		page = from_walk(buddy, nr, align);
	for (size_t i = 0; page != NO_PAGE && i < nr; i++)
		set_state(buddy, page + (uint32_t)i, STATE_RANGE);
	return page;
}
