/* SPDX-License-Identifier: MIT */
/* The kept spans of one shard.  See shard.h for the picture and [H1]-[H3]. */
#include "region/shard.h"

#include "base/assert.h"

void shard_open(struct shard *shard, uint16_t index,
		struct shard_common *common)
{
	lock_init(&shard->lock, RANK_SHARD);
	shard->by_size = NULL;
	list_init(&shard->by_age);
	shard->kept_pages = 0;
	shard->live_pages = 0;
	shard->index = index;
	shard->common = common;
	for (int i = 0; i < QUIRE_NR_COUNTERS; i++)
		shard->count[i] = 0;
}

static void add_kept(struct shard *shard, size_t nr_pages)
{
	uint64_t *peak = &shard->count[QUIRE_COUNTER_bytes_kept_peak];
	uint64_t bytes;

	store_relaxed(&shard->kept_pages, shard->kept_pages + nr_pages);
	bytes = (uint64_t)shard->kept_pages << 12;
	if (bytes > *peak)
		*peak = bytes;
}

static void sub_kept(struct shard *shard, size_t nr_pages)
{
	ASSERT(shard->kept_pages >= nr_pages);
	store_relaxed(&shard->kept_pages, shard->kept_pages - nr_pages);
}

static void unlink_kept(struct shard *shard, struct span *span)
{
	ASSERT(span_is(span, shard->index, SPAN_KEPT));
	span_tree_remove(&shard->by_size, span);
	list_remove(&span->by_age);
	sub_kept(shard, span->nr_pages);
}

/* Into the tree, and into the age list before @place. */
static void link_kept(struct shard *shard, struct span *span,
		      struct list *place)
{
	span_set(span, shard->index, SPAN_KEPT);
	span_tree_insert(&shard->by_size, span);
	list_add_tail(place, &span->by_age);
	add_kept(shard, span->nr_pages);
}

/*
 * A new descriptor for [page, page + nr_pages), which was part of @from.  Its
 * marks replace those of @from; the caller moves the bounds of @from.
 */
static struct span *carve(struct shard *shard, const struct span *from,
			  size_t page, size_t nr_pages)
{
	struct span *part = span_pool_get(&shard->common->pool);

	if (!part)
		return NULL;
	part->page = page;
	part->nr_pages = nr_pages;
	part->flags = from->flags;
	part->holes = NULL;
	part->kept_since_ms = from->kept_since_ms;
	span_set(part, shard->index, span_state(from));
	return part;
}

/*
 * Cut @span behind its first @nr_pages.  The larger part keeps the descriptor
 * @span (its marks are already right); the smaller gets a new one.  Returns
 * false with nothing changed when there is none.  Neither part may be linked.
 */
static bool cut_in_two(struct shard *shard, struct span *span, size_t nr_pages,
		       struct span **front, struct span **back)
{
	struct pagemap *map = &shard->common->map;
	size_t cut = span->page + nr_pages;
	size_t rest = span->nr_pages - nr_pages;
	bool front_is_new = nr_pages < rest;
	struct span *part = front_is_new
				    ? carve(shard, span, span->page, nr_pages)
				    : carve(shard, span, cut, rest);

	if (!part)
		return false;
	if (front_is_new) {
		span->page = cut;
		span->nr_pages = rest;
		pagemap_mark_edge(map, cut, span);
	} else {
		span->nr_pages = nr_pages;
		pagemap_mark_edge(map, cut - 1, span);
	}
	pagemap_mark(map, part);
	*front = front_is_new ? part : span;
	*back = front_is_new ? span : part;
	return true;
}

/*
 * Make one span of two that touch, @low before @high, neither linked.  The
 * larger keeps its descriptor and its marks.
 */
static struct span *join(struct shard *shard, struct span *low,
			 struct span *high)
{
	struct pagemap *map = &shard->common->map;
	bool keep_low = low->nr_pages >= high->nr_pages;
	struct span *stays = keep_low ? low : high;
	struct span *goes = keep_low ? high : low;
	struct span whole = {
		.page = low->page,
		.nr_pages = low->nr_pages + high->nr_pages,
	};

