/* SPDX-License-Identifier: MIT */
/* Blocks out of kept or fresh memory, and back.  See store.h for [S1]-[S4]. */
#include "region/store.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/step.h"
#include "os/os.h"
#include "region/bound.h"
#include "region/keeper.h"
#include "region/leave.h"
#include "region/move.h"

void store_options_default(struct store_options *options)
{
	*options = (struct store_options){
		.decay_ms = 10000,
		.thread_bytes = THREAD_BYTES_DEFAULT,
		.zero_max_bytes = (size_t)32 << 20,
		.reserve_percent = 10,
		.thp = THP_AUTO,
	};
}

static unsigned int choose_nr_shards(const struct store_options *options)
{
	unsigned int nr =
		options->nr_shards ? options->nr_shards : 2 * os->nr_cpus();
	if (CONFIG_UP)
		return 1;
	return nr < MAX_SHARDS ? nr : MAX_SHARDS;
}

int store_open(struct store *store, const struct store_options *options)
{
	int error;

	memset(store, 0, sizeof(*store));
	store->options = *options;
	store->nr_shards = choose_nr_shards(options);
	span_pool_open(&store->common.pool);
	error = pagemap_open(&store->common.map, &store->common.pool.lock);
	if (error)
		return error;
	for (unsigned int i = 0; i < store->nr_shards; i++)
		shard_open(&store->shards[i], (uint16_t)i, &store->common);
	lock_init(&store->leave_lock, RANK_LEAVE);
	lock_init(&store->queue_lock, RANK_QUEUE);
	list_init(&store->behind);
	list_init(&store->half_way);
	keeper_open(store);
	bound_open(store);
	return 0;
}

/* Threads are dealt to shards in turn, once, for all stores alike. */
static struct shard *own_shard(struct store *store)
{
	static uint32_t nr_threads; /* atomic, relaxed */
	static __thread uint32_t number
		__attribute__((tls_model("initial-exec")));

	if (unlikely(!number))
		number = 1 + add_relaxed(&nr_threads, 1);
	if (store->nr_shards == 1)
		return &store->shards[0];
	return &store->shards[number % store->nr_shards];
}

static bool request_from(size_t bytes, size_t align, struct span_request *want)
{
	size_t rounded;

	if (!round_up_checked(bytes ? bytes : 1, PAGE_SIZE, &rounded))
		return false;
	want->nr_pages = rounded >> PAGE_SHIFT;
	want->align_pages = align > PAGE_SIZE ? align >> PAGE_SHIFT : 1;
	/* so that no later sum of pages can wrap */
	return want->nr_pages < ROOT_ENTRIES * LEAF_PAGES &&
	       want->align_pages < ROOT_ENTRIES * LEAF_PAGES;
}

/* Kept memory */

static void count_hit_locked(struct shard *shard, const struct span *span)
{
	shard->count[QUIRE_COUNTER_span_alloc]++;
	shard->count[QUIRE_COUNTER_span_hit]++;
	shard->count[QUIRE_COUNTER_bytes_reused] += span->nr_pages
						    << PAGE_SHIFT;
}

static struct span *take_own(struct shard *shard,
			     const struct span_request *want)
{
	struct span *span;

	lock_take(&shard->lock);
	span = shard_take(shard, want);
	if (span)
		count_hit_locked(shard, span);
	lock_release(&shard->lock);
	return span;
}

static void adopt(struct shard *shard, struct span *span)
{
	lock_take(&shard->lock);
	store_relaxed(&shard->live_pages, shard->live_pages + span->nr_pages);
	count_hit_locked(shard, span);
	shard->count[QUIRE_COUNTER_span_stolen]++;
	lock_release(&shard->lock);
}

/* [N3] the span changes shards under the lock of the one that it leaves. */
static struct span *take_from(struct shard *victim, struct shard *shard,
			      const struct span_request *want)
{
	struct span *span;

	if (load_relaxed(&victim->kept_pages) < want->nr_pages ||
	    !lock_try(&victim->lock))
		return NULL;
	span = shard_take(victim, want);
	if (span) {
		store_relaxed(&victim->live_pages,
			      victim->live_pages - span->nr_pages);
		span_set(span, shard->index, SPAN_LIVE);
	}
	lock_release(&victim->lock);
	if (span)
		adopt(shard, span);
	return span;
}

static struct span *take_kept(struct store *store, struct shard *shard,
			      const struct span_request *want)
{
	struct span *span = take_own(shard, want);

	for (unsigned int i = 1; !span && i < store->nr_shards; i++) {
		unsigned int other = (shard->index + i) % store->nr_shards;

		span = take_from(&store->shards[other], shard, want);
	}
	return span;
}

/* Fresh memory */

static bool wants_huge(struct store *store, size_t bytes, bool zero)
{
	if (store->options.thp == THP_NEVER || bytes < HUGE_SIZE)
		return false;
	if (store->options.thp == THP_ALWAYS)
		return true;
	/* Who asks for zeros may leave most of them alone. */
	return !zero && bound_take_huge(store, bytes >> PAGE_SHIFT);
}

