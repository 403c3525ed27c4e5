/* SPDX-License-Identifier: MIT */
/*
 * What is known of each page of a zone, in arrays by page number.
 *
 *	state[]	      1 byte a page	what it is (page/state.h)
 *	page[]	      12 bytes a page	links of free blocks, by page number
 *	fresh[]	      1 bit a page	as the kernel gave it: reads as zeros
 *	block_type[]  1 byte for 2 MiB	migratetype
 *
 * Page number 0 is the zone's start rounded down to the largest block, so that
 * a block's number is aligned as its address is; numbers below `start` and
 * holes are no pages.  The arrays are mapped lazily: parts of a zone that were
 * never used cost none.
 */
#ifndef PAGE_MEMMAP_H
#define PAGE_MEMMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "page/state.h"

#define MAX_ORDER     18
#define NR_ORDERS     (MAX_ORDER + 1)
#define BLOCK_ORDER   9 /* a pageblock: 2 MiB */
#define BLOCK_PAGES   (1u << BLOCK_ORDER)
#define NO_PAGE	      UINT32_MAX
#define CLUSTER_PAGES 64u /* whose states share a line */

enum migratetype {
	TYPE_UNMOVABLE,
	TYPE_MOVABLE,
	NR_PCP_TYPES, /* those that CPUs' lists hold */
	TYPE_ISOLATE = NR_PCP_TYPES,
	NR_TYPES,
};

struct page {
	uint32_t next, prev; /* buddy lock; of the first page of a free block */
	uint32_t dirty_since; /* buddy lock; the same, of order BLOCK_ORDER and
				 up: tick of the decay clock, 0: nothing in it
				 is to be given back */
};

struct memmap {
	/* const after init */
	uint8_t *state;	   /* see page/state.h */
	struct page *page; /* buddy lock */
	uint64_t *fresh;   /* buddy lock; inverted where fresh_invert is ~0,
				so that words never written say so */
	uint64_t fresh_invert;
	uint8_t *block_type; /* written under the buddy lock; read anywhere,
				re-read under it before it is acted upon */
	uint32_t start;	     /* first page */
	uint32_t end;	     /* one past the last */
	size_t bytes;	     /* of address space */
};

static inline enum migratetype memmap_type(const struct memmap *map,
					   uint32_t page)
{
	return (enum migratetype)load_relaxed(
		&map->block_type[page >> BLOCK_ORDER]);
}

/* 64 pages' worth: bit set, fresh.  Relaxed: neighbours' bits may change. */
static inline uint64_t memmap_fresh_word(const struct memmap *map, size_t word)
{
	return load_relaxed(&map->fresh[word]) ^ map->fresh_invert;
}

/* Before the first page is given: all of it is fresh. */
static inline void memmap_begin_fresh(struct memmap *map)
{
	map->fresh_invert = UINT64_MAX;
}

/* Is all of it fresh; how much of it is; and say that it is or is not.  Of at
 * least one page. */
bool memmap_fresh(const struct memmap *map, uint32_t page, size_t nr);
size_t memmap_count_fresh(const struct memmap *map, uint32_t page, size_t nr);
void memmap_set_fresh(struct memmap *map, uint32_t page, size_t nr, bool fresh);

/* The same number, without a loop where it is nothing or all of one word. */
static inline size_t memmap_nr_fresh(const struct memmap *map, uint32_t page,
				     size_t nr)
{
	uint64_t bits, all;

	if (page % 64 + nr > 64)
		return memmap_count_fresh(map, page, nr);
	all = UINT64_MAX >> (64 - nr);
	bits = memmap_fresh_word(map, page / 64) >> page % 64 & all;
	if (!bits)
		return 0;
	return bits == all ? nr : memmap_count_fresh(map, page, nr);
}

int memmap_init(struct memmap *map, uint32_t start, uint32_t end);
void memmap_destroy(struct memmap *map);

#endif /* PAGE_MEMMAP_H */
