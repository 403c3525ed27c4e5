/* SPDX-License-Identifier: MIT */
/*
 * Giving memory back.  Everything that leaves goes through leave(): unmarked
 * first, unmapped then [S2], under the leave lock [S4].
 */
#include "region/leave.h"

#include "region/bound.h"

#include "base/assert.h"
#include "base/step.h"
#include "os/os.h"
#include "region/keeper.h"

/*
 * Pages first, in slices and without blocking other threads' faults for long
 * (a discard takes the kernel's lock for reading); then the empty range.
 */
static void unmap_in_slices(struct store *store, size_t page, size_t nr_pages)
{
	size_t done = 0;

	for (; nr_pages - done > SLICE_PAGES; done += SLICE_PAGES) {
		int error = os->advise(page_address(page + done),
				       SLICE_PAGES << PAGE_SHIFT, OS_DISCARD);
		if (error) {
			/* locked memory: munmap below does it all */
			store_count(store, QUIRE_COUNTER_advise_failed, 1);
			break;
		}
	}
	if (!os->unmap(page_address(page), nr_pages << PAGE_SHIFT))
		return;
	/* Too many mappings: the addresses stay ours, the memory need not. */
	store_count(store, QUIRE_COUNTER_unmap_failed, 1);
	os->advise(page_address(page), nr_pages << PAGE_SHIFT, OS_DISCARD);
}

/* All of the span that the program has not taken away, in runs. */
static void unmap_around_holes(struct store *store, const struct span *span)
{
	size_t page = span->page, end = span_end(span);

	while (page < end) {
		size_t run_end = end, after = end;

		/* Holes are few and not sorted: look for the next one. */
		for (const struct hole *h = span->holes; h; h = h->next) {
			size_t hole_end = h->page + h->nr_pages;

			if (hole_end <= page || h->page >= run_end)
				continue;
			run_end = h->page > page ? h->page : page;
			after = hole_end;
		}
		if (run_end > page)
			unmap_in_slices(store, page, run_end - page);
		page = run_end == end ? end : after;
	}
}

/*
 * Nobody can reach the span, and its addresses stay ours, so its memory can go
 * without a lock; a child that is forked meanwhile finds it in the list.
 */
static bool discard_before(struct store *store, struct span *span)
{
	size_t page = span->page, left = span->nr_pages;

	if (left <= SLICE_PAGES || span->holes || span->flags & SPAN_ABANDONED)
		return false;
	lock_take(&store->queue_lock);
	list_add_tail(&store->half_way, &span->by_age);
	lock_release(&store->queue_lock);
	for (; left; page += SLICE_PAGES, left -= min_size(left, SLICE_PAGES)) {
		size_t bytes = min_size(left, SLICE_PAGES) << PAGE_SHIFT;

		STEP("leave: half way");
		if (!os->advise(page_address(page), bytes, OS_DISCARD))
			continue;
		store_count(store, QUIRE_COUNTER_advise_failed, 1);
		break;
	}
	return true;
}

static void not_half_way(struct store *store, struct span *span)
{
	lock_take(&store->queue_lock);
	list_remove(&span->by_age);
	lock_release(&store->queue_lock);
}

static void unmap_discarded(struct store *store, const struct span *span)
{
	void *address = page_address(span->page);
	size_t bytes = span->nr_pages << PAGE_SHIFT;

	if (!os->unmap(address, bytes))
		return;
	/* Too many mappings: the addresses stay ours, the memory need not. */
	store_count(store, QUIRE_COUNTER_unmap_failed, 1);
	os->advise(address, bytes, OS_DISCARD);
}

void leave(struct store *store, struct span *span, enum quire_counter reason)
{
	size_t bytes = span->nr_pages << PAGE_SHIFT;
	bool discarded = discard_before(store, span);

	ASSERT(span_state(span) == SPAN_LEAVING);
	lock_take(&store->leave_lock);
	if (discarded)
		not_half_way(store, span);
	pagemap_unmark(&store->common.map, span);
	STEP("leave: unmarked, still mapped");
	if (discarded)
		unmap_discarded(store, span);
	else if (!(span->flags & SPAN_ABANDONED))
		unmap_around_holes(store, span);
	/* Under the lock: a forked child's sums must close as well. */
	store_count(store, QUIRE_COUNTER_bytes_unmapped, bytes);
	store_count(store, reason, bytes);
	lock_release(&store->leave_lock);
	bound_return_huge(store, span->nr_pages);
	if (span->holes)
		span_pool_put_holes(&store->common.pool, span->holes);
	span_pool_put(&store->common.pool, span);
}

/* For the keeper, if there is one: it may be joined at any time, and whoever
 * joins it looks into the list after it said so. */
static bool queue_behind(struct store *store, struct span *span,
			 enum quire_counter reason)
{
	bool runs;

	if (span->nr_pages < SLICE_PAGES)
		return false;
	lock_take(&store->queue_lock);
	runs = load_relaxed(&store->keeper_runs);
	if (runs) {
		span->reason = (uint8_t)reason;
		list_add_tail(&store->behind, &span->by_age);
		store_relaxed(&store->behind_pages,
			      store->behind_pages + span->nr_pages);
	}
	lock_release(&store->queue_lock);
	return runs;
}