/*
 * All of it, also the part behind the last whole unit: advice for a part would
 * make two mappings of one, which mremap refuses to move.
 */
static void advise_huge(struct store *store, void *address, size_t bytes)
{
	if (os->advise(address, bytes, OS_HUGE))
		store_count(store, QUIRE_COUNTER_advise_failed, 1);
}

/* When the kernel has no more, all that is kept goes back, and once again. */
static void *map_or_trim(struct store *store, size_t bytes, size_t align)
{
	void *address;

	if (!os->map(bytes, align, &address))
		return address;
	store_count(store, QUIRE_COUNTER_map_failed, 1);
	if (!leave_all(store, QUIRE_COUNTER_bytes_trimmed))
		return NULL;
	return os->map(bytes, align, &address) ? NULL : address;
}

static struct span *register_fresh(struct store *store, struct shard *shard,
				   void *address, size_t nr_pages)
{
	struct span *span = span_pool_get(&store->common.pool);

	if (!span)
		return NULL;
	span->page = address_page(address);
	span->nr_pages = nr_pages;
	span->flags = 0;
	span->holes = NULL;
	if (pagemap_prepare(&store->common.map, span->page, nr_pages)) {
		span_pool_put(&store->common.pool, span);
		return NULL;
	}
	lock_take(&shard->lock);
	span_set(span, shard->index, SPAN_LIVE);
	pagemap_mark(&store->common.map, span);
	store_relaxed(&shard->live_pages, shard->live_pages + nr_pages);
	shard->count[QUIRE_COUNTER_span_alloc]++;
	shard->count[QUIRE_COUNTER_span_fresh]++;
	shard->count[QUIRE_COUNTER_bytes_mapped] += nr_pages << PAGE_SHIFT;
	lock_release(&shard->lock);
	return span;
}

static struct span *take_fresh(struct store *store, struct shard *shard,
			       const struct span_request *want, bool zero)
{
	size_t bytes = want->nr_pages << PAGE_SHIFT;
	bool huge = wants_huge(store, bytes, zero);
	size_t align = max_size(want->align_pages << PAGE_SHIFT,
				huge ? HUGE_SIZE : PAGE_SIZE);
	void *address;
	struct span *span;

	leave_room_for(store, want->nr_pages);
	address = map_or_trim(store, bytes, align);
	if (!address)
		return NULL;
	if (huge)
		advise_huge(store, address, bytes);
	span = register_fresh(store, shard, address, want->nr_pages);
	if (!span)
		os->unmap(address, bytes);
	else
		note_peak(store);
	return span;
}

__attribute__((cold, noinline)) void store_drop_inherited(struct store *store)
{
	if (__atomic_exchange_n(&store->inherited, 0, __ATOMIC_RELAXED))
		leave_all(store, QUIRE_COUNTER_bytes_direct);
}

static struct span *take_slow(struct store *store, struct shard *shard,
			      const struct span_request *want, bool zero)
{
	struct span *span = zero ? NULL : grow_kept(store, shard, want);

	return span ? span : take_fresh(store, shard, want, zero);
}

void *store_alloc(struct store *store, size_t bytes, size_t align, bool zero)
{
	struct shard *shard = own_shard(store);
	struct span *span = NULL;
	struct span_request want;

	if (!request_from(bytes, align, &want))
		return NULL;
	if (unlikely(load_relaxed(&store->inherited)))
		store_drop_inherited(store);
	if (!zero || bytes <= store->options.zero_max_bytes)
		span = take_kept(store, shard, &want);
	if (span) {
		if (zero) { /* [S3] */
			memset(page_address(span->page), 0, bytes);
			store_count(store, QUIRE_COUNTER_bytes_cleared, bytes);
		}
		return page_address(span->page);
	}
	span = take_slow(store, shard, &want, zero);
	return span ? page_address(span->page) : NULL;
}

/* Free */

static struct span *head_at(const struct store *store, const void *address)
{
	size_t page = address_page(address);
	struct span *span;

	if ((size_t)address & (PAGE_SIZE - 1))
		return NULL;
	span = pagemap_at(&store->common.map, page);
	return span && span->page == page ? span : NULL;
}

/* Does it cover @page, and is that page still ours? */
static bool covers_locked(const struct span *span, size_t page)
{
	if (page - span->page >= span->nr_pages || span->flags & SPAN_ABANDONED)
		return false;
	for (const struct hole *h = span->holes; h; h = h->next)
		if (page - h->page < h->nr_pages)
			return false;
	return true;
}

/*
 * Which kind of misuse, if it is one: the address may well be another
 * library's, so nothing is said that was not seen under the lock.
 */
static __attribute__((cold, noinline)) int misuse(struct store *store,
						  const void *address)
{
	size_t page = address_page(address);
	struct span *span = pagemap_covering(&store->common.map, page);
	struct shard *shard;
	bool live, kept, covers;

	if (!span)
		return -ENOENT;
	shard = shard_of(store, span);
	lock_take(&shard->lock);
	live = span_is(span, shard->index, SPAN_LIVE);
	kept = span_is(span, shard->index, SPAN_KEPT);
	covers = (live || kept) && covers_locked(span, page);
	lock_release(&shard->lock);
	if (!covers)
		return -ENOENT;
	store_count(store,
		    live ? QUIRE_COUNTER_free_foreign
			 : QUIRE_COUNTER_free_twice,
		    1);
	return live ? -EINVAL : -EALREADY;
}

