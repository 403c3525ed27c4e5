/* SPDX-License-Identifier: MIT */
/* Regions: opening, closing, and whose a range is.  See area.h, [R1]-[R6]. */
#include "region/area.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "os/lock.h"
#include "os/topology.h"

static struct {
	struct lock unmap_lock; /* [R3] */
	struct lock lock;	/* the region lock */
	/* region lock */
	struct list all;
	unsigned int nr_open; /* handles */
	/* atomic, relaxed */
	uint64_t count[QUIRE_NR_COUNTERS];
} areas = {
	.unmap_lock = { .rank = RANK_UNMAP },
	.lock = { .rank = RANK_REGION },
	.all = { &areas.all, &areas.all },
};

void area_count(enum quire_counter which, uint64_t by)
{
	add_relaxed(&areas.count[which], by);
}

void area_counters(uint64_t counter[QUIRE_NR_COUNTERS])
{
	for (int i = 0; i < QUIRE_NR_COUNTERS; i++)
		counter[i] = load_relaxed(&areas.count[i]);
	counter[QUIRE_COUNTER_thread_started] = pool_nr_started();
	counter[QUIRE_COUNTER_thread_refused] = pool_nr_refused();
}

/* Opening */

/* A wish was refused with @error: 0 if that is to be done without. */
static int do_without(struct quire_region *region, int error)
{
	if (!error || region->flags & QUIRE_REGION_STRICT)
		return error;
	region->nr_fallbacks++;
	area_count(QUIRE_COUNTER_region_fallback, 1);
	return 0;
}

static int map_pages(struct quire_region *region, size_t bytes)
{
	bool hugetlb = region->pages == QUIRE_PAGES_HUGETLB_2M;
	bool thp = region->pages == QUIRE_PAGES_THP;
	void *base;
	int error;

	region->unit = hugetlb ? HUGE_SIZE : PAGE_SIZE;
	if (!round_up_checked(bytes, region->unit, &region->bytes))
		return -EOVERFLOW;
	error = os->map_backed(
		region->bytes,
		hugetlb || (thp && bytes >= HUGE_SIZE) ? HUGE_SIZE : PAGE_SIZE,
		hugetlb ? OS_HUGETLB : OS_LAZY, &base);
	if (!error)
		region->base = base;
	return error;
}

static int map_or_fall_back(struct quire_region *region, size_t bytes)
{
	int error = map_pages(region, bytes);

	if (!error || error == -EOVERFLOW ||
	    region->pages != QUIRE_PAGES_HUGETLB_2M)
		return error;
	error = do_without(region, error);
	if (error)
		return error;
	region->pages = QUIRE_PAGES_THP;
	return map_pages(region, bytes);
}

static int place_pages(struct quire_region *region,
		       const struct quire_region_options *options)
{
	struct os_topology topology;
	struct os_nodes nodes = { options->nodes, options->nr_nodes };
	int error;

	if (region->numa == QUIRE_NUMA_LOCAL)
		return 0;
	if (!nodes.nr) {
		os_topology_read(&topology);
		nodes.bits = topology.nodes.bits;
		nodes.nr = topology.nodes.end;
	}
	error = os->place(region->base, region->bytes,
			  region->numa == QUIRE_NUMA_BIND ? OS_BIND
							  : OS_INTERLEAVE,
			  &nodes);
	if (error)
		region->numa = QUIRE_NUMA_LOCAL;
	return do_without(region, error);
}

static int advise_all(struct quire_region *region, enum os_advice advice,
		      unsigned int flag)
{
	int error = os->advise(region->base, region->bytes, advice);

	if (error)
		region->flags &= ~flag;
	return do_without(region, error);
}

static int set_page_size(struct quire_region *region)
{
	if (region->pages == QUIRE_PAGES_4K)
		/* A kernel that refuses has no huge pages. */
		os->advise(region->base, region->bytes, OS_NO_HUGE);
	if (region->pages != QUIRE_PAGES_THP)
		return 0;
	return advise_all(region, OS_HUGE, 0);
}

