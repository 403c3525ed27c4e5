/* SPDX-License-Identifier: MIT */
/*
 * Free memory, lent by the free lists to be discarded.
 *
 *	free and dirty ──> lent ──> discarded ──> free and fresh
 *
 * Blocks of 2 MiB and more are taken out of the free lists in pieces of at most
 * 32 MiB, discarded with no lock held, and put back; an allocation that finds
 * nothing meanwhile waits for the piece rather than fail (decay_wait).
 *
 * Blocks are found by address, not in the lists: a walk over 2 MiB steps needs
 * no lock, skips what is large, and does not depend on the order of lists that
 * serves allocation.  What it sees is looked at again under the lock.
 *
 * [Y1] A lent piece is LENT, in no list, and noted in a record in the list of
 *	records, from before the buddy lock that took it is given up until it is
 *	back; so a forked child can give back what its parent had lent.
 * [Y2] Nothing is discarded that is not lent or the caller's own, nor where a
 *	region says that it is registered with the kernel.
 * [Y3] No gate is entered: fork does not wait for the kernel.
 */
#include "page/lend.h"

#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/step.h"
#include "os/os.h"
#include "os/pool.h"
#include "page/slow.h"
#include "region/area.h"

#define LENT_BLOCKS 32
#define PIECE_ORDER 13 /* 32 MiB */
/* A waiter looks again after this, whatever happened. */
#define WAIT_MS 1000

struct piece {
	uint32_t page;
	uint32_t dirty; /* pages of it */
	uint32_t since; /* the stamp of the block that it was cut from */
	uint8_t order;
	bool discarded;
};

/* On the stack of who lends [Y1]. */
struct record {
	/* lent lock */
	struct list link;
	struct quire_zone *zone;
	const void *owner;
	unsigned int nr;
	size_t room; /* dirty pages that may still be lent */
	struct piece piece[LENT_BLOCKS];
};

static struct {
	struct lock lock;
	/* lent lock */
	struct list records;
	/* atomic, futex: changes when a piece is back */
	uint32_t returned;
} lent = {
	.lock = { .rank = RANK_LENT },
	.records = { &lent.records, &lent.records },
};

void lend_move_begin(struct quire_zone *zone)
{
	__atomic_fetch_add(&zone->moving, 1, __ATOMIC_SEQ_CST);
}

void lend_move_end(struct quire_zone *zone)
{
	__atomic_fetch_add(&zone->moves, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&zone->moving, 1, __ATOMIC_SEQ_CST);
}

static void begin(struct record *record, struct quire_zone *zone, size_t room)
{
	record->zone = zone;
	record->owner = pool_this_thread();
	record->nr = 0;
	record->room = room;
	lock_take(&lent.lock);
	list_add_tail(&lent.records, &record->link);
	lock_release(&lent.lock);
}

static void end(struct record *record)
{
	ASSERT(!record->nr);
	lock_take(&lent.lock);
	list_remove(&record->link);
	lock_release(&lent.lock);
}

/* Is the free block old enough; @min_ticks of 0: is it dirty? */
static bool is_ripe(const struct buddy *buddy, uint32_t page,
		    uint32_t min_ticks)
{
	uint32_t since = load_relaxed(&buddy->map->page[page].dirty_since);

	return since && load_relaxed(&buddy->tick) - since >= min_ticks;
}

static unsigned int state_of(const struct buddy *buddy, uint32_t page)
{
	return load_relaxed(&buddy->map->state[page]);
}

static bool is_free_block(unsigned int state)
{
	return STATE_KIND(state) == STATE_BUDDY &&
	       STATE_ORDER(state) >= BLOCK_ORDER;
}

/*
 * The free block of BLOCK_ORDER and more that @at, a multiple of it, lies in.
 * Without the lock this is a hint, and *order is within bounds.
 */
static bool block_around(const struct buddy *buddy, uint32_t at, uint32_t *page,
			 unsigned int *order)
{
	for (unsigned int n = BLOCK_ORDER; n <= MAX_ORDER; n++) {
		uint32_t head = at & ~((1u << n) - 1);
		unsigned int state;

		if (head < buddy->start)
			return false;
		state = state_of(buddy, head);
		if (STATE_KIND(state) == STATE_TAIL)
			continue;
		*page = head;
		*order = STATE_ORDER(state);
		return is_free_block(state) && *order <= MAX_ORDER &&
		       at - head < 1u << *order &&
		       buddy->end - head >= 1u << *order;
	}
	return false;
}