static bool may_be_kept(const struct store *store, const struct span *span)
{
	return !span->flags && !span->holes && store->options.decay_ms;
}

/*
 * The LIVE span stops being one: kept, or LEAVING (then the caller must call
 * leave()).  True when it was kept.
 */
static bool retire_locked(struct store *store, struct shard *shard,
			  struct span *span, uint64_t now_ms)
{
	if (may_be_kept(store, span)) {
		shard_keep(shard, span, (uint32_t)now_ms);
		return true;
	}
	store_relaxed(&shard->live_pages, shard->live_pages - span->nr_pages);
	span_set(span, shard->index, SPAN_LEAVING);
	return false;
}

int store_free(struct store *store, void *address)
{
	struct span *span = head_at(store, address);

	if (unlikely(!span))
		return misuse(store, address);
	struct shard *shard = shard_of(store, span);
	uint64_t now_ms = os->now_ms();

	lock_take(&shard->lock);
	if (unlikely(!span_is(span, shard->index, SPAN_LIVE) ||
		     span->page != address_page(address))) {
		lock_release(&shard->lock);
		return misuse(store, address);
	}
	shard->count[QUIRE_COUNTER_span_free]++;
	size_t nr_pages = span->nr_pages;
	bool kept = retire_locked(store, shard, span, now_ms);
	lock_release(&shard->lock);

	if (unlikely(!kept))
		leave_behind(store, span, QUIRE_COUNTER_bytes_direct);
	else
		keeper_after_keep(store, shard, nr_pages, now_ms);
	return 0;
}

size_t store_usable(const struct store *store, const void *address)
{
	const struct span *span = head_at(store, address);

	return span && span_state(span) == SPAN_LIVE
		       ? span->nr_pages << PAGE_SHIFT
		       : 0;
}

/* Resize */

static void shrink(struct store *store, struct span *span, size_t nr_pages)
{
	struct shard *shard = shard_of(store, span);
	struct span *rest = NULL;
	uint64_t now_ms = os->now_ms();
	bool kept = false;

	size_t rest_pages = span->nr_pages - nr_pages;

	lock_take(&shard->lock);
	/* Holes belong to one descriptor; such a block is not worth cutting. */
	if (!span->holes)
		rest = shard_cut(shard, span, nr_pages);
	if (rest)
		kept = retire_locked(store, shard, rest, now_ms);
	lock_release(&shard->lock);
	if (!rest)
		return;
	if (kept)
		keeper_after_keep(store, shard, rest_pages, now_ms);
	else
		leave_behind(store, rest, QUIRE_COUNTER_bytes_direct);
}

static bool grow_in_place(struct store *store, struct span *span,
			  size_t nr_pages)
{
	struct shard *shard = shard_of(store, span);
	bool grown;

	lock_take(&shard->lock);
	grown = !span->flags && !span->holes &&
		shard_grow(shard, span, nr_pages);
	lock_release(&shard->lock);
	return grown;
}

static void *resize_by_copy(struct store *store, struct span *span,
			    size_t bytes)
{
	void *old = page_address(span->page);
	void *address = store_alloc(store, bytes, PAGE_SIZE, false);

	if (!address)
		return NULL;
	memcpy(address, old, span->nr_pages << PAGE_SHIFT);
	store_count(store, QUIRE_COUNTER_resize_copied, 1);
	store_free(store, old);
	return address;
}

static void *grow_span(struct store *store, struct span *span, size_t bytes,
		       size_t nr_pages)
{
	if (grow_in_place(store, span, nr_pages)) {
		store_count(store, QUIRE_COUNTER_resize_in_place, 1);
		return page_address(span->page);
	}
	leave_room_for(store, moved_pages(nr_pages) - span->nr_pages);
	if (!move_live(store, span, nr_pages)) {
		store_count(store, QUIRE_COUNTER_resize_moved, 1);
		return page_address(span->page);
	}
	return resize_by_copy(store, span, bytes);
}

void *store_resize(struct store *store, void *address, size_t bytes)
{
	struct span *span = head_at(store, address);
	struct span_request want;

	if (!span || span_state(span) != SPAN_LIVE ||
	    !request_from(bytes, PAGE_SIZE, &want))
		return NULL;
	if (want.nr_pages > span->nr_pages)
		return grow_span(store, span, bytes, want.nr_pages);
	if (!fits_whole(span->nr_pages, want.nr_pages))
		shrink(store, span, want.nr_pages);
	store_count(store, QUIRE_COUNTER_resize_in_place, 1);
	return address;
}

size_t store_trim(struct store *store)
{
	size_t pages = store_kept_pages(store);

	leave_down_to(store, 0, QUIRE_COUNTER_bytes_trimmed);
	return pages << PAGE_SHIFT;
}