static int set_properties(struct quire_region *region,
			  const struct quire_region_options *options)
{
	int error = set_page_size(region);

	/* A copy of such a page in a child may find the pool empty: SIGBUS. */
	if (region->pages == QUIRE_PAGES_HUGETLB_2M &&
	    !(region->flags & QUIRE_REGION_FORK))
		region->flags |= QUIRE_REGION_NO_FORK;
	if (!error)
		error = place_pages(region, options);
	if (!error && region->flags & QUIRE_REGION_NO_DUMP)
		error = advise_all(region, OS_NO_DUMP, QUIRE_REGION_NO_DUMP);
	if (!error && region->flags & QUIRE_REGION_NO_FORK)
		error = advise_all(region, OS_NO_FORK, QUIRE_REGION_NO_FORK);
	if (!error && region->flags & QUIRE_REGION_REGISTERED)
		error = ranges_reserve(&region->marks, 1);
	return error;
}

static void enlist(struct quire_region *region)
{
	struct range all = { 0, region->bytes };

	if (region->flags & QUIRE_REGION_REGISTERED)
		bag_add(&region->marks, all);
	area_count(QUIRE_COUNTER_region_mapped, region->bytes);
	area_count(QUIRE_COUNTER_bytes_region, region->bytes);
	lock_take(&areas.lock);
	list_add_tail(&areas.all, &region->link);
	areas.nr_open++;
	lock_release(&areas.lock);
}

static int open_in(struct quire_region *region, size_t bytes,
		   const struct quire_region_options *options)
{
	int error = map_or_fall_back(region, bytes);

	if (error)
		return error;
	error = set_properties(region, options);
	if (error) {
		os->unmap(region->base, region->bytes);
		return error;
	}
	enlist(region);
	return 0;
}

int area_open(size_t bytes, const struct quire_region_options *options,
	      struct quire_region **out)
{
	struct quire_region *region;
	void *page;
	int error = area_fork_error();

	if (!error)
		error = os->map(sizeof(*region), PAGE_SIZE, &page);
	if (error)
		return error;
	region = page;
	region->pages = (enum quire_pages)options->pages;
	region->numa = (enum quire_numa)options->numa;
	region->flags = options->flags;
	region->headroom_percent =
		options->headroom_percent ? options->headroom_percent : 5;
	list_init(&region->claims);
	ranges_begin_in(&region->gone, region + 1, PAGE_SIZE - sizeof(*region));
	error = open_in(region, bytes, options);
	if (error) {
		ranges_free(&region->marks);
		os->unmap(page, sizeof(*region));
		return error;
	}
	release_prepare();
	*out = region;
	return 0;
}

/* Claims */

int area_range(const struct quire_region *region, size_t offset, size_t bytes,
	       struct range *out)
{
	size_t end;

	if (__builtin_add_overflow(offset, bytes, &end) ||
	    end > region->bytes || (offset | bytes) & (region->unit - 1))
		return -EINVAL;
	*out = (struct range){ offset, end };
	return 0;
}

/* [R1] populate and discard go with each other and with a zone. */
static bool conflict(enum claim_kind one, enum claim_kind other)
{
	return one == CLAIM_RELEASE || other == CLAIM_RELEASE ||
	       (one == CLAIM_ZONE && other == CLAIM_ZONE);
}

static bool conflicts_locked(const struct quire_region *region,
			     struct range range, enum claim_kind kind)
{
	list_for_each (item, &region->claims) {
		const struct claim *other =
			container_of(item, struct claim, link);

		if (other->range.first < range.end &&
		    range.first < other->range.end &&
		    conflict(kind, other->kind))
			return true;
	}
	return false;
}

static size_t nr_claims_locked(const struct quire_region *region)
{
	size_t nr = 0;

	list_for_each (item, &region->claims)
		nr++;
	return nr;
}

/* [R4] for this claim, every other, and what is on its way. */
static int make_room_locked(struct quire_region *region)
{
	return ranges_reserve(&region->gone, nr_claims_locked(region) + 1 +
						     2 * region->nr_behind + 2);
}

