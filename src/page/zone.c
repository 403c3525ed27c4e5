/* SPDX-License-Identifier: MIT */
/*
 * Zones come and go; their numbers.
 *
 *	base                  start                                  end
 *	│ no pages             │ pages          │ hole │ pages       │
 *	├──────────────────────┼──────── shard 0 ──────┼─ shard 1 ───┤
 *	1 GiB boundary                                 2^buddy_shift pages
 *
 * Page numbers count from a boundary of the largest block, so a block's number
 * is aligned as its address is.  Shards are cut at powers of two, so that a
 * shift finds a page's and no block lies in two.
 *
 * What the memory contains when the zone opens: memory of the caller may hold
 * anything.  A region reads as zeros, so its pages are fresh; but not those of
 * a region that was a zone's before.
 *
 * [N1] Opening undoes what it did when it fails, in the order of the labels.
 * [N2] A zone is in the registry exactly while it may be used.
 * [N3] Whoever goes through the registry and gives up its lock has pinned the
 *	zone that it is at: that one stays, and so does its link.
 */
#include "page/zone.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "page/layout.h"
#include "page/settings.h"
#include "page/slow.h"

static struct {
	struct lock lock;
	/* zones lock */
	struct list all;
} zones = {
	.lock = { .rank = RANK_ZONES },
	.all = { &zones.all, &zones.all },
};

struct lock *zones_lock(void)
{
	return &zones.lock;
}

struct list *zones_all(void)
{
	return &zones.all;
}

void zones_each(void (*each)(struct quire_zone *zone, void *arg), void *arg)
{
	lock_take(&zones.lock);
	list_for_each (item, &zones.all)
		each(container_of(item, struct quire_zone, link), arg);
	lock_release(&zones.lock);
}

/* [N3] */
static void unpin_locked(struct quire_zone *zone)
{
	store_relaxed(&zone->pins, zone->pins - 1);
	if (!zone->pins)
		os->wake(&zone->pins);
}

size_t zones_trim(void)
{
	struct list *item;
	size_t pages = 0;

	lock_take(&zones.lock);
	for (item = zones.all.next; item != &zones.all; item = item->next) {
		struct quire_zone *zone =
			container_of(item, struct quire_zone, link);

		store_relaxed(&zone->pins, zone->pins + 1);
		lock_release(&zones.lock);
		pages += zone_trim(zone, 0);
		lock_take(&zones.lock);
		unpin_locked(zone);
	}
	lock_release(&zones.lock);
	return pages;
}

static void delist(struct quire_zone *zone)
{
	uint32_t pins;

	lock_take(&zones.lock);
	while ((pins = zone->pins)) {
		lock_release(&zones.lock);
		os->wait(&zone->pins, pins, UINT64_MAX);
		lock_take(&zones.lock);
	}
	list_remove(&zone->link); /* [N2] */
	lock_release(&zones.lock);
}

/* Numbers */

struct buddy *zone_buddy(const struct quire_zone *zone, uint32_t page)
{
	uint64_t shard = (uint64_t)page >> zone->buddy_shift;

	return &zone->buddies[shard - zone->buddy_first];
}

size_t zone_free_pages(const struct quire_zone *zone)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < zone->nr_buddies; i++)
		nr += load_relaxed(&zone->buddies[i].free_pages);
	return nr;
}

size_t zone_usable_pages(const struct quire_zone *zone)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		size_t all = load_relaxed(&zone->buddies[i].free_pages);
		size_t out = load_relaxed(&zone->buddies[i].isolated_pages);

		nr += all > out ? all - out : 0;
	}
	return nr;
}

enum tune_zone zone_state(const struct quire_zone *zone)
{
	if (load_relaxed(&zone->reclaiming))
		return TUNE_RECLAIM_ACTIVE;
	return zone_usable_pages(zone) < zone->watermark_high ? TUNE_BELOW_HIGH
							      : TUNE_NORMAL;
}

void zone_count(struct quire_zone *zone, enum zone_count what, uint64_t n)
{
	add_relaxed(&zone->count[what], n);
}

/* Opening */

static void set_watermarks(struct quire_zone *zone,
			   const struct quire_zone_options *options)
{
	size_t min = options->watermark_min_pages;

	if (!min)
		min = min_size(zone->managed_pages / 1000,
			       ((size_t)4 << 20) >> PAGE_SHIFT);
	zone->watermark_min = min;
	zone->watermark_low = min + min / 4;
	zone->watermark_high = min + min / 2;
}

static void set_decay(struct quire_zone *zone,
		      const struct quire_zone_options *options)
{
	bool region = zone->backing == BACKING_REGION;

	zone->decay_ms = options->decay_ms;
	if (!options->decay_ms)
		zone->decay_ms = region ? 10000 : UINT64_MAX;
	if (options->decay_ms == UINT32_MAX)
		zone->decay_ms = UINT64_MAX;
	zone->may_discard =
		region ? zone->region->pages != QUIRE_PAGES_HUGETLB_2M
		       : zone->backing == BACKING_MEMORY && options->decay_ms;
}

