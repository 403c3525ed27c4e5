/* SPDX-License-Identifier: MIT */
/* What the files of the buddy allocator share among themselves. */
#ifndef PAGE_BUDDY_INSIDE_H
#define PAGE_BUDDY_INSIDE_H

#include "base/assert.h"
#include "base/atomic.h"
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

/* buddy.c */
void buddy_enlist(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail);
void buddy_delist(struct buddy *buddy, uint32_t page, unsigned int order);
uint32_t buddy_cut(struct buddy *buddy, uint32_t page, unsigned int order,
		   struct part want);
void buddy_settle(struct buddy *buddy, uint32_t page, unsigned int order,
		  bool tail);

/* buddy_type.c: the type of whole pageblocks */
void buddy_type_blocks(struct buddy *buddy, uint32_t page, unsigned int order,
		       enum migratetype type);
uint32_t buddy_free_in_block(const struct buddy *buddy, uint32_t page);
void buddy_retype_block(struct buddy *buddy, uint32_t page,
			enum migratetype type);
/* The free block that holds @page; false: it is not free. */
bool buddy_block_of(const struct buddy *buddy, uint32_t page,
		    struct part *block);

#endif /* PAGE_BUDDY_INSIDE_H */