static int may_claim_locked(struct quire_region *region, struct range range,
			    enum claim_kind kind)
{
	if (region->absent)
		return -ENXIO;
	if (ranges_meet(&region->gone, range))
		return -EINVAL;
	if (conflicts_locked(region, range, kind) ||
	    (kind != CLAIM_POPULATE && kind != CLAIM_ZONE &&
	     bag_meet(&region->marks, range))) {
		area_count(QUIRE_COUNTER_region_busy, 1);
		return -EBUSY;
	}
	return kind == CLAIM_RELEASE ? make_room_locked(region) : 0;
}

static void note_zone_locked(struct quire_region *region, struct claim *claim)
{
	struct range *zoned = &region->zoned;

	claim->as_new = claim->range.end <= zoned->first ||
			zoned->end <= claim->range.first;
	if (zoned->first == zoned->end)
		*zoned = claim->range;
	zoned->first = min_size(zoned->first, claim->range.first);
	zoned->end = max_size(zoned->end, claim->range.end);
}

int area_claim(struct quire_region *region, struct range range,
	       enum claim_kind kind, struct claim *claim)
{
	int error;

	*claim = (struct claim){ .range = range, .kind = kind };
	if (kind != CLAIM_ZONE)
		claim->owner = pool_this_thread();
	lock_take(&areas.lock);
	error = may_claim_locked(region, range, kind);
	if (!error)
		list_add_tail(&region->claims, &claim->link);
	if (!error && kind == CLAIM_ZONE)
		note_zone_locked(region, claim);
	lock_release(&areas.lock);
	return error;
}

void area_unclaim(struct quire_region *region, struct claim *claim)
{
	(void)region; /* its list; the link is enough */
	lock_take(&areas.lock);
	list_remove(&claim->link);
	lock_release(&areas.lock);
}

/* The end of ranges */

static void count_released(struct range range)
{
	area_count(QUIRE_COUNTER_region_released, range.end - range.first);
	area_count(QUIRE_COUNTER_bytes_region,
		   (uint64_t)range.first - range.end);
}

int area_unmap(struct quire_region *region, struct claim *claim)
{
	struct range range = claim->range;
	int error = 0;

	lock_take(&areas.unmap_lock);
	STEP("area: about to unmap");
	if (range.first < range.end)
		error = os->unmap(area_at(region, range.first),
				  range.end - range.first);
	STEP("area: unmapped, not noted");
	lock_take(&areas.lock);
	list_remove(&claim->link);
	if (!error && range.first < range.end) {
		ranges_add(&region->gone, range);
		count_released(range);
	}
	lock_release(&areas.lock);
	lock_release(&areas.unmap_lock);
	if (error)
		area_count(QUIRE_COUNTER_unmap_failed, 1);
	return error;
}

void area_send_off(struct quire_region *region, struct claim *claim)
{
	lock_take(&areas.lock);
	list_remove(&claim->link);
	ranges_add(&region->gone, claim->range);
	region->nr_behind++;
	lock_release(&areas.lock);
}

static void take_back_locked(struct quire_region *region, struct range range)
{
	area_count(QUIRE_COUNTER_unmap_failed, 1);
	if (!region->closed)
		ranges_remove(&region->gone, range);
}

int area_arrive(struct quire_region *region, struct range range, bool *unmapped)
{
	int error = 0;

	lock_take(&areas.unmap_lock);
	/* A child that did not inherit it has somebody else's memory there. */
	if (!*unmapped && !region->absent)
		error = os->unmap(area_at(region, range.first),
				  range.end - range.first);
	STEP("area: arrived, not noted");
	if (!error && !*unmapped) {
		*unmapped = true;
		count_released(range);
		area_count(QUIRE_COUNTER_region_behind,
			   range.end - range.first);
	}
	if (error) {
		lock_take(&areas.lock);
		take_back_locked(region, range);
		lock_release(&areas.lock);
	}
	lock_release(&areas.unmap_lock);
	return error;
}

/* Closing */

