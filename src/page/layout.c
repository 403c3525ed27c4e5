/* SPDX-License-Identifier: MIT */
/*
 * Where a zone's pages are.
 *
 * Everything that a user can get wrong is found here, before anything is done;
 * sums of sizes are checked, so no wrapped number goes further.
 *
 * A hole is noted as blocks are, by its largest aligned pieces: HOLE and the
 * order in the first page's state, TAIL in the others; so a hole of any size
 * costs a few bytes.
 */
#include "page/layout.h"

#include <errno.h>

#include "base/assert.h"
#include "os/os.h"
#include "page/slow.h"

#define BASE_ALIGN ((size_t)PAGE_SIZE << MAX_ORDER)
/* Addresses of a zone of numbers only; never 0. */
#define NUMBERS_BASE BASE_ALIGN

/* Page numbers end early enough that no number of a block, of its buddy, or of
 * what comes after either wraps. */
#define PAGES_END ((uint64_t)UINT32_MAX + 1 - (2u << MAX_ORDER))

/* A depot holds at most this much of a zone, and for each CPU. */
#define DEPOT_PART    8
#define DEPOT_CPU_MAX 16384u

/* Options */

#define ALL_FLAGS                                                              \
	(QUIRE_ZONE_NO_DEPOT | QUIRE_ZONE_POISON | QUIRE_ZONE_INIT_FREE |      \
	 QUIRE_ZONE_SHARED | QUIRE_ZONE_STRICT)
#define CAREFUL (QUIRE_ZONE_POISON | QUIRE_ZONE_INIT_FREE)

static bool values_are_known(const struct quire_zone_options *options)
{
	return !(options->flags & ~ALL_FLAGS) &&
	       options->pcp <= QUIRE_PCP_OFF &&
	       options->drain <= QUIRE_DRAIN_PREFETCH &&
	       options->nr_shards <= SHARDS_MAX && options->high <= PCP_RING &&
	       options->batch_scale_max <= 5;
}

/* What would contradict itself, or touch what is not there. */
static bool go_together(const struct quire_zone_options *options)
{
	unsigned int flags = options->flags;

	if (options->region && options->memory)
		return false;
	if (flags & QUIRE_ZONE_SHARED &&
	    (!options->memory || options->decay_ms))
		return false;
	if (flags & CAREFUL && !options->region && !options->memory)
		return false;
	return (flags & CAREFUL) != CAREFUL;
}

/* The memory */

static bool in_region(const struct quire_zone_options *options,
		      struct layout *layout)
{
	const struct quire_region *region = options->region;
	size_t end;

	if (options->region_offset >= region->bytes)
		return false;
	layout->bytes = options->bytes ? options->bytes
				       : region->bytes - options->region_offset;
	if (__builtin_add_overflow(options->region_offset, layout->bytes,
				   &end) ||
	    end > region->bytes)
		return false;
	layout->backing = BACKING_REGION;
	layout->base = region->base + options->region_offset;
	return !(options->region_offset % PAGE_SIZE);
}

static bool find_memory(const struct quire_zone_options *options,
			struct layout *layout)
{
	uintptr_t first, end;

	if (options->region) {
		if (!in_region(options, layout))
			return false;
	} else {
		layout->bytes = options->bytes;
		layout->backing =
			options->memory ? BACKING_MEMORY : BACKING_NONE;
		layout->base = options->memory ? options->memory
					       : (char *)NUMBERS_BASE;
	}
	first = (uintptr_t)layout->base;
	return layout->bytes && !((layout->bytes | first) % PAGE_SIZE) &&
	       !__builtin_add_overflow(first, layout->bytes, &end);
}

static int number_pages(struct layout *layout)
{
	uintptr_t first = (uintptr_t)layout->base;
	size_t before = first % BASE_ALIGN;
	size_t end;

	if (__builtin_add_overflow(before, layout->bytes, &end) ||
	    end >> PAGE_SHIFT >= PAGES_END)
		return -EOVERFLOW;
	layout->base -= before;
	layout->start = (uint32_t)(before >> PAGE_SHIFT);
	layout->end = (uint32_t)(end >> PAGE_SHIFT);
	return 0;
}

/* In order, apart, whole pages, inside; and something must be left. */
static bool count_holes(const struct quire_zone_options *options,
			struct layout *layout)
{
	size_t at = 0, end, total = 0;

