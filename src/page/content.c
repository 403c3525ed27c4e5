/* SPDX-License-Identifier: MIT */
/*
 * What pages contain: zeros, or a pattern that shows who writes to free ones.
 *
 * A page that nobody wrote to since the kernel gave it reads as zeros, and its
 * fresh bit says so; so a block is cleared by runs of pages whose bit is not
 * set, and a zone that is new is not cleared at all.  Big runs of a zone whose
 * memory may be given back are discarded instead: below that size clearing is
 * cheaper than the faults that follow, above it a user who asked for zeros in
 * bulk often touches few of them.
 *
 * The pattern is written when a block becomes free and compared when it is
 * handed out.  Where it does not stand, somebody wrote to a page that was not
 * his: nothing can be said of who, but where is kept (zone->poison_at), it is
 * counted, and the caller withholds the block for good: whoever wrote once may
 * write again (spec I-A4).
 *
 * [T1] Pages are the caller's: out of all lists, and their bits are stable,
 *	though neighbours' bits in the same word change.
 */
#include <string.h>

#include "base/atomic.h"
#include "os/os.h"
#include "page/zone.h"

/* Not a likely value of anything: no pointer, no small number, no text. */
#define POISON 0xfade5afefade5afeull
#define WORDS  (PAGE_SIZE / sizeof(uint64_t))

/* Runs from this size on are discarded, as big spans are. */
#define DISCARD_PAGES ((size_t)(32 << 20) >> PAGE_SHIFT)

static char *address_of(const struct quire_zone *zone, uint32_t page)
{
	return zone->base + ((size_t)page << PAGE_SHIFT);
}

static bool is_fresh(const struct quire_zone *zone, uint32_t page)
{
	/* [T1] relaxed: this bit does not change, others may */
	return memmap_fresh_word(&zone->map, page / 64) >> page % 64 & 1;
}

/* Pages from @page on, before @end, that are like it; *fresh: how it is. */
static uint32_t run_of(const struct quire_zone *zone, uint32_t page,
		       uint32_t end, bool *fresh)
{
	uint32_t at = page;

	*fresh = is_fresh(zone, page);
	do {
		uint64_t word = memmap_fresh_word(&zone->map, at / 64);
		uint64_t other = (*fresh ? ~word : word) >> at % 64;

		if (other) {
			at += (uint32_t)__builtin_ctzll(other);
			break;
		}
		at += 64 - at % 64;
	} while (at < end);
	return (at < end ? at : end) - page;
}

/* Registered memory stays, and what the kernel refuses is cleared by hand. */
static bool discard_run(struct quire_zone *zone, uint32_t page, uint32_t nr)
{
	return nr >= DISCARD_PAGES && zone->may_discard &&
	       !zone_discard(zone, page, nr);
}

void zone_clear(struct quire_zone *zone, uint32_t page, unsigned int order,
		bool was_fresh)
{
	uint32_t end = page + (1u << order), nr;
	bool fresh;

	if (was_fresh)
		return;
	for (uint32_t at = page; at < end; at += nr) {
		nr = run_of(zone, at, end, &fresh);
		if (fresh || discard_run(zone, at, nr))
			continue;
		memset(address_of(zone, at), 0, (size_t)nr << PAGE_SHIFT);
		zone_count(zone, ZONE_COUNT_CLEARED, nr);
	}
}

/* Pages of the block are all dirty afterwards: the caller freed it. */
void zone_poison(struct quire_zone *zone, uint32_t page, unsigned int order)
{
	uint64_t *word = (uint64_t *)address_of(zone, page);
	size_t nr = WORDS << order;

	for (size_t i = 0; i < nr; i++)
		word[i] = POISON;
}

/* The first word of a page that is not @wanted; WORDS: all are. */
static size_t first_other(const uint64_t *word, uint64_t wanted)
{
	uint64_t differs = 0;
	size_t i;

	for (i = 0; i < WORDS; i++)
		differs |= word[i] ^ wanted;
	if (likely(!differs))
		return WORDS;
	for (i = 0; word[i] == wanted; i++)
		;
	return i;
}

/* Fresh pages were never given the pattern: they must read as zeros, but are
 * not looked at, because that would give them memory. */
bool zone_poison_stands(struct quire_zone *zone, uint32_t page,
			unsigned int order)
{
	for (uint32_t at = page; at < page + (1u << order); at++) {
		const uint64_t *word = (uint64_t *)address_of(zone, at);
		size_t other;

		if (is_fresh(zone, at))
			continue;
		other = first_other(word, POISON);
		if (other == WORDS)
			continue;
		store_relaxed(&zone->poison_at, (uint64_t)(word + other));
		zone_count(zone, ZONE_COUNT_POISON, 1);
		zone_count(zone, ZONE_COUNT_MISUSE, 1);
		return false;
	}
	return true;
}
