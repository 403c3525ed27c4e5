/* SPDX-License-Identifier: MIT */
/* What the files of the buddy allocator share among themselves. */
#ifndef PAGE_BUDDY_INSIDE_H
#define PAGE_BUDDY_INSIDE_H

#include "base/assert.h"
#include "base/atomic.h"
#include "base/bits.h"
#include "page/buddy.h"

#define CLUSTER_ORDER 6

/* Of a block that is cut: the part of @order that holds @page. */
struct part {
	uint32_t page;
	unsigned int order;
};

static inline unsigned int state_of(const struct buddy *buddy, uint32_t page)
{
	return load_relaxed(&buddy->map->state[page]);
}

static inline void set_state(struct buddy *buddy, uint32_t page,
			     unsigned int state)
{
	store_relaxed(&buddy->map->state[page], (uint8_t)state);
}

/*
 * Where the next thing begins after @page: whole blocks are stepped over, and
 * tails eight at a time.  May read up to seven states behind the last page,
 * which are there (memmap.c) and mean nothing.
 */
static inline uint32_t buddy_step(const struct buddy *buddy, uint32_t page)
{
	unsigned int state = state_of(buddy, page);

	if (STATE_KIND(state) != STATE_TAIL)
		return page + (1u << STATE_ORDER(state));
	if (page % 8 ||
	    load_relaxed((const uint64_t *)(buddy->map->state + page)))
		return page + 1;
	return page + 8;
}

/* Of the 64 pages from @page on, a multiple of 64: bit set, a free block begins
 * there.  States may be read that are none of ours, as in buddy_step. */
static inline uint64_t buddy_heads(const struct buddy *buddy, uint32_t page)
{
	const uint64_t *word = (const uint64_t *)(buddy->map->state + page);
	const uint64_t ones = 0x0101010101010101;
	uint64_t heads = 0;

	for (unsigned int i = 0; i < 8; i++) {
		uint64_t states = load_relaxed(&word[i]);
		uint64_t other = states ^ STATE_BUDDY * ones;

		if (!states)
			continue;
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			other = __builtin_bswap64(other);
		other = (other >> 5 | other >> 6 | other >> 7) & ones;
		/* one bit of each byte, together in the highest byte */
		heads |= ((other ^ ones) * 0x0102040810204080 >> 56) << 8 * i;
	}
	return heads;
}

/* The first free block that begins in [@page, @end), else @end. */
static inline uint32_t buddy_next_free(const struct buddy *buddy, uint32_t page,
				       uint32_t end)
{
	while (page < end && STATE_KIND(state_of(buddy, page)) != STATE_BUDDY)
		page = buddy_step(buddy, page);
	return page < end ? page : end;
}

/* buddy.c */
void buddy_enlist(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail);
void buddy_delist(struct buddy *buddy, uint32_t page, unsigned int order);
uint32_t buddy_cut(struct buddy *buddy, uint32_t page, unsigned int order,
		   struct part want);
void buddy_settle(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail);
/* Part of a block that was free, all TAIL but for its first page: it is as old
 * as the block was. */
void buddy_give_rest(struct buddy *buddy, uint32_t page, size_t nr,
		     uint32_t since);
/* Of a free block, or of one just taken. */
static inline uint32_t buddy_since(const struct buddy *buddy, uint32_t page,
				   unsigned int order)
{
	return order >= BLOCK_ORDER ? buddy->map->page[page].dirty_since : 0;
}

/* buddy_type.c: the type of whole pageblocks */
void buddy_type_blocks(struct buddy *buddy, uint32_t page, unsigned int order,
		       enum migratetype type);
/* No free block that reaches into it may be larger than it, for these two. */
uint32_t buddy_free_in_block(const struct buddy *buddy, uint32_t page);
void buddy_retype_block(struct buddy *buddy, uint32_t page,
			enum migratetype type);
/* The free block that holds @page; false: it is not free. */
bool buddy_block_of(const struct buddy *buddy, uint32_t page,
		    struct part *block);

#endif /* PAGE_BUDDY_INSIDE_H */