	if (!options->holes != !options->nr_holes)
		return false;
	for (size_t i = 0; i < options->nr_holes; i++) {
		const struct quire_hole *hole = &options->holes[i];

		if (!hole->bytes || hole->offset < at ||
		    (hole->offset | hole->bytes) % PAGE_SIZE ||
		    __builtin_add_overflow(hole->offset, hole->bytes, &end) ||
		    end > layout->bytes)
			return false;
		total += hole->bytes;
		at = end;
	}
	layout->managed = (layout->bytes - total) >> PAGE_SHIFT;
	return layout->managed &&
	       options->watermark_min_pages < layout->managed;
}

static unsigned int nr_pieces(const struct layout *layout, unsigned int shift)
{
	uint64_t first = layout->start, last = layout->end - 1;

	return (unsigned int)((last >> shift) - (first >> shift) + 1);
}

/* The smallest power of two that cuts into no more than are wanted. */
static void cut_shards(struct layout *layout, unsigned int wanted)
{
	unsigned int shift = BLOCK_ORDER;

	while (nr_pieces(layout, shift) > (wanted ? wanted : 1))
		shift++;
	layout->buddy_shift = shift;
	layout->nr_buddies = nr_pieces(layout, shift);
}

int layout_find(const struct quire_zone_options *options, struct layout *layout)
{
	int error;

	*layout = (struct layout){ .base = NULL };
	if (!values_are_known(options) || !go_together(options) ||
	    !find_memory(options, layout))
		return -EINVAL;
	error = number_pages(layout);
	if (error)
		return error;
	if (!count_holes(options, layout))
		return -EINVAL;
	cut_shards(layout, options->nr_shards);
	return 0;
}

size_t layout_depot_pages(const struct quire_zone *zone)
{
	size_t most = (size_t)os->nr_cpus() * DEPOT_CPU_MAX;

	if (zone->flags & QUIRE_ZONE_NO_DEPOT ||
	    zone->percpu.mode == PERCPU_OFF)
		return 0;
	return min_size(zone->managed_pages / DEPOT_PART, most);
}

/* Filling it */

static void mark_hole(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	while (page < end) {
		unsigned int order = layout_order(page, end);

		zone->state[page] = (uint8_t)(STATE_HOLE | order);
		page += 1u << order;
	}
}

/* A region as it came reads as zeros; everything else that is to carry the
 * pattern while it is free gets it now. */
static bool is_fresh(const struct quire_zone *zone)
{
	return zone->backing == BACKING_REGION && zone->region_claim.as_new;
}

static void set_content(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	if (is_fresh(zone))
		return;
	for (; page < end && zone->flags & QUIRE_ZONE_POISON; page++)
		zone_poison(zone, page, 0);
}

static void give_run(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	while (page < end) {
		struct buddy *buddy = zone_buddy(zone, page);
		uint32_t to = end < buddy->end ? end : buddy->end;

		set_content(zone, page, to);
		lock_take(&buddy->lock);
		buddy_give_new_locked(buddy, page, to - page);
		lock_release(&buddy->lock);
		page = to;
	}
}

void layout_give_all(struct quire_zone *zone,
		     const struct quire_zone_options *options)
{
	uint32_t at = zone->map.start;

	if (is_fresh(zone))
		memmap_begin_fresh(&zone->map);
	for (size_t i = 0; i < options->nr_holes; i++) {
		const struct quire_hole *hole = &options->holes[i];
		uint32_t first = zone->map.start +
				 (uint32_t)(hole->offset >> PAGE_SHIFT);
		uint32_t end = first + (uint32_t)(hole->bytes >> PAGE_SHIFT);

		mark_hole(zone, first, end);
		give_run(zone, at, first);
		at = end;
	}
	give_run(zone, at, zone->map.end);
}

uint32_t layout_hole_pages(const struct quire_zone *zone, uint32_t block)
{
	uint32_t nr = 0, end = block + BLOCK_PAGES;

	for (uint32_t page = block; page < end;) {
		uint32_t head = slow_head(zone, page);
		unsigned int state =
			head == NO_PAGE ? 0 : load_relaxed(&zone->state[head]);
		uint32_t next = page + 1;

		if (STATE_KIND(state) == STATE_HOLE) {
			next = head + (1u << STATE_ORDER(state));
			nr += (next < end ? next : end) - page;
		}
		page = next;
	}
	return nr;
}
