/* SPDX-License-Identifier: MIT */
/*
 * The page map: from an address to its span.
 *
 *	root[page >> 18] -> leaf[page & (2^18 - 1)] -> span
 *
 * A leaf covers 1 GiB and is mapped when the first span of that gigabyte
 * appears; only the parts of it that are marked become resident.
 *
 * [M1] a span is marked at its first page, at its last page, and at every page
 *	inside it whose number is a multiple of 512.  Every other entry is NULL.
 *	So the span that covers any page is found by walking back at most 511
 *	entries, and marking a large span costs one store per 2 MiB.
 *
 * [M2] a part that the program unmapped may come back from the kernel as
 *	another span, whose marks then replace those of the span with the hole;
 *	so a span clears only marks that are its own.
 *
 * Marks are written by whoever holds the span's shard lock (or owns it alone:
 * LEAVING, or being moved).  Lookups take no lock: for the head of a block that
 * the caller owns the answer is stable; every other answer is a hint that must
 * be re-checked under the lock of the shard it names.
 */
#ifndef REGION_PAGEMAP_H
#define REGION_PAGEMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lock.h"
#include "region/span.h"

#define LEAF_SHIFT  18
#define LEAF_PAGES  ((size_t)1 << LEAF_SHIFT)
#define GROUP_PAGES ((size_t)512)
/* 48 address bits; what lies above is not handed to us without being asked. */
#define ROOT_ENTRIES ((size_t)1 << (48 - 12 - LEAF_SHIFT))

struct pagemap {
	struct span ***root; /* const after open; its entries: atomic */
	struct lock *lock;   /* for adding leaves */
};

int pagemap_open(struct pagemap *map, struct lock *lock);
void pagemap_close(struct pagemap *map);

/* Make sure that all of the range can be marked: 0 or -ENOMEM. */
int pagemap_prepare(struct pagemap *map, size_t page, size_t nr_pages);
void pagemap_mark(struct pagemap *map, struct span *span);
void pagemap_unmark(struct pagemap *map, const struct span *span);
/* Set the one entry of @page to @span, or to NULL where [M1] has none. */
void pagemap_mark_edge(struct pagemap *map, size_t page, struct span *span);
void pagemap_clear_edge(struct pagemap *map, size_t page);

/* The entry of @page itself. */
static inline struct span *pagemap_at(const struct pagemap *map, size_t page)
{
	struct span **leaf;

	if (unlikely(page >> LEAF_SHIFT >= ROOT_ENTRIES))
		return NULL;
	leaf = load_acquire(&map->root[page >> LEAF_SHIFT]);
	if (!leaf)
		return NULL;
	return load_acquire(&leaf[page & (LEAF_PAGES - 1)]);
}

/*
 * The only span that can cover @page, by [M1], or NULL.  A hint: whether it
 * does is to be checked under the lock of its shard.
 */
struct span *pagemap_covering(const struct pagemap *map, size_t page);

/*
 * The first page >= @page, < @end, that has an entry; @end if there is none.
 * Skips gigabytes without a leaf.
 */
size_t pagemap_next(const struct pagemap *map, size_t page, size_t end);

#endif /* REGION_PAGEMAP_H */