	pagemap_clear_edge(map, keep_low ? span_end(low) - 1 : high->page);
	pagemap_unmark(map, goes);
	/* The marks of @goes that [M1] wants, now in the name of @stays. */
	for (size_t page = (goes->page + GROUP_PAGES - 1) & ~(GROUP_PAGES - 1);
	     page < span_end(goes); page += GROUP_PAGES)
		pagemap_mark_edge(map, page, stays);
	stays->page = whole.page;
	stays->nr_pages = whole.nr_pages;
	pagemap_mark_edge(map, stays->page, stays);
	pagemap_mark_edge(map, span_end(stays) - 1, stays);
	span_pool_put(&shard->common->pool, goes);
	shard->count[QUIRE_COUNTER_span_merge]++;
	return stays;
}

static struct span *kept_neighbour(struct shard *shard, size_t page)
{
	struct span *span = pagemap_at(&shard->common->map, page);

	/* The entry may be out of date, [N3] is not. */
	return span && span_is(span, shard->index, SPAN_KEPT) ? span : NULL;
}

static bool older(const struct span *a, const struct span *b)
{
	return (int32_t)(a->kept_since_ms - b->kept_since_ms) < 0;
}

/*
 * [H3] @span is not linked and would stand before @place, @neighbour is linked.
 * They become one, with the age and the place of the older.
 */
static struct span *merge_with(struct shard *shard, struct span *span,
			       struct span *neighbour, struct list **place)
{
	uint32_t since = neighbour->kept_since_ms;
	struct list *after = neighbour->by_age.next;

	if (older(span, neighbour)) {
		since = span->kept_since_ms;
		after = *place == &neighbour->by_age ? after : *place;
	}
	unlink_kept(shard, neighbour);
	span = neighbour->page < span->page ? join(shard, neighbour, span)
					    : join(shard, span, neighbour);
	span->kept_since_ms = since;
	*place = after;
	return span;
}

/* Link @span, not linked yet, merged with what it touches. */
static void link_merged(struct shard *shard, struct span *span,
			struct list *place)
{
	struct span *low = kept_neighbour(shard, span->page - 1);
	struct span *high;

	if (low)
		span = merge_with(shard, span, low, &place);
	high = kept_neighbour(shard, span_end(span));
	if (high)
		span = merge_with(shard, span, high, &place);
	link_kept(shard, span, place);
}

void shard_keep(struct shard *shard, struct span *span, uint32_t now_ms)
{
	const struct span *newest =
		container_of(shard->by_age.prev, struct span, by_age);

	ASSERT(span_is(span, shard->index, SPAN_LIVE));
	store_relaxed(&shard->live_pages, shard->live_pages - span->nr_pages);
	span->kept_since_ms = now_ms;
	/* The clock was read before the lock: others may have overtaken us. */
	if (!list_empty(&shard->by_age) && older(span, newest))
		span->kept_since_ms = newest->kept_since_ms;
	link_merged(shard, span, &shard->by_age);
}

void shard_keep_again(struct shard *shard, struct span *span)
{
	struct list *place = shard->by_age.next;

	ASSERT(span_is(span, shard->index, SPAN_LEAVING));
	while (place != &shard->by_age &&
	       !older(span, container_of(place, struct span, by_age)))
		place = place->next;
	link_merged(shard, span, place);
}

void shard_detach(struct shard *shard, struct span *span)
{
	unlink_kept(shard, span);
	span_set(span, shard->index, SPAN_LEAVING);
}

struct span *shard_oldest(struct shard *shard)
{
	if (list_empty(&shard->by_age))
		return NULL;
	return container_of(shard->by_age.next, struct span, by_age);
}

static void become_live(struct shard *shard, struct span *span)
{
	span_set(span, shard->index, SPAN_LIVE);
	store_relaxed(&shard->live_pages, shard->live_pages + span->nr_pages);
}

/* A kept span shortened to its aligned middle; what is cut off stays kept. */
static struct span *cut_to_fit(struct shard *shard, struct span *span,
			       size_t first, size_t nr_pages,
			       struct list *place)
{
	struct span *front, *back;

	if (first > span->page) {
		if (!cut_in_two(shard, span, first - span->page, &front,
				&back)) {
			link_kept(shard, span, place);
			return NULL;
		}
		link_kept(shard, front, place);
		span = back;
	}
	if (!fits_whole(span->nr_pages, nr_pages)) {
		if (!cut_in_two(shard, span, nr_pages, &front, &back)) {
			link_merged(shard, span, place);
			return NULL;
		}
		link_kept(shard, back, place);
		span = front;
	}
	shard->count[QUIRE_COUNTER_span_split]++;
	return span;
}

