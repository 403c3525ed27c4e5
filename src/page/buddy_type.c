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

uint32_t buddy_free_in_block(const struct buddy *buddy, uint32_t page)
{
	uint32_t end = end_of_block(buddy, page);
	uint32_t at = buddy_next_free(buddy, first_of_block(buddy, page), end);
	uint32_t nr = 0;

	while (at < end) {
		uint32_t next = buddy_step(buddy, at);

		nr += next - at;
		at = buddy_next_free(buddy, next, end);
	}
	return nr;
}

void buddy_retype_block(struct buddy *buddy, uint32_t page,
			enum migratetype type)
{
	enum migratetype old = memmap_type(buddy->map, page);
	uint32_t end = end_of_block(buddy, page);
	uint32_t at = buddy_next_free(buddy, first_of_block(buddy, page), end);
	uint8_t *place = &buddy->map->block_type[page >> BLOCK_ORDER];

	while (at < end) {
		unsigned int order = STATE_ORDER(state_of(buddy, at));

		buddy_delist(buddy, at, order);
		store_relaxed(place, (uint8_t)type);
		buddy_enlist(buddy, at, order, true);
		store_relaxed(place, (uint8_t)old);
		at = buddy_next_free(buddy, at + (1u << order), end);
	}
	store_relaxed(place, (uint8_t)type);
}

bool buddy_block_of(const struct buddy *buddy, uint32_t page,
		    struct part *block)
{
	for (unsigned int order = 0; order <= MAX_ORDER; order++) {
		uint32_t first = page & ~((1u << order) - 1);
		unsigned int state;

		if (first < buddy->start)
			break;
		state = state_of(buddy, first);
		if (STATE_KIND(state) == STATE_TAIL)
			continue;
		*block = (struct part){ first, STATE_ORDER(state) };
		return STATE_KIND(state) == STATE_BUDDY &&
		       STATE_ORDER(state) >= order; /* [S1] */
	}
	return false;
}

/* The free block that is larger than the pageblock of @page and holds it. */
static bool larger_block_of(const struct buddy *buddy, uint32_t page,
			    struct part *block)
{
	return buddy_block_of(buddy, first_of_block(buddy, page), block) &&
	       block->order > BLOCK_ORDER;
}

/* It is cut, so that the pageblock stands alone. */
static void stand_alone(struct buddy *buddy, uint32_t page, struct part block)
{
	struct part want = { page & ~(BLOCK_PAGES - 1), BLOCK_ORDER };

	buddy_delist(buddy, block.page, block.order);
	buddy_cut(buddy, block.page, block.order, want);
	buddy_enlist(buddy, want.page, want.order, false);
}

/* A pageblock that is free as a whole may have become one with others. */
static void merge_again(struct buddy *buddy, uint32_t page)
{
	uint32_t first = first_of_block(buddy, page);

	if (state_of(buddy, first) != (STATE_BUDDY | BLOCK_ORDER))
		return;
	buddy_delist(buddy, first, BLOCK_ORDER);
	buddy_settle(buddy, first, BLOCK_ORDER, true);
}

uint32_t buddy_set_type_locked(struct buddy *buddy, uint32_t page,
			       enum migratetype type)
{
	enum migratetype old = memmap_type(buddy->map, page);
	bool was_out = old == TYPE_ISOLATE, is_out = type == TYPE_ISOLATE;
	struct part block;
	uint32_t nr;

	if (larger_block_of(buddy, page, &block)) {
		if (old == type)
			return BLOCK_PAGES;
		stand_alone(buddy, page, block);
	}
	nr = buddy_free_in_block(buddy, page);
	if (old == type)
		return nr;
	buddy_retype_block(buddy, page, type);
	store_relaxed(&buddy->isolated_pages, buddy->isolated_pages +
						      (is_out ? nr : 0) -
						      (was_out ? nr : 0));
	merge_again(buddy, page);
	return nr;
}
