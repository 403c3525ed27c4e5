/* SPDX-License-Identifier: MIT */
/*
 * What the program does to the mappings of its blocks itself.
 *
 * A kept span must carry no state of its last user.  Protection, locks, memory
 * policy and most advice cannot be seen at free time for less than a system
 * call, so the preload library tells us when the program changes them: such a
 * block goes back to the kernel when it is freed, which resets everything.  A
 * part that the program unmapped or replaced is no longer ours at all.
 */
#include "base/assert.h"
#include "base/step.h"
#include "os/os.h"
#include "region/leave.h"
#include "region/store.h"

struct range {
	size_t page, end;
};

/* A program that unmaps a block bit by bit makes one hole, not many. */
static bool widen(struct hole *hole, size_t from, size_t to)
{
	size_t end = hole->page + hole->nr_pages;

	if (from > end || to < hole->page)
		return false;
	hole->page = min_size(hole->page, from);
	hole->nr_pages = max_size(end, to) - hole->page;
	return true;
}

static void add_hole_locked(struct store *store, struct span *span,
			    const struct range *range)
{
	size_t from = max_size(span->page, range->page);
	size_t to = min_size(span_end(span), range->end);
	struct hole *hole;

	/* Whatever comes there next may not have this page at an end [M2]. */
	if (to == span_end(span) && from > span->page)
		pagemap_clear_edge(&store->common.map, to - 1);
	if (span->holes && widen(span->holes, from, to))
		return;
	hole = span_pool_get_hole(&store->common.pool);
	if (!hole) {
		/* Without a record, unmapping any of it would be a guess. */
		span->flags |= SPAN_ABANDONED;
		return;
	}
	*hole = (struct hole){ from, to - from, span->holes };
	span->holes = hole;
}

static bool touches(const struct span *span, const struct range *range)
{
	return span->page < range->end && span_end(span) > range->page;
}

/*
 * A kept span that the program still changes was freed before: the program has
 * a bug that costs it nothing with other libraries, because the memory is gone
 * then.  So it goes now.
 */
static void note_span(struct store *store, struct span *span,
		      const struct range *range, enum store_note what)
{
	struct shard *shard = shard_of(store, span);
	struct span *leaving = NULL;
	bool kept, holed;

	lock_take(&shard->lock);
	kept = span_is(span, shard->index, SPAN_KEPT);
	if ((kept || span_is(span, shard->index, SPAN_LIVE)) &&
	    touches(span, range)) {
		holed = span->holes || span->flags & SPAN_ABANDONED;
		if (what == NOTE_HOLE)
			add_hole_locked(store, span, range);
		if (kept) {
			shard_detach(shard, span);
			leaving = span;
		} else if (what == NOTE_HOLE) {
			shard->count[QUIRE_COUNTER_span_holed] += !holed;
		} else if (!(span->flags & SPAN_TAINTED)) {
			span->flags |= SPAN_TAINTED;
			shard->count[QUIRE_COUNTER_span_tainted]++;
		}
	}
	lock_release(&shard->lock);
	if (leaving)
		leave(store, leaving, QUIRE_COUNTER_bytes_direct);
}

void store_note(struct store *store, const void *address, size_t len,
		enum store_note what)
{
	struct pagemap *map = &store->common.map;
	size_t last = (size_t)address + len + PAGE_SIZE - 1;
	struct range range = { address_page(address), last >> PAGE_SHIFT };
	size_t page = range.page;
	struct span *span;

	if (last < (size_t)address || range.end <= range.page)
		return;
	span = pagemap_covering(map, page);
	if (span) {
		note_span(store, span, &range, what);
		page++;
	}
	while ((page = pagemap_next(map, page, range.end)) < range.end) {
		struct span *at = pagemap_at(map, page);

		if (at && at != span)
			note_span(store, at, &range, what);
		span = at;
		page++;
	}
}

void store_note_all(struct store *store)
{
	leave_all(store, QUIRE_COUNTER_bytes_direct);
	store_note(store, page_address(0),
		   (ROOT_ENTRIES * LEAF_PAGES - 1) << PAGE_SHIFT, NOTE_TAINT);
}
