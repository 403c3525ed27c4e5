/* SPDX-License-Identifier: MIT */
/*
 * A big batch of blocks, freed by several threads (mechanism D for pages).
 *
 *	blocks ──(sorted)──> | part │ part │ part | part │ part │ part | …
 *			     └────── shard 0 ─────┴────── shard 1 ─────┘
 *				     thread		  thread
 *
 * Each shard's blocks are freed by one thread, so that they never wait for the
 * same lock (spec D.9).  Inside a shard they are sorted by parts of the zone,
 * so that what is known of pages is in a cache while neighbours are freed: that
 * is what the call gains where there is one shard or one CPU.  CPUs' lists are passed by: a batch this big would go
 * through them into the free lists anyway.  Under one hold of the lock go at
 * most CHUNK blocks (page/slow.h), so that others are not kept waiting.
 *
 * Blocks that were freed become NULL in the array at once, and before the gate
 * is left; so a call that ends early, and a forked child in which it begins
 * anew, know what is left.  What is not NULL at the end was refused.
 *
 * [M1] Whether an entry is a block that is out is looked at under the shard's
 *	lock, in the moment in which it is freed: of two equal entries the second
 *	is refused.
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "os/pool.h"
#include "page/fast.h"
#include "page/slow.h"

#define MANY_FLOOR 16384
/* Parts at most, to sort into: places that are written to by turns. */
#define PARTS_MAX 256u

struct many {
	struct pool_job job;
	struct quire_zone *zone;
	void **blocks;
	struct quire_work *work;
	size_t nr;
	/* part i: blocks[first[i]] … blocks[first[i + 1] - 1] */
	size_t first[PARTS_MAX + 1];
	unsigned int nr_parts, part_shift;
	bool cancelled;
	/* atomic, relaxed */
	uint64_t pages_done;
	uint64_t nr_done; /* entries */
	int error;	  /* of one of those that were refused */
};

static unsigned int part_of_page(const struct many *many, uint32_t page)
{
	unsigned int shift = many->part_shift;

	return (page >> shift) - (many->zone->map.start >> shift);
}

/* Of numbers that may be: those below the zone have no shard. */
static bool has_shard(const struct quire_zone *zone, uint64_t page)
{
	return page < zone->end && page >= zone->map.start;
}

/* What is not the zone's is refused in the first, like any other. */
static unsigned int part_of(const struct many *many, const void *block)
{
	const struct quire_zone *zone = many->zone;
	uint64_t page = zone_page(zone, block);

	if (!has_shard(zone, page))
		return 0;
	return part_of_page(many, (uint32_t)page);
}

/* As small as PARTS_MAX allows, and so that none lies in two shards. */
static void choose_parts(struct many *many)
{
	const struct memmap *map = &many->zone->map;

	many->part_shift = BLOCK_ORDER;
	while (part_of_page(many, map->end - 1) >= PARTS_MAX)
		many->part_shift++;
	ASSERT(many->part_shift <= many->zone->buddy_shift);
	many->nr_parts = part_of_page(many, map->end - 1) + 1;
}

/* Where each part begins, by counting. */
static void measure_parts(struct many *many)
{
	size_t at = 0;

	for (size_t i = 0; i < many->nr; i++)
		many->first[part_of(many, many->blocks[i])]++;
	for (unsigned int i = 0; i <= many->nr_parts; i++) {
		size_t count = many->first[i];

		many->first[i] = at;
		at += count;
	}
}

/* Each entry into its part, in place: a cycle of swaps ends where it began. */
static void sort_into_parts(struct many *many)
{
	size_t next[PARTS_MAX];

	for (unsigned int i = 0; i < many->nr_parts; i++)
		next[i] = many->first[i];
	for (unsigned int i = 0; i < many->nr_parts; i++) {
		while (next[i] < many->first[i + 1]) {
			void **here = &many->blocks[next[i]];
			unsigned int part = part_of(many, *here);
			void *moved = *here;

			*here = many->blocks[next[part]];
			many->blocks[next[part]++] = moved;
		}
	}
}

/* [M1] Gives the block to its shard; pages of it, 0: it is not one. */
static size_t give_locked(struct quire_zone *zone, struct buddy *buddy,
			  uint32_t page)
{
	unsigned int state = load_relaxed(&zone->state[page]);
	unsigned int order = STATE_ORDER(state);

	if (STATE_KIND(state) != STATE_HEAD || state_is_charged(state))
		return 0;
	if (order <= BLOCK_ORDER)
		buddy_give_locked(buddy, page, order, true);
	else
		shards_give_run_locked(zone, buddy, page, (size_t)1 << order);
	return (size_t)1 << order;
}

