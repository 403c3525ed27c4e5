/* SPDX-License-Identifier: MIT */
/*
 * A shard: kept spans, and the counters of the threads that use it.
 *
 *	by_size ──> treap of KEPT spans, for the best fit
 *	by_age  ──> the same spans, oldest first, for the decay
 *
 * Threads are spread over shards so that they do not meet.  A span that is
 * freed by another thread goes back to the shard it came from.
 *
 * [H1] every KEPT span of the shard is in both structures, and no other is.
 * [H2] kept_pages is the sum of their sizes.
 * [H3] by_age is sorted: a merged span has the age of its older part and takes
 *	the older part's place.  So memory that lies idle beside busy memory is
 *	still given back in time; the price is that a busy part may go with it,
 *	at most once per decay time.
 *
 * All functions want the shard lock held, unless they say otherwise.
 */
#ifndef REGION_SHARD_H
#define REGION_SHARD_H

#include <quire/stat.h>

#include "os/lock.h"
#include "region/pagemap.h"
#include "region/span.h"

/* What is shared by the shards of one store. */
struct shard_common {
	struct pagemap map;
	struct span_pool pool;
};

struct shard {
	struct lock lock;
	/* shard lock */
	struct span *by_size;
	struct list by_age;
	uint64_t count[QUIRE_NR_COUNTERS];
	/* written under the shard lock, read anywhere: atomic, relaxed */
	size_t kept_pages;
	size_t live_pages;
	/* const after init */
	uint16_t index;
	struct shard_common *common;
} __attribute__((aligned(128)));

void shard_open(struct shard *shard, uint16_t index,
		struct shard_common *common);

/*
 * What is wanted: at least @nr_pages, the first page a multiple of @align.
 * A kept span of up to 5/4 of the request is taken whole.
 */
struct span_request {
	size_t nr_pages;
	size_t align_pages;
};

static inline bool fits_whole(size_t nr_pages, size_t wanted)
{
	return nr_pages - wanted <= wanted / 4;
}

/*
 * shard_take - the best fitting kept span, cut to size, LIVE; NULL if none
 * Also NULL when cutting needs a descriptor and there is no memory for it.
 */
struct span *shard_take(struct shard *shard, const struct span_request *want);

/* Keep a LIVE span: it becomes KEPT and is merged with its neighbours. */
void shard_keep(struct shard *shard, struct span *span, uint32_t now_ms);

/* Keep a LEAVING span after all, with the age that it had. */
void shard_keep_again(struct shard *shard, struct span *span);

/* A KEPT span out of the shard, LEAVING, still marked in the page map. */
void shard_detach(struct shard *shard, struct span *span);

/* The span kept longest, or NULL. */
struct span *shard_oldest(struct shard *shard);

/*
 * shard_grow - make a LIVE span of this shard @nr_pages long where it is, at
 * the cost of the kept span behind it.  False when that is not possible.
 */
bool shard_grow(struct shard *shard, struct span *span, size_t nr_pages);

/*
 * shard_cut - shorten a LIVE span to @nr_pages; returns the rest as a LIVE
 * span of its own, or NULL when there is no memory for a descriptor.
 */
struct span *shard_cut(struct shard *shard, struct span *span, size_t nr_pages);

/* Panics where [H1] to [H3], [M1], [N1] or [N2] is broken. */
void shard_check(struct shard *shard);

#endif /* REGION_SHARD_H */
