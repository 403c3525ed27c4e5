/* SPDX-License-Identifier: MIT */
/*
 * A batch of single pages into the free lists.
 *
 * Pages that were allocated together are often freed together: they follow each
 * other, up or down, and one after the other would merge into a block that can
 * be seen before.  It is given as that block: one list is touched instead of
 * two for each page, while the lock is held.
 *
 * [B5] The lists are what they would be had each page been given by itself, in
 *	this order (spec I-A3), and so is nr_merge: while a block is not
 *	complete its parts merge with each other only, for the rest of it is
 *	out; and what they left behind in lists is gone when it is.
 */
#include "page/buddy_inside.h"

/* 1: the second follows the first; UINT32_MAX, which is -1: it goes before it;
 * 0: neither.  In batches of no order the branches here go one way. */
static uint32_t step_of(const uint32_t *pages, uint32_t nr)
{
	uint32_t step = nr > 1 ? pages[1] - pages[0] : 0;

	return step + 1 <= 2 ? step : 0;
}

/* How many pages, from the first on, are each the last plus @step. */
static uint32_t row_of(const uint32_t *pages, uint32_t nr, uint32_t step)
{
	uint32_t row = 1;

	while (row < nr && pages[row] == pages[row - 1] + step)
		row++;
	return row;
}

/* Of the largest block in a row of @nr pages that begins at @edge, or ends
 * there; in one pageblock, for types of others may differ. */
static unsigned int order_at(uint32_t edge, uint32_t nr)
{
	unsigned int order = (unsigned int)__builtin_ctz(edge | BLOCK_PAGES);
	unsigned int most = 31u - (unsigned int)__builtin_clz(nr);

	return order < most ? order : most;
}

static void give_block(struct buddy *buddy, uint32_t page, unsigned int order)
{
	uint32_t nr = 1u << order;

	for (uint32_t i = 1; i < nr; i++)
		set_state(buddy, page + i, STATE_TAIL);
	store_relaxed(&buddy->nr_merge, buddy->nr_merge + nr - 1);
	buddy_give_locked(buddy, page, order, false);
}

static void give_up(struct buddy *buddy, uint32_t page, uint32_t nr)
{
	while (nr) {
		unsigned int order = order_at(page, nr);

		give_block(buddy, page, order);
		page += 1u << order;
		nr -= 1u << order;
	}
}

static void give_down(struct buddy *buddy, uint32_t page, uint32_t nr)
{
	uint32_t end = page + 1;

	while (nr) {
		unsigned int order = order_at(end, nr);

		end -= 1u << order;
		nr -= 1u << order;
		give_block(buddy, end, order);
	}
}

static void give_row(struct buddy *buddy, uint32_t page, uint32_t nr,
		     uint32_t step)
{
	if (step == 1)
		give_up(buddy, page, nr);
	else
		give_down(buddy, page, nr);
}

void buddy_give_pages_locked(struct buddy *buddy, const uint32_t *pages,
			     uint32_t nr)
{
	while (nr) {
		uint32_t step = step_of(pages, nr), row = 1;

		if (step) {
			row = row_of(pages, nr, step);
			give_row(buddy, pages[0], row, step);
		} else {
			buddy_give_locked(buddy, pages[0], 0, false);
		}
		pages += row;
		nr -= row;
	}
}