void leave_behind(struct store *store, struct span *span,
		  enum quire_counter reason)
{
	if (queue_behind(store, span, reason))
		keeper_ring(store);
	else
		leave(store, span, reason);
}

static struct span *next_behind(struct store *store)
{
	struct span *span = NULL;

	lock_take(&store->queue_lock);
	if (!list_empty(&store->behind)) {
		span = container_of(store->behind.next, struct span, by_age);
		list_remove(&span->by_age);
		store_relaxed(&store->behind_pages,
			      store->behind_pages - span->nr_pages);
	}
	lock_release(&store->queue_lock);
	return span;
}

void leave_queued(struct store *store)
{
	struct span *span;

	while ((span = next_behind(store)))
		leave(store, span, (enum quire_counter)span->reason);
}

/* The threads are not there any more; the reason is as good as any. */
void leave_half_way_in_child(struct store *store)
{
	while (!list_empty(&store->half_way)) {
		struct span *span =
			container_of(store->half_way.next, struct span, by_age);

		list_remove(&span->by_age);
		span->reason = QUIRE_COUNTER_bytes_direct;
		list_add_tail(&store->behind, &span->by_age);
		store->behind_pages += span->nr_pages;
	}
}

struct span *detach_oldest(struct shard *shard)
{
	struct span *span;

	lock_take(&shard->lock);
	span = shard_oldest(shard);
	if (span)
		shard_detach(shard, span);
	lock_release(&shard->lock);
	return span;
}

/*
 * The oldest span if it is due; otherwise *wait_ms says how long until it is
 * (unchanged when nothing is kept).
 */
static struct span *detach_due(struct store *store, struct shard *shard,
			       uint64_t now_ms, uint64_t *wait_ms)
{
	struct span *span;

	lock_take(&shard->lock);
	span = shard_oldest(shard);
	if (span) {
		uint32_t age = (uint32_t)now_ms - span->kept_since_ms;

		if ((int32_t)age < 0) /* freed after the clock was read */
			age = 0;
		if (age >= store->options.decay_ms) {
			shard_detach(shard, span);
		} else {
			uint64_t left = store->options.decay_ms - age;

			*wait_ms = left < *wait_ms ? left : *wait_ms;
			span = NULL;
		}
	}
	lock_release(&shard->lock);
	return span;
}

uint64_t leave_decayed(struct store *store, uint64_t now_ms)
{
	uint64_t wait_ms = UINT64_MAX;
	struct span *span;

	for (unsigned int i = 0; i < store->nr_shards; i++)
		while ((span = detach_due(store, &store->shards[i], now_ms,
					  &wait_ms)))
			leave(store, span, QUIRE_COUNTER_bytes_decayed);
	return wait_ms;
}

size_t store_kept_pages(const struct store *store)
{
	size_t pages = 0;

	for (unsigned int i = 0; i < store->nr_shards; i++)
		pages += load_relaxed(&store->shards[i].kept_pages);
	return pages;
}

size_t store_live_pages(const struct store *store)
{
	size_t pages = 0;

	for (unsigned int i = 0; i < store->nr_shards; i++)
		pages += load_relaxed(&store->shards[i].live_pages);
	return pages;
}

typedef void (*leave_fn)(struct store *, struct span *, enum quire_counter);

static void down_to(struct store *store, size_t pages, enum quire_counter why,
		    leave_fn how)
{
	for (unsigned int i = 0; i < store->nr_shards; i++) {
		struct span *span;

		while (store_kept_pages(store) > pages &&
		       (span = detach_oldest(&store->shards[i])))
			how(store, span, why);
	}
}

void leave_down_to(struct store *store, size_t pages, enum quire_counter why)
{
	down_to(store, pages, why, leave_behind);
}

size_t leave_all(struct store *store, enum quire_counter why)
{
	size_t before = store_kept_pages(store);

	leave_queued(store);
	down_to(store, 0, why, leave);
	return before;
}

/* [S1] */
void note_peak(struct store *store)
{
	size_t live = store_live_pages(store);
	size_t peak = load_relaxed(&store->peak_live_pages);

	if (live <= peak)
		return;
	store_relaxed(&store->peak_live_pages, live);
	/* [B2] as much more would have been resident without us; 0: no mark */
	if (load_relaxed(&store->peak_resident_pages))
		add_relaxed(&store->peak_resident_pages, live - peak);
}

void leave_room_for(struct store *store, size_t nr_pages)
{
	size_t live = store_live_pages(store) + nr_pages;
	size_t peak = max_size(load_relaxed(&store->peak_live_pages), live);
	size_t bound = bound_over_peak(peak);

	if (store_kept_pages(store) + live <= bound)
		return;
	/* [S5] buying costs more than giving back: do not run away from it */
	bool late = load_relaxed(&store->behind_pages) > peak / 16;

	down_to(store, bound - live, QUIRE_COUNTER_bytes_replaced,
		late ? leave : leave_behind);
}

/*
 * What a process keeps is copied by every fork, page table by page table, and
 * costs the parent a fault at each first write: more than buying it again.
 */
void store_before_fork(struct store *store)
{
	if (store_kept_pages(store) > FORK_PAGES)
		down_to(store, FORK_PAGES, QUIRE_COUNTER_bytes_trimmed, leave);
}
