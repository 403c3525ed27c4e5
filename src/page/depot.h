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
 * The lock is held while pointers to magazines move, never while pages do: a
 * magazine between "taken" and "put" is its taker's alone.
 *
 * [D1] Every page in a full magazine is CACHED or CACHED_FRESH, of order 0.
 * [D2] nr_pages is the sum over full magazines; there are never more of these
 *	than nr_magazines.
 * [D3] While it is closed, nothing is put into it.
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
	size_t nr_pages;  /* read anywhere: a hint */
	uint64_t nr_gets; /* since it was looked at last (decay) */
	bool closed;	  /* lists are disabled */
	/* const after init; 0: there is no depot */
	uint32_t nr_magazines;
	void *memory;
	size_t bytes;
} __attribute__((aligned(64)));

/* How many magazines move at once, at the most. */
#define DEPOT_AT_ONCE 8u

/*
 * Room for about @max_pages; 0: none at all.  0 or -ENOMEM.
 * None of the others is for handlers: what is taken must be put back, and that
 * may have to wait.
 */
int depot_init(struct depot *depot, size_t max_pages);
void depot_destroy(struct depot *depot);

/* Up to @nr magazines, to be filled or full of @type; returns how many. */
unsigned int depot_take_empty(struct depot *depot, struct magazine **out,
			      unsigned int nr);
unsigned int depot_take_full(struct depot *depot, enum migratetype type,
			     struct magazine **out, unsigned int nr);
/*
 * Back they go, each to where it belongs by what is in it now.  Returns how
 * many, then the first of @in, may not, because of [D3]: the caller empties
 * these and puts them again.
 */
unsigned int depot_put(struct depot *depot, enum migratetype type,
		       struct magazine **in, unsigned int nr);
/* What is in it stays until it is taken. */
void depot_close(struct depot *depot, bool closed);

void depot_check(struct depot *depot);

#endif /* PAGE_DEPOT_H */
