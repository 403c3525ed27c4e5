/* SPDX-License-Identifier: MIT */
/*
 * Whole batches of single pages, on their way from one CPU to another
 * (Bonwick and Adams 2001: magazines).
 *
 * When one CPU allocates and another frees, pages would go through the free
 * lists one by one.  Here they go by the batch: a list that is full leaves a
 * full magazine, a list that is empty takes one.  Bounded: what does not fit
 * goes to the free lists, and under pressure all of it does.
 *
 * [D1] Every page in a full magazine is CACHED or CACHED_FRESH, of order 0.
 * [D2] nr_pages is the sum over full magazines; never above max_pages.
 */
#ifndef PAGE_DEPOT_H
#define PAGE_DEPOT_H

#include "os/lock.h"
#include "page/memmap.h"

#define MAGAZINE_PAGES 255u

struct magazine {
	uint32_t nr;
	uint32_t page[MAGAZINE_PAGES]; /* oldest first */
};

struct depot {
	struct lock lock; /* RANK_DEPOT */
	/* depot lock */
	struct magazine **full[NR_PCP_TYPES]; /* stacks */
	uint32_t nr_full[NR_PCP_TYPES];
	struct magazine **empty;
	uint32_t nr_empty;
	size_t nr_pages; /* read anywhere: a hint */
	/* const after init; 0: there is no depot */
	uint32_t nr_magazines;
	void *memory;
	size_t bytes;
} __attribute__((aligned(64)));

#endif /* PAGE_DEPOT_H */
