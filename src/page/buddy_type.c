/* SPDX-License-Identifier: MIT */
/*
 * Types of pageblocks: changed here only, under the shard's lock, together
 * with what is free in them.
 */
#include "page/buddy_inside.h"

/* Of a block that is in no list. */
void buddy_type_blocks(struct buddy *buddy, uint32_t page, unsigned int order,
		       enum migratetype type)
{
	uint32_t first = page >> BLOCK_ORDER;
	uint32_t nr = 1u << (order - BLOCK_ORDER);

	for (uint32_t i = 0; i < nr; i++)
		if (buddy->map->block_type[first + i] != type)
			store_relaxed(&buddy->map->block_type[first + i],
				      (uint8_t)type);
}

static uint32_t first_of_block(const struct buddy *buddy, uint32_t page)
{
	uint32_t first = page & ~(BLOCK_PAGES - 1);

	return first < buddy->start ? buddy->start : first;
}

static uint32_t end_of_block(const struct buddy *buddy, uint32_t page)
{
	uint32_t end = (page | (BLOCK_PAGES - 1)) + 1;

	return end > buddy->end ? buddy->end : end;
}

/* Free blocks below BLOCK_ORDER from @page on; NO_PAGE: none before @end. */
static uint32_t next_free(const struct buddy *buddy, uint32_t page,
			  uint32_t end)
{
	while (page < end && STATE_KIND(state_of(buddy, page)) != STATE_BUDDY)
		page++;
	return page < end ? page : NO_PAGE;
}

uint32_t buddy_free_in_block(const struct buddy *buddy, uint32_t page)
{
	uint32_t end = end_of_block(buddy, page);
	uint32_t at = next_free(buddy, first_of_block(buddy, page), end);
	uint32_t nr = 0;

	while (at != NO_PAGE) {
		uint32_t more = 1u << STATE_ORDER(state_of(buddy, at));

		nr += more;
		at = next_free(buddy, at + more, end);
	}
	return nr;
}

/* No free block that reaches into it is larger than it. */
void buddy_retype_block(struct buddy *buddy, uint32_t page,
			enum migratetype type)
{
	enum migratetype old = memmap_type(buddy->map, page);
	uint32_t end = end_of_block(buddy, page);
	uint32_t at = next_free(buddy, first_of_block(buddy, page), end);
	uint8_t *place = &buddy->map->block_type[page >> BLOCK_ORDER];

	while (at != NO_PAGE) {
		unsigned int order = STATE_ORDER(state_of(buddy, at));

		buddy_delist(buddy, at, order);
		store_relaxed(place, (uint8_t)type);
		buddy_enlist(buddy, at, order, true);
		store_relaxed(place, (uint8_t)old);
		at = next_free(buddy, at + (1u << order), end);
	}
	store_relaxed(place, (uint8_t)type);
}

bool buddy_block_of(const struct buddy *buddy, uint32_t page,
		    struct part *block)
{
	for (unsigned int order = 0; order <= MAX_ORDER; order++) {
		uint32_t first = page & ~((1u << order) - 1);

		if (first < buddy->start)
			return false;
		if (state_of(buddy, first) == (STATE_BUDDY | order)) {
			*block = (struct part){ first, order };
			return true;
		}
		if (state_of(buddy, first) != STATE_TAIL)
			return false; /* [S1] */
	}
	return false;
}

/* A larger free block is cut, so that the pageblock stands alone. */
static void stand_alone(struct buddy *buddy, uint32_t page)
{
	struct part block;
	uint32_t first = page & ~(BLOCK_PAGES - 1);

	if (first < buddy->start || !buddy_block_of(buddy, first, &block) ||
	    block.order <= BLOCK_ORDER)
		return;
	buddy_delist(buddy, block.page, block.order);
	first = buddy_cut(buddy, block.page, block.order,
			  (struct part){ first, BLOCK_ORDER });
	buddy_enlist(buddy, first, BLOCK_ORDER, false);
}

/* A pageblock that is free as a whole may have become one with others. */
static void merge_again(struct buddy *buddy, uint32_t page)
{
	uint32_t first = page & ~(BLOCK_PAGES - 1);

	if (first < buddy->start ||
	    state_of(buddy, first) != (STATE_BUDDY | BLOCK_ORDER))
		return;
	buddy_delist(buddy, first, BLOCK_ORDER);
	buddy_settle(buddy, first, BLOCK_ORDER, true);
}

uint32_t buddy_set_type_locked(struct buddy *buddy, uint32_t page,
			       enum migratetype type)
{
	enum migratetype old = memmap_type(buddy->map, page);
	uint32_t nr;

	stand_alone(buddy, page);
	nr = buddy_free_in_block(buddy, page);
	if (old == type)
		return nr;
	buddy_retype_block(buddy, page, type);
	if (type == TYPE_ISOLATE)
		store_relaxed(&buddy->isolated_pages,
			      buddy->isolated_pages + nr);
	if (old == TYPE_ISOLATE)
		store_relaxed(&buddy->isolated_pages,
			      buddy->isolated_pages - nr);
	merge_again(buddy, page);
	return nr;
}
