/* SPDX-License-Identifier: MIT */
/* Free memory on its way to the kernel and back: what decay.c asks of lend.c.
 */
#ifndef PAGE_LEND_H
#define PAGE_LEND_H

#include "page/zone.h"

#define LEND_ANY_AGE 0

/*
 * Give free blocks of the shard back that are dirty since @min_ticks ticks, up
 * to about @max_pages (a piece more at most).  No lock held.  Returns pages.
 */
size_t lend_discard(struct quire_zone *zone, struct buddy *buddy,
		    uint32_t min_ticks, size_t max_pages);
/* Is there a block that it could take, of whatever age? */
bool lend_has_dirty(const struct quire_zone *zone);

/* Around whatever the helper thread moves from one place to another. */
void lend_move_begin(struct quire_zone *zone);
void lend_move_end(struct quire_zone *zone);

/* Nothing is lent or comes back: for the walker, and over a fork. */
void lend_lock(void);
void lend_unlock(void);
/* In the child, after the buddy locks are free again. */
void lend_fork_child(void);

#endif /* PAGE_LEND_H */
