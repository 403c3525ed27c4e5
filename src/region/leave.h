/* SPDX-License-Identifier: MIT */
/* Memory on its way back to the kernel, and the reasons why it goes. */
#ifndef REGION_LEAVE_H
#define REGION_LEAVE_H

#include "region/store.h"

/* [S1] what a small program may keep beyond its peak. */
#define ROOM_SLACK_PAGES ((size_t)4 << (20 - 12))
/* Kept memory below this is not worth reading the limits for. */
#define LIMIT_WORTH_PAGES ((size_t)4 << (20 - 12))
/* Kept memory that a fork may copy. */
#define FORK_PAGES ((size_t)4 << (20 - 12))

/* Large spans are discarded in slices, so that nobody waits long for a lock. */
#define SLICE_PAGES ((size_t)64 << (20 - 12))

/*
 * leave - give a LEAVING span back to the kernel and drop its descriptor
 * @reason: the counter that says why (bytes_decayed …)
 * No lock may be held.
 */
void leave(struct store *store, struct span *span, enum quire_counter reason);
/* The same, by the helper thread if it runs and the span is big [S5]. */
void leave_behind(struct store *store, struct span *span,
		  enum quire_counter reason);
/* What was left for the helper thread. */
void leave_queued(struct store *store);
/* In a forked child: what other threads were at is left for us. */
void leave_half_way_in_child(struct store *store);

/* The oldest kept span of @shard, LEAVING; NULL if there is none. */
struct span *detach_oldest(struct shard *shard);

/* Kept memory older than the decay time; returns the ms until the next is due,
 * UINT64_MAX when nothing is kept. */
uint64_t leave_decayed(struct store *store, uint64_t now_ms);
/* Oldest kept memory of each shard, until at most @pages are kept in all. */
void leave_down_to(struct store *store, size_t pages, enum quire_counter why);
/* Everything kept, and gone when this returns; returns the pages. */
size_t leave_all(struct store *store, enum quire_counter why);

/* [S1] before @nr_pages more are bought: kept memory that would go beyond the
 * bound leaves. */
void leave_room_for(struct store *store, size_t nr_pages);
/* [S1] [B2] how far above a peak of @pages keeping may go. */
static inline size_t bound_over_peak(size_t pages)
{
	return pages + pages / 16 + ROOM_SLACK_PAGES;
}
/* [S1] after they were bought; not before, because the kernel may refuse. */
void note_peak(struct store *store);

size_t store_kept_pages(const struct store *store);
size_t store_live_pages(const struct store *store);

static inline struct shard *shard_of(struct store *store,
				     const struct span *span)
{
	return &store->shards[span_shard(span)];
}

static inline void store_count(struct store *store, enum quire_counter which,
			       uint64_t by)
{
	add_relaxed(&store->count[which], by);
}

#endif /* REGION_LEAVE_H */
