/* SPDX-License-Identifier: MIT */
/* Making a span larger by moving its pages to a larger place (mremap). */
#ifndef REGION_MOVE_H
#define REGION_MOVE_H

#include "region/store.h"

/*
 * An eighth more address space is taken, untouched, so that a block that grows
 * step by step is moved a logarithmic number of times.
 */
static inline size_t moved_pages(size_t nr_pages)
{
	return nr_pages + nr_pages / 8;
}

/*
 * move_live - a LIVE span becomes moved_pages(@nr_pages) long, at a new address
 * 0, or a negative errno with nothing changed.
 */
int move_live(struct store *store, struct span *span, size_t nr_pages);

/*
 * grow_kept - the largest kept span of @shard, made large enough, LIVE
 * Used when nothing kept fits: moving a page costs a small part of buying one.
 * NULL when there is none of at least a quarter of the request, or the kernel
 * refuses (a span that consists of several mappings cannot be moved).
 */
struct span *grow_kept(struct store *store, struct shard *shard,
		       const struct span_request *want);

#endif /* REGION_MOVE_H */