static void free_region(struct quire_region *region)
{
	ranges_free(&region->gone);
	ranges_free(&region->marks);
	os->unmap(region, sizeof(*region));
}

void area_settle(struct quire_region *region)
{
	bool last;

	lock_take(&areas.lock);
	region->nr_behind--;
	last = region->closed && !region->nr_behind; /* [R6] */
	if (last)
		list_remove(&region->link);
	lock_release(&areas.lock);
	if (last)
		free_region(region);
}

static int may_close(struct quire_region *region)
{
	int error = 0;

	lock_take(&areas.lock);
	if (!list_empty(&region->claims) ||
	    (!region->absent && region->marks.nr))
		error = -EBUSY;
	lock_release(&areas.lock);
	return error;
}

static bool next_left(struct quire_region *region, struct range *out)
{
	bool found;

	lock_take(&areas.lock);
	found = !region->absent &&
		ranges_gap(&region->gone, 0, region->bytes, out);
	lock_release(&areas.lock);
	return found;
}

/* The helpers go with the last handle, unless they have work. */
static void end_handle(struct quire_region *region)
{
	bool last, none;

	lock_take(&areas.lock);
	region->closed = true;
	last = !region->nr_behind;
	if (last)
		list_remove(&region->link);
	none = --areas.nr_open == 0;
	lock_release(&areas.lock);
	if (last)
		free_region(region);
	if (none)
		pool_stop(false);
}

static void forget_absent(struct quire_region *region)
{
	struct range left;

	for (size_t at = 0; ranges_gap(&region->gone, at, region->bytes, &left);
	     at = left.end)
		count_released(left);
}

int area_close(struct quire_region *region)
{
	struct quire_work alone = { .size = sizeof(alone), .workers = 1 };
	struct range left;
	int error = may_close(region);

	while (!error && next_left(region, &left))
		error = area_release(region, left, &alone);
	if (error)
		return error;
	if (region->absent)
		forget_absent(region);
	end_handle(region);
	return 0;
}

/* Registered with the kernel: [R5] */

int area_mark(struct quire_region *region, struct range range)
{
	int error;

	lock_take(&areas.lock);
	error = region->absent ? -ENXIO : 0;
	if (!error && ranges_meet(&region->gone, range))
		error = -EINVAL;
	list_for_each (item, &region->claims) {
		const struct claim *claim =
			container_of(item, struct claim, link);

		if (!error && claim->kind != CLAIM_POPULATE &&
		    claim->kind != CLAIM_ZONE &&
		    claim->range.first < range.end &&
		    range.first < claim->range.end)
			error = -EBUSY;
	}
	if (!error && range.first < range.end)
		error = ranges_reserve(&region->marks, 1);
	if (!error && range.first < range.end)
		bag_add(&region->marks, range);
	lock_release(&areas.lock);
	return error;
}

int area_unmark(struct quire_region *region, struct range range)
{
	bool found;

	lock_take(&areas.lock);
	found = range.first == range.end || bag_remove(&region->marks, range);
	lock_release(&areas.lock);
	return found ? 0 : -ENOENT;
}

void area_describe(struct quire_region *region, struct quire_region_facts *out)
{
	out->pages = region->pages;
	out->numa = region->numa;
	out->flags = region->flags;
	out->nr_fallbacks = region->nr_fallbacks;
	lock_take(&areas.lock);
	out->bytes_left = region->bytes - region->gone.total;
	out->bytes_registered = region->marks.total;
	out->nr_releases = region->nr_behind;
	lock_release(&areas.lock);
}

/* For fork and the walker */

struct list *area_all(void)
{
	return &areas.all;
}

void area_lock_all(void)
{
	lock_take(&areas.unmap_lock);
	lock_take(&areas.lock);
}

void area_unlock_all(void)
{
	lock_release(&areas.lock);
	lock_release(&areas.unmap_lock);
}

void area_locks_in_child(void)
{
	lock_reset_in_child(&areas.lock);
	lock_reset_in_child(&areas.unmap_lock);
}
