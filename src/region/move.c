/* SPDX-License-Identifier: MIT */
/* Moving pages instead of copying or buying them. */
#include "region/move.h"

#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "os/os.h"
#include "region/bound.h"
#include "region/leave.h"

/* New bounds, LIVE, where whoever looks under the lock sees all of it. */
static void settle(struct store *store, struct shard *shard, struct span *span,
		   void *at, size_t nr_pages)
{
	size_t counted = span_state(span) == SPAN_LIVE ? span->nr_pages : 0;
	size_t bought = nr_pages - span->nr_pages;

	store_count(store, QUIRE_COUNTER_bytes_mapped, bought << PAGE_SHIFT);
	lock_take(&shard->lock);
	span->page = address_page(at);
	span->nr_pages = nr_pages;
	span_set(span, shard->index, SPAN_LIVE);
	pagemap_mark(&store->common.map, span);
	store_relaxed(&shard->live_pages,
		      shard->live_pages + nr_pages - counted);
	lock_release(&shard->lock);
}

/*
 * Move @span, which only the caller can reach, to @to.  Unmarked while it has
 * no sure address [S2]; the leave lock keeps fork out meanwhile [S4].
 */
static int move_to(struct store *store, struct span *span, void *to,
		   size_t nr_pages)
{
	int error;

	lock_take(&store->leave_lock);
	pagemap_unmark(&store->common.map, span);
	STEP("move: unmarked, not moved");
	error = os->move(page_address(span->page), span->nr_pages << PAGE_SHIFT,
			 to, nr_pages << PAGE_SHIFT);
	if (error)
		pagemap_mark(&store->common.map, span);
	else
		settle(store, shard_of(store, span), span, to, nr_pages);
	lock_release(&store->leave_lock);
	return error;
}

/* Afterwards @span is LIVE; on failure it is as it was. */
static int move_span(struct store *store, struct span *span, size_t nr_pages,
		     size_t align_pages)
{
	size_t bytes = nr_pages << PAGE_SHIFT;
	size_t grows = nr_pages - span->nr_pages;
	bool huge = bytes >= HUGE_SIZE && store->options.thp != THP_NEVER;
	size_t align = max_size(align_pages << PAGE_SHIFT,
				huge ? HUGE_SIZE : PAGE_SIZE);
	void *to;
	int error = os->reserve(bytes, align, &to);

	if (error)
		return error;
	error = pagemap_prepare(&store->common.map, address_page(to), nr_pages);
	if (!error)
		error = move_to(store, span, to, nr_pages);
	if (error) {
		store_count(store, QUIRE_COUNTER_remap_failed, 1);
		os->unmap(to, bytes);
		return error;
	}
	if (huge && store->options.thp == THP_AUTO)
		huge = bound_take_huge(store, grows); /* [B3] */
	if (huge && os->advise(to, bytes, OS_HUGE))
		store_count(store, QUIRE_COUNTER_advise_failed, 1);
	return 0;
}

int move_live(struct store *store, struct span *span, size_t nr_pages)
{
	int error = move_span(store, span, moved_pages(nr_pages), 1);

	if (!error)
		note_peak(store);
	return error;
}

/* The largest kept span if [@at_least, @below) pages. */
static struct span *detach_largest(struct shard *shard, size_t at_least,
				   size_t below)
{
	struct span *span;

	lock_take(&shard->lock);
	span = span_tree_largest(shard->by_size);
	if (span && span->nr_pages >= at_least && span->nr_pages < below)
		shard_detach(shard, span);
	else
		span = NULL;
	lock_release(&shard->lock);
	return span;
}

/* Back into the shard, with its age, when it could not be moved. */
static void put_back(struct shard *shard, struct span *span)
{
	lock_take(&shard->lock);
	shard_keep_again(shard, span);
	lock_release(&shard->lock);
}

struct span *grow_kept(struct store *store, struct shard *shard,
		       const struct span_request *want)
{
	/* One that is large enough was not taken because it is not aligned. */
	struct span *span =
		detach_largest(shard, (want->nr_pages + 3) / 4, want->nr_pages);
	size_t before;

	if (!span)
		return NULL;
	before = span->nr_pages;
	leave_room_for(store, want->nr_pages);
	if (move_span(store, span, want->nr_pages, want->align_pages)) {
		put_back(shard, span);
		return NULL;
	}
	note_peak(store);
	lock_take(&shard->lock);
	shard->count[QUIRE_COUNTER_span_alloc]++;
	shard->count[QUIRE_COUNTER_span_grown]++;
	shard->count[QUIRE_COUNTER_bytes_reused] += before << PAGE_SHIFT;
	lock_release(&shard->lock);
	return span;
}