static bool needs_cut(const struct span *span, size_t first, size_t nr_pages)
{
	return first > span->page || !fits_whole(span->nr_pages, nr_pages);
}

static size_t first_aligned(const struct span *span,
			    const struct span_request *want)
{
	return (span->page + want->align_pages - 1) & ~(want->align_pages - 1);
}

/*
 * The best fit may happen to be aligned: blocks that were asked for with an
 * alignment are.  Otherwise one that has room for the alignment wherever it is.
 */
static struct span *find_fit(struct shard *shard,
			     const struct span_request *want)
{
	struct span *span = span_tree_best_fit(shard->by_size, want->nr_pages);

	if (!span ||
	    first_aligned(span, want) + want->nr_pages <= span_end(span))
		return span;
	return span_tree_best_fit(shard->by_size,
				  want->nr_pages + want->align_pages - 1);
}

struct span *shard_take(struct shard *shard, const struct span_request *want)
{
	struct span *span = find_fit(shard, want);

	if (!span)
		return NULL;
	size_t first = first_aligned(span, want);
	struct list *place = span->by_age.next;

	unlink_kept(shard, span);
	if (needs_cut(span, first, want->nr_pages)) {
		struct span *part =
			cut_to_fit(shard, span, first, want->nr_pages, place);
		if (!part)
			return NULL;
		span = part;
	}
	become_live(shard, span);
	return span;
}

bool shard_grow(struct shard *shard, struct span *span, size_t nr_pages)
{
	struct span *next = kept_neighbour(shard, span_end(span));
	size_t missing = nr_pages - span->nr_pages;
	struct span *front, *back;
	struct list *place;

	if (!next || next->nr_pages < missing)
		return false;
	place = next->by_age.next;
	unlink_kept(shard, next);
	if (!fits_whole(span->nr_pages + next->nr_pages, nr_pages)) {
		if (!cut_in_two(shard, next, missing, &front, &back)) {
			link_kept(shard, next, place);
			return false;
		}
		link_kept(shard, back, place);
		next = front;
	}
	/* The block's descriptor must stay: its owner reads it unlocked. */
	pagemap_unmark(&shard->common->map, next);
	pagemap_clear_edge(&shard->common->map, span_end(span) - 1);
	store_relaxed(&shard->live_pages, shard->live_pages + next->nr_pages);
	span->nr_pages += next->nr_pages;
	pagemap_mark(&shard->common->map, span);
	span_pool_put(&shard->common->pool, next);
	return true;
}

struct span *shard_cut(struct shard *shard, struct span *span, size_t nr_pages)
{
	struct pagemap *map = &shard->common->map;
	size_t cut = span->page + nr_pages;
	struct span *rest;

	ASSERT(nr_pages && nr_pages < span->nr_pages);
	rest = carve(shard, span, cut, span->nr_pages - nr_pages);
	if (!rest)
		return NULL;
	span->nr_pages = nr_pages;
	pagemap_mark_edge(map, cut - 1, span);
	pagemap_mark(map, rest);
	return rest;
}

/* Check */

static void check_marks(struct shard *shard, const struct span *span)
{
	const struct pagemap *map = &shard->common->map;
	size_t last = span_end(span) - 1;

	for (size_t page = span->page; page <= last; page++) {
		bool wanted = page == span->page || page == last ||
			      page % GROUP_PAGES == 0;
		ASSERT(pagemap_at(map, page) == (wanted ? span : NULL));
	}
}

static void check_kept(struct shard *shard, const struct span *span)
{
	ASSERT(span_is(span, shard->index, SPAN_KEPT));
	ASSERT(span->nr_pages && !span->holes && !span->flags);
	ASSERT(!kept_neighbour(shard, span->page - 1));
	ASSERT(!kept_neighbour(shard, span_end(span)));
	check_marks(shard, span);
}

void shard_check(struct shard *shard)
{
	size_t nr = 0, pages = 0;
	const struct span *last = NULL;

	list_for_each (item, &shard->by_age) {
		const struct span *span =
			container_of(item, struct span, by_age);

		check_kept(shard, span);
		ASSERT(!last || !older(span, last));
		last = span;
		nr++;
		pages += span->nr_pages;
	}
	ASSERT(nr == span_tree_check(shard->by_size));
	ASSERT(pages == shard->kept_pages);
}