/* The next multiple of BLOCK_ORDER worth a look after @at. */
static uint32_t step_from(const struct buddy *buddy, uint32_t at)
{
	unsigned int state = state_of(buddy, at);
	unsigned int order = STATE_ORDER(state);

	if ((STATE_KIND(state) == STATE_BUDDY ||
	     STATE_KIND(state) == STATE_HEAD) &&
	    order > BLOCK_ORDER && order <= MAX_ORDER)
		return at + (1u << order);
	return at + BLOCK_PAGES;
}

/* Put back a part of a block that was cut, as old as it was. */
static void give_rest_locked(struct buddy *buddy, uint32_t page,
			     unsigned int order, uint32_t since)
{
	struct page *first = &buddy->map->page[page];

	buddy_give_locked(buddy, page, order, true);
	if (is_free_block(state_of(buddy, page)) && first->dirty_since)
		store_relaxed(&first->dirty_since, since);
}

/* Cut a taken block down to piece->order, the part that holds @at. */
static void cut_locked(struct buddy *buddy, struct piece *piece, uint32_t page,
		       unsigned int order, uint32_t at)
{
	while (order > piece->order) {
		uint32_t upper = page + (1u << --order);
		bool in_upper = at >= upper;

		give_rest_locked(buddy, in_upper ? page : upper, order,
				 piece->since);
		page = in_upper ? upper : page;
	}
	piece->page = page;
}

static unsigned int piece_order(const struct record *record, unsigned int order)
{
	while (order > PIECE_ORDER ||
	       (order > BLOCK_ORDER && record->room >> order == 0))
		order--;
	return order;
}

/* The first place in the block, at or after @at, that is dirty. */
static bool first_dirty_locked(const struct buddy *buddy, uint32_t *at,
			       uint32_t end)
{
	for (; *at < end; *at += BLOCK_PAGES)
		if (!memmap_fresh(buddy->map, *at, BLOCK_PAGES))
			return true;
	return false;
}

/* What was cut off a block has its stamp, and may be fresh for all that. */
static void forget_stamp_locked(struct buddy *buddy, uint32_t page,
				unsigned int order)
{
	if (memmap_fresh(buddy->map, page, (size_t)1 << order))
		store_relaxed(&buddy->map->page[page].dirty_since, 0);
}

/*
 * Lend a piece of the block around @at; returns where to look next, or @at
 * when there is nothing ripe.
 */
static uint32_t lend_locked(struct buddy *buddy, struct record *record,
			    uint32_t at, uint32_t min_ticks)
{
	struct piece *piece = &record->piece[record->nr];
	unsigned int order;
	uint32_t page, end;
	size_t nr;

	if (!block_around(buddy, at, &page, &order) ||
	    !is_ripe(buddy, page, min_ticks))
		return at;
	end = page + (1u << order);
	if (!first_dirty_locked(buddy, &at, end)) {
		forget_stamp_locked(buddy, page, order);
		return end;
	}
	piece->order = (uint8_t)piece_order(record, order);
	piece->since = buddy->map->page[page].dirty_since;
	buddy_take_at_locked(buddy, page, order);
	cut_locked(buddy, piece, page, order, at);
	nr = (size_t)1 << piece->order;
	piece->dirty =
		(uint32_t)(nr - memmap_nr_fresh(buddy->map, piece->page, nr));
	piece->discarded = false;
	record->nr++;
	add_relaxed(&record->zone->lent_pages, nr);
	record->room -=
		piece->dirty < record->room ? piece->dirty : record->room;
	return piece->page + (1u << piece->order);
}

static uint32_t lend(struct buddy *buddy, struct record *record, uint32_t at,
		     uint32_t min_ticks)
{
	uint32_t next;

	lock_take(&lent.lock);
	lend_move_begin(record->zone);
	lock_take(&buddy->lock);
	next = lend_locked(buddy, record, at, min_ticks);
	lock_release(&buddy->lock);
	lend_move_end(record->zone);
	lock_release(&lent.lock);
	return next;
}

static bool looks_ripe(const struct buddy *buddy, uint32_t at,
		       uint32_t min_ticks)
{
	unsigned int order;
	uint32_t page;

	return block_around(buddy, at, &page, &order) &&
	       is_ripe(buddy, page, min_ticks);
}

