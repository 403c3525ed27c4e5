/* SPDX-License-Identifier: MIT */
/* See bound.h for [B1] to [B4]. */
#include "region/bound.h"

#include "base/assert.h"
#include "os/os.h"
#include "os/self.h"
#include "region/leave.h"

#define HUGE_BUDGET_PAGES ((size_t)128 << (20 - 12))
#define LOOK_MIN_MS	  10
/* As fast as memory can be filled: 2 MiB a millisecond. */
#define FILL_SHIFT 21

void bound_open(struct store *store)
{
	store->cap_pages = store->options.keep_bytes >> PAGE_SHIFT;
	store->helper_pages = store->options.thread_bytes >> PAGE_SHIFT;
	store->huge_budget = HUGE_BUDGET_PAGES;
	store->look_ms = LOOK_EVERY_MS;
	if (!store->options.keep_bytes && self_address_space_is_limited())
		store->options.decay_ms = 0; /* [B4] */
}

static void follow_smallest(struct store *store, uint64_t smallest)
{
	size_t sixteenth = (size_t)(smallest / 16) >> PAGE_SHIFT;

	if (!store->options.keep_bytes)
		store_relaxed(&store->cap_pages, sixteenth * 4);
	store_relaxed(&store->huge_budget,
		      min_size(HUGE_BUDGET_PAGES, sixteenth));
	if (store->options.thread_bytes == THREAD_BYTES_DEFAULT)
		store_relaxed(&store->helper_pages,
			      min_size(THREAD_BYTES_DEFAULT >> PAGE_SHIFT,
				       max_size(sixteenth, LIMIT_WORTH_PAGES)));
}

/* The less is left, the sooner it can be gone. */
static void set_pace(struct store *store, uint64_t left)
{
	uint64_t ms = left >> FILL_SHIFT;

	ms = ms < LOOK_MIN_MS ? LOOK_MIN_MS : ms;
	store_relaxed(&store->look_ms, ms > LOOK_EVERY_MS ? LOOK_EVERY_MS : ms);
}

/* [B1] */
static void apply_limit(struct store *store)
{
	struct os_limit tightest;
	uint64_t reserve;

	store_count(store, QUIRE_COUNTER_limit_looks, 1);
	if (os_limit_tightest(&tightest)) {
		store_count(store, QUIRE_COUNTER_limit_unknown, 1);
		return;
	}
	follow_smallest(store, tightest.smallest);
	reserve = tightest.limit / 100 * store->options.reserve_percent;
	if (tightest.used + reserve > tightest.limit) {
		store_count(store, QUIRE_COUNTER_limit_near, 1);
		leave_all(store, QUIRE_COUNTER_bytes_pressed);
		set_pace(store, 0);
	} else {
		set_pace(store, tightest.limit - reserve - tightest.used);
	}
}

static const char *skip_number(const char *text)
{
	while (*text >= '0' && *text <= '9')
		text++;
	return text;
}

/* The second number of statm, in pages; 0 when it cannot be read. */
static size_t resident_pages(void)
{
	char text[128];
	size_t pages = 0;

	if (os->read_file("/proc/self/statm", text, sizeof(text)) <= 0)
		return 0;
	const char *at = skip_number(text);
	for (at += *at == ' '; *at >= '0' && *at <= '9'; at++)
		pages = pages * 10 + (size_t)(*at - '0');
	return pages;
}

/*
 * [B2] Without us the process would have what is resident minus what is kept.
 * The largest of that is the mark; before the first look it is the largest size
 * that the kernel saw.
 */
static void apply_resident(struct store *store)
{
	size_t resident = resident_pages();
	size_t kept = store_kept_pages(store);
	size_t peak = load_relaxed(&store->peak_resident_pages);
	size_t bound;

	if (!resident)
		return;
	if (!peak)
		peak = (size_t)(self_peak_rss() >> PAGE_SHIFT);
	if (resident > kept)
		peak = max_size(peak, resident - kept);
	store_relaxed(&store->peak_resident_pages, peak);
	bound = bound_over_peak(peak);
	if (resident > bound)
		leave_down_to(store, kept - min_size(kept, resident - bound),
			      QUIRE_COUNTER_bytes_replaced);
}

void bound_apply(struct store *store)
{
	size_t cap;

	apply_limit(store);
	cap = load_relaxed(&store->cap_pages);
	if (cap && store_kept_pages(store) > cap)
		leave_down_to(store, cap, QUIRE_COUNTER_bytes_capped);
	apply_resident(store);
}

/*
 * [B3] A count of what was asked for and has not gone back.  It does not follow
 * single blocks, whose memory is cut and merged: what goes back in large pieces
 * is taken to be what was asked for.
 */
bool bound_take_huge(struct store *store, size_t nr_pages)
{
	if (load_relaxed(&store->huge_pages) + nr_pages >
	    load_relaxed(&store->huge_budget))
		return false;
	add_relaxed(&store->huge_pages, nr_pages);
	return true;
}

void bound_return_huge(struct store *store, size_t nr_pages)
{
	size_t had = load_relaxed(&store->huge_pages);

	if (nr_pages >= HUGE_SIZE >> PAGE_SHIFT)
		store_relaxed(&store->huge_pages,
			      had - min_size(had, nr_pages));
}