/* From @at on, at most CHUNK entries of one shard; returns where it stopped. */
static size_t give_chunk(struct many *many, struct buddy *buddy, size_t at,
			 size_t end)
{
	struct quire_zone *zone = many->zone;
	size_t pages = 0, from = at;

	end = end - at > CHUNK ? at + CHUNK : end;
	gate_enter(zone, false);
	lock_take(&buddy->lock);
	for (; at < end; at++) {
		uint64_t page = zone_page(zone, many->blocks[at]);
		size_t nr;

		if (!has_shard(zone, page) ||
		    zone_buddy(zone, (uint32_t)page) != buddy)
			break;
		nr = give_locked(zone, buddy, (uint32_t)page);
		if (!nr)
			break;
		many->blocks[at] = NULL;
		pages += nr;
	}
	add_relaxed(&many->pages_done, pages);
	add_relaxed(&many->nr_done, at - from);
	lock_release(&buddy->lock);
	gate_leave(zone);
	return at;
}

/* What the short way could not: misuse, and zones that look at content. */
static void free_slowly(struct many *many, size_t at)
{
	struct quire_zone *zone = many->zone;
	uint64_t page = zone_page(zone, many->blocks[at]);
	unsigned int order = 0;
	int error;

	if (page < zone->end)
		order = STATE_ORDER(load_relaxed(&zone->state[page]));
	error = zone_free_slow(zone, page, false);
	if (error) {
		store_relaxed(&many->error, error);
		return;
	}
	many->blocks[at] = NULL;
	add_relaxed(&many->pages_done, (uint64_t)1 << order);
	add_relaxed(&many->nr_done, 1);
}

static bool is_careful(const struct quire_zone *zone)
{
	return zone->flags & (QUIRE_ZONE_POISON | QUIRE_ZONE_INIT_FREE);
}

static void free_part(struct many *many, size_t at, size_t end)
{
	const struct quire_zone *zone = many->zone;

	while (at < end) {
		uint64_t page = zone_page(zone, many->blocks[at]);
		size_t next = at;

		if (!many->blocks[at]) {
			at++;
			continue;
		}
		if (has_shard(zone, page) && !is_careful(zone))
			next = give_chunk(many,
					  zone_buddy(zone, (uint32_t)page), at,
					  end);
		if (next == at)
			free_slowly(many, next++);
		at = next;
	}
}

/* Slice @nr: the parts of shard @nr. */
static int slice(struct pool_job *job, size_t nr)
{
	struct many *many = container_of(job, struct many, job);
	const struct buddy *buddy = &many->zone->buddies[nr];

	free_part(many, many->first[part_of_page(many, buddy->start)],
		  many->first[part_of_page(many, buddy->end - 1) + 1]);
	return 0;
}

/* Told in blocks: what they come to in bytes is known when they are free. */
static bool between(struct pool_job *job, size_t nr_slices_done)
{
	struct many *many = container_of(job, struct many, job);
	struct quire_work *work = many->work;

	(void)nr_slices_done;
	if (!work || !work->progress)
		return false;
	many->cancelled = work->progress(load_relaxed(&many->nr_done), many->nr,
					 work->arg) &&
			  job->next < job->nr_slices;
	return many->cancelled;
}

static void run_alone(struct many *many)
{
	uint64_t before = many->work ? os->thread_ns() : 0;

	free_part(many, 0, many->nr);
	if (!many->work)
		return;
	many->work->cpu_ns = os->thread_ns() - before;
	many->work->workers_used = 1;
}

static void run_in_slices(struct many *many)
{
	struct quire_work *work = many->work;

	choose_parts(many);
	measure_parts(many);
	sort_into_parts(many);
	many->job.nr_slices = many->zone->nr_buddies;
	many->job.max_threads = work ? work->workers : 0;
	pool_run(&many->job);
	if (!work)
		return;
	work->workers_used = many->job.nr_threads;
	work->nr_slices = many->job.nr_slices;
	work->nr_helped = many->job.nr_helped;
	work->cpu_ns = many->job.cpu_ns;
}

int zone_free_many(struct quire_zone *zone, size_t nr, void **blocks,
		   struct quire_work *work)
{
	static const struct pool_body body = { .slice = slice,
					       .between = between };
	struct many many = { .job = { .body = &body },
			     .zone = zone,
			     .blocks = blocks,
			     .work = work,
			     .nr = nr };

	if (nr < MANY_FLOOR)
		run_alone(&many);
	else
		run_in_slices(&many);
	if (work)
		work->bytes_done = many.pages_done << PAGE_SHIFT;
	shards_tell_decay(zone);
	return many.cancelled ? -ECANCELED : many.error;
}