static size_t lent_pages(const struct record *record)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < record->nr; i++)
		nr += (size_t)1 << record->piece[i].order;
	return nr;
}

static bool has_room(const struct record *record)
{
	return record->nr < LENT_BLOCKS && record->room >= BLOCK_PAGES &&
	       lent_pages(record) < (size_t)1 << PIECE_ORDER;
}

/* A shard may end inside 2 MiB: the rest is no block. */
static bool is_block_left(const struct buddy *buddy, uint32_t at)
{
	return at < buddy->end && buddy->end - at >= BLOCK_PAGES;
}

/* Fill @record from @at on; returns where it stopped. */
static uint32_t gather(struct buddy *buddy, struct record *record, uint32_t at,
		       uint32_t min_ticks)
{
	while (is_block_left(buddy, at) && has_room(record)) {
		uint32_t next = at;

		if (looks_ripe(buddy, at, min_ticks))
			next = lend(buddy, record, at, min_ticks);
		at = next > at ? next : step_from(buddy, at);
	}
	return at;
}

static void give_back_locked(const struct record *record,
			     const struct piece *piece)
{
	struct quire_zone *zone = record->zone;
	struct buddy *buddy = zone_buddy(zone, piece->page);

	lend_move_begin(zone);
	lock_take(&buddy->lock);
	if (piece->discarded)
		memmap_set_fresh(&zone->map, piece->page,
				 (size_t)1 << piece->order, true);
	/* Parts of it may have been isolated meanwhile. */
	if (piece->order > BLOCK_ORDER)
		shards_give_run_locked(zone, buddy, piece->page,
				       (size_t)1 << piece->order);
	else
		buddy_give_locked(buddy, piece->page, piece->order, true);
	lock_release(&buddy->lock);
	add_relaxed(&zone->lent_pages, -((size_t)1 << piece->order));
	lend_move_end(zone);
}

/* To the kernel */

static int discard_memory(struct quire_zone *zone, uint32_t page, size_t nr)
{
	char *address = zone->base + ((size_t)page << PAGE_SHIFT);
	int error = os->advise(address, nr << PAGE_SHIFT, OS_DISCARD);

	if (error)
		zone_count(zone, ZONE_COUNT_DISCARD_FAILED, 1);
	else
		zone_count(zone, ZONE_COUNT_DISCARDED, nr);
	return error;
}

/* [Y2] A claim is refused where anything is registered, and keeps it from being
 * registered while the kernel works. */
static int discard_region(struct quire_zone *zone, uint32_t page, size_t nr)
{
	size_t at = (size_t)(zone->base - zone->region->base) +
		    ((size_t)page << PAGE_SHIFT);
	struct range range = { at, at + (nr << PAGE_SHIFT) };
	struct claim claim;
	int error = area_claim(zone->region, range, CLAIM_DISCARD, &claim);

	if (error)
		return error;
	error = discard_memory(zone, page, nr);
	area_unclaim(zone->region, &claim);
	return error;
}

int zone_discard(struct quire_zone *zone, uint32_t page, size_t nr)
{
	if (!zone->may_discard)
		return -EOPNOTSUPP;
	return zone->backing == BACKING_REGION ? discard_region(zone, page, nr)
					       : discard_memory(zone, page, nr);
}

static void mark_fresh(struct quire_zone *zone, uint32_t page, size_t nr)
{
	struct buddy *buddy = zone_buddy(zone, page);

	lock_take(&lent.lock); /* instead of the gate: [Y3] */
	lock_take(&buddy->lock);
	memmap_set_fresh(&zone->map, page, nr, true);
	lock_release(&buddy->lock);
	lock_release(&lent.lock);
}

/* A piece of which a part is registered: the other parts. */
static size_t discard_by_steps(struct quire_zone *zone,
			       const struct piece *piece)
{
	uint32_t end = piece->page + (1u << piece->order);
	size_t done = 0;

	if (piece->order == BLOCK_ORDER)
		return 0;
	for (uint32_t at = piece->page; at < end; at += BLOCK_PAGES) {
		if (zone_discard(zone, at, BLOCK_PAGES))
			continue;
		mark_fresh(zone, at, BLOCK_PAGES);
		done += BLOCK_PAGES;
	}
	return done;
}

static size_t discard_piece(struct quire_zone *zone, struct piece *piece)
{
	size_t nr = (size_t)1 << piece->order;
	int error = zone_discard(zone, piece->page, nr);

	if (error == -EBUSY)
		return discard_by_steps(zone, piece);
	piece->discarded = !error;
	return error ? 0 : piece->dirty;
}

