/* SPDX-License-Identifier: MIT */
/* Moving pages instead of copying or buying them. */
#include "region/move.h"

#include <errno.h>

#include "base/assert.h"
#include "base/step.h"
#include "os/os.h"
#include "region/leave.h"

/*
 * Move @span, which only the caller can reach, to @to.  Unmarked while it has
 * no sure address [S2]; the leave lock keeps fork out meanwhile [S4].
 */
static int move_to(struct store *store, struct span *span, void *to,
		   size_t nr_pages)
{
	struct pagemap *map = &store->common.map;
	int error;

	lock_take(&store->leave_lock);
	pagemap_unmark(map, span);
	STEP("move: unmarked, not moved");
	error = os->move(page_address(span->page), span->nr_pages << PAGE_SHIFT,
			 to, nr_pages << PAGE_SHIFT);
	if (!error) {
		store_count(store, QUIRE_COUNTER_bytes_mapped,
			    (nr_pages - span->nr_pages) << PAGE_SHIFT);
		span->page = address_page(to);
		span->nr_pages = nr_pages;
	}
	pagemap_mark(map, span);
	lock_release(&store->leave_lock);
	return error;
}

static int move_span(struct store *store, struct span *span, size_t nr_pages,
		     size_t align_pages)
{
	size_t bytes = nr_pages << PAGE_SHIFT;
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
	if (huge && os->advise(to, round_down_to(bytes, HUGE_SIZE), OS_HUGE))
		store_count(store, QUIRE_COUNTER_advise_failed, 1);
	return 0;
}

int move_live(struct store *store, struct span *span, size_t nr_pages)
{
	struct shard *shard = &store->shards[load_relaxed(&span->shard)];
	size_t before = span->nr_pages;
	int error = move_span(store, span, nr_pages + nr_pages / 8, 1);

	if (error)
		return error;
	lock_take(&shard->lock);
	store_relaxed(&shard->live_pages,
		      shard->live_pages + span->nr_pages - before);
	lock_release(&shard->lock);
	return 0;
}

static struct span *detach_largest(struct shard *shard, size_t at_least)
{
	struct span *span;

	lock_take(&shard->lock);
	span = span_tree_largest(shard->by_size);
	if (span && span->nr_pages >= at_least)
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
	span->state = SPAN_LIVE;
	store_relaxed(&shard->live_pages, shard->live_pages + span->nr_pages);
	shard_keep(shard, span, (uint32_t)os->now_ms());
	lock_release(&shard->lock);
}

struct span *grow_kept(struct store *store, struct shard *shard,
		       const struct span_request *want)
{
	struct span *span = detach_largest(shard, (want->nr_pages + 3) / 4);
	size_t before;

	if (!span)
		return NULL;
	before = span->nr_pages;
	leave_room_for(store, want->nr_pages);
	if (before >= want->nr_pages || /* too large, but not aligned */
	    move_span(store, span, want->nr_pages, want->align_pages)) {
		put_back(shard, span);
		return NULL;
	}
	lock_take(&shard->lock);
	span->state = SPAN_LIVE;
	store_relaxed(&shard->live_pages, shard->live_pages + span->nr_pages);
	shard->count[QUIRE_COUNTER_span_alloc]++;
	shard->count[QUIRE_COUNTER_span_grown]++;
	shard->count[QUIRE_COUNTER_bytes_reused] += before << PAGE_SHIFT;
	lock_release(&shard->lock);
	return span;
}
