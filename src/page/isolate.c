/* SPDX-License-Identifier: MIT */
/*
 * Isolating a part of a zone: from then on nothing of it is handed out.
 *
 *	close all lists ── empty them ── pageblocks become ISOLATE ── open
 *
 * The type of a pageblock is read under its shard's lock whenever something is
 * given back, so that what is freed later goes where nobody takes from (spec
 * A3).  A free that had read the old type before, and was stopped, may still
 * put its page into a CPU's list after that: each later look drains again
 * (spec A4).
 *
 * [I1] nr_isolated counts pageblocks, is changed under the drain lock, and is
 *	raised before the first of them changes its type.
 */
#include <errno.h>

#include "base/atomic.h"
#include "base/step.h"
#include "page/layout.h"
#include "page/slow.h"

static bool in_zone(const struct quire_zone *zone, uint64_t page, size_t nr)
{
	return page >= zone->map.start && page < zone->end &&
	       nr <= zone->end - page;
}

/* Pageblocks of the part that are isolated. */
static size_t count_isolated(const struct quire_zone *zone, uint32_t page,
			     uint32_t end)
{
	size_t nr = 0;

	for (; page < end; page += BLOCK_PAGES)
		nr += memmap_type(&zone->map, page) == TYPE_ISOLATE;
	return nr;
}

/* Free pages of the pageblock. */
static uint32_t set_type(struct quire_zone *zone, uint32_t page,
			 enum migratetype type)
{
	struct buddy *buddy = zone_buddy(zone, page);
	uint32_t nr_free;

	lock_take(&buddy->lock);
	nr_free = buddy_set_type_locked(buddy, page, type);
	lock_release(&buddy->lock);
	return nr_free;
}

/* Returns how many pages of the part are out. */
static long isolate_all(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	long out = 0;

	for (; page < end; page += BLOCK_PAGES)
		out += (long)BLOCK_PAGES - (long)layout_hole_pages(zone, page) -
		       (long)set_type(zone, page, TYPE_ISOLATE);
	return out;
}

static int note_isolated(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	size_t nr = (end - page) / BLOCK_PAGES;
	size_t before;
	int error = 0;

	lock_take(&zone->drain_lock);
	before = count_isolated(zone, page, end);
	if (!before)
		add_relaxed(&zone->nr_isolated, (uint32_t)nr); /* [I1] */
	else if (before != nr)
		error = -EBUSY;
	lock_release(&zone->drain_lock);
	return error;
}

static long isolate_inside(struct quire_zone *zone, uint32_t page, uint32_t end)
{
	int error = pcp_disable(zone);
	long out;

	if (error)
		return error;
	out = note_isolated(zone, page, end);
	STEP("isolate: lists are closed");
	if (!out)
		out = isolate_all(zone, page, end);
	pcp_enable(zone);
	return out;
}

long zone_isolate(struct quire_zone *zone, uint64_t page, size_t nr)
{
	long out;

	if (load_relaxed(&zone->offline))
		return -ENXIO;
	if (!in_zone(zone, page, nr))
		return -EFAULT;
	gate_enter(zone, false);
	out = isolate_inside(zone, (uint32_t)page, (uint32_t)(page + nr));
	gate_leave(zone);
	return out;
}

int zone_unisolate(struct quire_zone *zone, uint64_t number, size_t nr)
{
	uint32_t page = (uint32_t)number, end = page + (uint32_t)nr;
	int error = 0;

	if (load_relaxed(&zone->offline))
		return -ENXIO;
	if (!in_zone(zone, number, nr))
		return -EFAULT;
	gate_enter(zone, false);
	lock_take(&zone->drain_lock);
	if (count_isolated(zone, page, end) != nr / BLOCK_PAGES)
		error = -EINVAL;
	for (; !error && page < end; page += BLOCK_PAGES) {
		set_type(zone, page, TYPE_MOVABLE);
		add_relaxed(&zone->nr_isolated, -1);
	}
	lock_release(&zone->drain_lock);
	gate_leave(zone);
	return error;
}