static size_t discard_lent(struct record *record)
{
	size_t done = 0;

	if (!record->nr)
		return 0;
	STEP("lend: lent");
	for (unsigned int i = 0; i < record->nr; i++)
		done += discard_piece(record->zone, &record->piece[i]);
	STEP("lend: discarded");
	lock_take(&lent.lock);
	for (unsigned int i = 0; i < record->nr; i++)
		give_back_locked(record, &record->piece[i]);
	record->nr = 0;
	__atomic_fetch_add(&lent.returned, 1, __ATOMIC_RELEASE);
	lock_release(&lent.lock);
	os->wake(&lent.returned);
	return done;
}

/* Nothing in the shard that could be given back: a hint. */
static bool all_fresh(const struct buddy *buddy)
{
	return load_relaxed(&buddy->free_pages) <=
	       load_relaxed(&buddy->fresh_pages);
}

static uint32_t first_step(const struct buddy *buddy)
{
	return (buddy->start + BLOCK_PAGES - 1) & ~(BLOCK_PAGES - 1);
}

size_t lend_discard(struct quire_zone *zone, struct buddy *buddy,
		    uint32_t min_ticks, size_t max_pages)
{
	struct record record;
	size_t done = 0;
	uint32_t at = first_step(buddy);

	if (all_fresh(buddy))
		return 0;
	begin(&record, zone, max_pages);
	do {
		at = gather(buddy, &record, at, min_ticks);
		done += discard_lent(&record);
	} while (is_block_left(buddy, at) && record.room >= BLOCK_PAGES);
	end(&record);
	return done;
}

bool decay_wait(struct quire_zone *zone)
{
	uint32_t word;
	bool any = false;

	lock_take(&lent.lock);
	word = load_acquire(&lent.returned); /* pairs with discard_lent */
	list_for_each (item, &lent.records) {
		const struct record *record =
			container_of(item, struct record, link);

		any |= record->zone == zone && record->nr;
	}
	lock_release(&lent.lock);
	if (any)
		os->wait(&lent.returned, word, WAIT_MS);
	return any;
}

static size_t dirty_pages(const struct quire_zone *zone)
{
	size_t nr = 0;

	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		size_t all = load_relaxed(&zone->buddies[i].free_pages);
		size_t fresh = load_relaxed(&zone->buddies[i].fresh_pages);

		nr += all > fresh ? all - fresh : 0;
	}
	return nr;
}

size_t zone_trim(struct quire_zone *zone, size_t keep_pages)
{
	size_t done = 0, dirty;

	if (!zone->may_discard || load_relaxed(&zone->offline))
		return 0;
	pcp_drain_all(zone);
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		dirty = dirty_pages(zone);
		if (dirty <= keep_pages)
			break;
		done += lend_discard(zone, &zone->buddies[i], LEND_ANY_AGE,
				     dirty - keep_pages);
	}
	return done;
}

/* A block that lend_discard could take, of whatever age. */
bool lend_has_dirty(const struct quire_zone *zone)
{
	for (unsigned int i = 0; i < zone->nr_buddies; i++) {
		const struct buddy *buddy = &zone->buddies[i];
		uint32_t at = first_step(buddy);

		if (all_fresh(buddy))
			continue;
		for (; at < buddy->end; at = step_from(buddy, at))
			if (looks_ripe(buddy, at, LEND_ANY_AGE))
				return true;
	}
	return false;
}

/* Fork */

void lend_lock(void)
{
	lock_take(&lent.lock);
}

void lend_unlock(void)
{
	lock_release(&lent.lock);
}

/* [Y1] What others had lent is not discarded, or only in part: dirty. */
static void take_back_in_child(struct record *record)
{
	for (unsigned int i = 0; i < record->nr; i++) {
		record->piece[i].discarded = false;
		give_back_locked(record, &record->piece[i]);
	}
	list_remove(&record->link);
}

/* This thread's own records are of code that the fork interrupted: it goes on.
 */
void lend_fork_child(void)
{
	struct list *next;

	lock_reset_in_child(&lent.lock);
	for (struct list *item = lent.records.next; item != &lent.records;
	     item = next) {
		struct record *record = container_of(item, struct record, link);

		next = item->next;
		if (record->owner != pool_this_thread())
			take_back_in_child(record);
	}
}
