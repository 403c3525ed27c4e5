/* SPDX-License-Identifier: MIT */
/* Looking at a whole store: the walker, the counters, the end. */
#include <string.h>

#include "base/assert.h"
#include "os/os.h"
#include "region/keeper.h"
#include "region/leave.h"
#include "region/store.h"

#define ALL_PAGES (ROOT_ENTRIES * LEAF_PAGES)

/*
 * The next span at or after *page; *page moves behind it.  In a hole there can
 * be other spans [M2], so a span with holes is walked through.
 */
static struct span *next_span(struct store *store, size_t *page)
{
	struct pagemap *map = &store->common.map;
	size_t at = *page;

	while ((at = pagemap_next(map, at, ALL_PAGES)) < ALL_PAGES) {
		struct span *span = pagemap_at(map, at);

		*page = span->holes ? at + 1 : span_end(span);
		if (span->page == at)
			return span;
		ASSERT(span->holes); /* [M1] heads come first */
		at++;
	}
	return NULL;
}

static void check_span(struct store *store, const struct span *span)
{
	ASSERT(span->nr_pages);
	ASSERT(span_shard(span) < store->nr_shards);
	ASSERT(span->holes ||
	       pagemap_at(&store->common.map, span_end(span) - 1) == span);
	ASSERT(span_state(span) != SPAN_UNUSED);
	ASSERT(!(span_state(span) == SPAN_KEPT && span->flags));
}

static void check_sums(struct store *store)
{
	size_t kept = 0, live = 0, page = 0;
	struct span *span;

	while ((span = next_span(store, &page))) {
		check_span(store, span);
		if (span_state(span) == SPAN_KEPT)
			kept += span->nr_pages;
		else if (span_state(span) == SPAN_LIVE)
			live += span->nr_pages;
	}
	ASSERT(kept == store_kept_pages(store));
	ASSERT(live == store_live_pages(store));
}

/* With the locks of fork everything stands still. */
void store_check(struct store *store)
{
	store_fork_prepare(store);
	for (unsigned int i = 0; i < store->nr_shards; i++)
		shard_check(&store->shards[i]);
	check_sums(store);
	store_fork_parent(store);
}

static void add_shard(struct shard *shard, uint64_t counter[QUIRE_NR_COUNTERS])
{
	lock_take(&shard->lock);
	for (int i = 0; i < QUIRE_NR_COUNTERS; i++)
		counter[i] += shard->count[i];
	counter[QUIRE_COUNTER_bytes_live] += shard->live_pages << PAGE_SHIFT;
	counter[QUIRE_COUNTER_bytes_kept] += shard->kept_pages << PAGE_SHIFT;
	counter[QUIRE_COUNTER_lock_takes] += shard->lock.takes;
	counter[QUIRE_COUNTER_lock_contended] += shard->lock.contended;
	counter[QUIRE_COUNTER_lock_hold_cycles] +=
		shard->lock.hold_cycles * LOCK_SAMPLE;
	lock_release(&shard->lock);
}

void store_snapshot(struct store *store, uint64_t counter[QUIRE_NR_COUNTERS])
{
	for (int i = 0; i < QUIRE_NR_COUNTERS; i++)
		counter[i] = load_relaxed(&store->count[i]);
	counter[QUIRE_COUNTER_bytes_leaving] +=
		load_relaxed(&store->behind_pages) << PAGE_SHIFT;
	for (unsigned int i = 0; i < store->nr_shards; i++)
		add_shard(&store->shards[i], counter);
}

void store_close(struct store *store)
{
	size_t page = 0;
	struct span *span;

	keeper_bar(store);
	leave_all(store, QUIRE_COUNTER_bytes_direct);
	while ((span = next_span(store, &page))) {
		span_set(span, span_shard(span), SPAN_LEAVING);
		leave(store, span, QUIRE_COUNTER_bytes_direct);
	}
	pagemap_close(&store->common.map);
	span_pool_close(&store->common.pool);
}