/* One mapping: the zone, then its shards. */
static int new_zone(const struct layout *layout, struct quire_zone **out)
{
	size_t bytes = sizeof(struct quire_zone) +
		       layout->nr_buddies * sizeof(struct buddy);
	struct quire_zone *zone;
	void *memory;
	int error = os->map(bytes, PAGE_SIZE, &memory);

	if (error)
		return error;
	zone = memory;
	zone->metadata_bytes = bytes;
	zone->buddies = (struct buddy *)(zone + 1);
	zone->nr_buddies = layout->nr_buddies;
	zone->buddy_shift = layout->buddy_shift;
	zone->buddy_first =
		(uint32_t)((uint64_t)layout->start >> layout->buddy_shift);
	zone->base = layout->base;
	zone->end = layout->end;
	lock_init(&zone->drain_lock, RANK_DRAIN);
	zone->deferred = NO_PAGE;
	*out = zone;
	return 0;
}

static void set_up(struct quire_zone *zone, const struct layout *layout,
		   const struct quire_zone_options *options)
{
	zone->backing = layout->backing;
	zone->region = options->region;
	zone->region_offset = options->region_offset;
	zone->region_bytes = layout->bytes;
	zone->flags = options->flags;
	zone->drain_mode = (enum quire_drain)options->drain;
	zone->reclaim = options->reclaim;
	zone->reclaim_arg = options->reclaim_arg;
	zone->managed_pages = layout->managed;
	set_watermarks(zone, options);
	set_decay(zone, options);
}

static int claim_region(struct quire_zone *zone)
{
	struct range range = { zone->region_offset,
			       zone->region_offset + zone->region_bytes };

	if (zone->backing != BACKING_REGION)
		return 0;
	return area_claim(zone->region, range, CLAIM_ZONE, &zone->region_claim);
}

static void unclaim_region(struct quire_zone *zone)
{
	if (zone->backing == BACKING_REGION)
		area_unclaim(zone->region, &zone->region_claim);
}

static void init_buddies(struct quire_zone *zone)
{
	uint64_t each = (uint64_t)1 << zone->buddy_shift;

	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		uint64_t first = (zone->buddy_first + (uint64_t)i) * each;
		uint64_t end = first + each;

		first = first < zone->map.start ? zone->map.start : first;
		end = end > zone->map.end ? zone->map.end : end;
		buddy_init(&zone->buddies[i], &zone->map, (uint32_t)first,
			   (uint32_t)end);
	}
}

static int open_parts(struct quire_zone *zone, const struct layout *layout,
		      const struct quire_zone_options *options)
{
	int error = memmap_init(&zone->map, layout->start, layout->end);

	if (error)
		return error;
	zone->state = zone->map.state;
	zone->block_type = zone->map.block_type;
	init_buddies(zone);
	error = pcp_open(zone, options);
	if (error)
		goto free_map;
	error = depot_init(&zone->depot, layout_depot_pages(zone));
	if (error)
		goto close_lists;
	zone->metadata_bytes +=
		zone->map.bytes + zone->percpu.bytes + zone->depot.bytes;
	layout_give_all(zone, options);
	return 0;
close_lists:
	percpu_destroy(&zone->percpu);
free_map:
	memmap_destroy(&zone->map);
	return error;
}

static void enlist(struct quire_zone *zone)
{
	lock_take(&zones.lock);
	list_add_tail(&zones.all, &zone->link);
	lock_release(&zones.lock);
	decay_zone_opened(zone);
}

static void free_zone(struct quire_zone *zone)
{
	os->unmap(zone,
		  sizeof(*zone) + zone->nr_buddies * sizeof(struct buddy));
}

static int open_with(const struct quire_zone_options *options,
		     struct quire_zone **out)
{
	struct quire_zone *zone;
	struct layout layout;
	int error = layout_find(options, &layout);

	if (!error)
		error = new_zone(&layout, &zone);
	if (error)
		return error;
	set_up(zone, &layout, options);
	error = claim_region(zone);
	if (error)
		goto free_zone;
	error = open_parts(zone, &layout, options);
	if (error)
		goto unclaim;
	enlist(zone);
	*out = zone;
	return 0;
unclaim: /* [N1] */
	unclaim_region(zone);
free_zone:
	free_zone(zone);
	return error;
}

int zone_open(const struct quire_zone_options *options, struct quire_zone **out)
{
	struct quire_zone_options wanted = *options;
	int error = zone_at_fork();

	if (error)
		return error;
	settings_apply(&wanted);
	return open_with(&wanted, out);
}

/* Closing */

static int may_close(struct quire_zone *zone)
{
	bool busy;

	gate_enter(zone, false);
	lock_take(&zone->drain_lock);
	busy = zone->nr_disabled || zone->nr_isolated;
	lock_release(&zone->drain_lock);
	gate_leave(zone);
	return busy ? -EBUSY : 0;
}

long zone_close(struct quire_zone *zone)
{
	int error = may_close(zone);
	size_t within, out;

	if (error)
		return error;
	pcp_drain_all(zone); /* and what was freed twice is found */
	decay_zone_closing(zone);
	delist(zone);
	within = zone_free_pages(zone) + pcp_count(zone) +
		 zone->depot.nr_pages + zone->nr_deferred;
	out = within < zone->managed_pages ? zone->managed_pages - within : 0;
	depot_destroy(&zone->depot);
	percpu_destroy(&zone->percpu);
	memmap_destroy(&zone->map);
	unclaim_region(zone);
	free_zone(zone);
	return (long)out;
}
