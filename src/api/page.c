/* SPDX-License-Identifier: MIT */
/*
 * Zones for the user: arguments are checked here, nothing else.
 *
 * The calls for one block are the fast path and a jump: what it does not serve,
 * wrong arguments included, is sorted out in a function that is never inlined,
 * so that nothing has to be kept over a call.
 */
#include <errno.h>

#include <quire/page.h>

#include "base/bits.h"
#include "os/os.h"
#include "page/fast.h"

#define EXPORT __attribute__((visibility("default")))
/* Worth inlining where link-time optimisation can; a definition all the same. */
#define INLINED inline
#define COLD	__attribute__((cold, noinline))

#define ALLOC_FLAGS (QUIRE_MOVABLE | QUIRE_ZERO | QUIRE_ATOMIC)

/* Of the flags only this one is for the fast path. */
_Static_assert(QUIRE_MOVABLE == TYPE_MOVABLE, "a flag is a type");

/* Zones */

EXPORT int quire_zone_open(const struct quire_zone_options *options,
			   struct quire_zone **out)
{
	if (!options || !out || options->size != sizeof(*options))
		return -EINVAL;
	return zone_open(options, out);
}

EXPORT long quire_zone_close(struct quire_zone *zone)
{
	return zone ? zone_close(zone) : -EINVAL;
}

EXPORT void *quire_zone_address(const struct quire_zone *zone)
{
	return zone_address(zone, zone->map.start);
}

EXPORT size_t quire_zone_size(const struct quire_zone *zone)
{
	return (size_t)(zone->map.end - zone->map.start) << PAGE_SHIFT;
}

/* Blocks */

static bool block_is_known(const struct quire_zone *zone, unsigned int order,
			   unsigned int flags)
{
	return order <= QUIRE_MAX_ORDER && !(flags & ~ALLOC_FLAGS) &&
	       !(flags & QUIRE_ZERO && zone->backing == BACKING_NONE);
}

static int why_none(const struct quire_zone *zone)
{
	return load_relaxed(&zone->offline) ? ENXIO : ENOMEM;
}

static COLD void *alloc_slow(struct quire_zone *zone, unsigned int order,
			     unsigned int flags)
{
	uint32_t page;

	if (!block_is_known(zone, order, flags)) {
		errno = EINVAL;
		return NULL;
	}
	page = zone_alloc_slow(zone, order, flags);
	if (page != NO_PAGE)
		return zone_address(zone, page);
	errno = why_none(zone);
	return NULL;
}

EXPORT INLINED void *quire_page_alloc(struct quire_zone *zone,
				      unsigned int flags)
{
	int64_t page;

	if (likely(flags <= QUIRE_MOVABLE)) {
		page = block_alloc_fast(zone, 0, (enum migratetype)flags);
		if (likely(page >= 0))
			return zone->base + (page << PAGE_SHIFT);
	}
	return alloc_slow(zone, 0, flags);
}

EXPORT INLINED void *quire_block_alloc(struct quire_zone *zone,
				       unsigned int order, unsigned int flags)
{
	int64_t page;

	if (likely(order <= PCP_MAX_ORDER && flags <= QUIRE_MOVABLE)) {
		page = block_alloc_fast(zone, order, (enum migratetype)flags);
		if (likely(page >= 0))
			return zone->base + (page << PAGE_SHIFT);
	}
	return alloc_slow(zone, order, flags);
}

static COLD int free_slow(struct quire_zone *zone, uint64_t page)
{
	return zone_free_slow(zone, page, false);
}

EXPORT INLINED int quire_block_free(struct quire_zone *zone, void *block)
{
	uint64_t page = zone_page(zone, block);

	if (likely(block_free_fast(zone, page)))
		return 0;
	return free_slow(zone, page);
}

EXPORT int quire_block_free_atomic(struct quire_zone *zone, void *block)
{
	uint64_t page = zone_page(zone, block);

	if (likely(block_free_fast(zone, page)))
		return 0;
	return zone_free_slow(zone, page, true);
}

/* Many blocks */

/* An array of @nr that there can be. */
static bool is_array(void **blocks, size_t nr)
{
	size_t bytes;

	return (blocks || !nr) &&
	       !__builtin_mul_overflow(nr, sizeof(*blocks), &bytes);
}

static bool bulk_is_known(const struct quire_zone *zone, unsigned int order,
			  unsigned int flags, size_t nr, void **blocks)
{
	return block_is_known(zone, order, flags) && is_array(blocks, nr);
}

EXPORT size_t quire_block_alloc_bulk(struct quire_zone *zone,
				     unsigned int order, unsigned int flags,
				     size_t nr, void **blocks)
{
	size_t got;

	if (unlikely(!bulk_is_known(zone, order, flags, nr, blocks))) {
		errno = EINVAL;
		return 0;
	}
	got = zone_alloc_bulk(zone, order, flags, nr, blocks);
	if (unlikely(got < nr))
		errno = why_none(zone);
	return got;
}

/* Up to FILL_NR entries of @blocks from *at on that are NULL get a block;
 * false: one of them did not, and *at is the first that did not. */
#define FILL_NR 64

static bool fill_some(struct quire_zone *zone, unsigned int order,
		      unsigned int flags, size_t nr, void **blocks, size_t *at)
{
	void *got[FILL_NR], **hole[FILL_NR];
	size_t holes = 0, filled;

	for (; *at < nr && holes < FILL_NR; (*at)++)
		if (!blocks[*at])
			hole[holes++] = &blocks[*at];
	filled = zone_alloc_bulk(zone, order, flags, holes, got);
	for (size_t i = 0; i < filled; i++)
		*hole[i] = got[i];
	if (filled == holes)
		return true;
	*at = (size_t)(hole[filled] - blocks);
	return false;
}

EXPORT size_t quire_block_fill(struct quire_zone *zone, unsigned int order,
			       unsigned int flags, size_t nr, void **blocks)
{
	size_t at = 0;

	if (!bulk_is_known(zone, order, flags, nr, blocks)) {
		errno = EINVAL;
		return 0;
	}
	while (at < nr)
		if (!fill_some(zone, order, flags, nr, blocks, &at)) {
			errno = why_none(zone);
			break;
		}
	return at;
}

EXPORT int quire_block_free_bulk(struct quire_zone *zone, size_t nr,
				 void **blocks)
{
	if (!is_array(blocks, nr))
		return -EINVAL;
	return zone_free_bulk(zone, nr, blocks);
}

EXPORT int quire_block_free_many(struct quire_zone *zone, size_t nr,
				 void **blocks, struct quire_work *work)
{
	if (!is_array(blocks, nr) || (work && work->size != sizeof(*work)))
		return -EINVAL;
	return zone_free_many(zone, nr, blocks, work);
}

/* Ranges */

EXPORT void *quire_range_alloc(struct quire_zone *zone, size_t nr_pages,
			       size_t align, unsigned int flags)
{
	uint32_t page;

	if (!align)
		align = PAGE_SIZE;
	if (!nr_pages || !is_power_of_two(align) || align < PAGE_SIZE ||
	    !block_is_known(zone, 0, flags)) {
		errno = EINVAL;
		return NULL;
	}
	page = zone_alloc_range(zone, nr_pages, align >> PAGE_SHIFT, flags);
	if (page != NO_PAGE)
		return zone_address(zone, page);
	errno = why_none(zone);
	return NULL;
}

EXPORT int quire_range_free(struct quire_zone *zone, void *address,
			    size_t nr_pages)
{
	if (!nr_pages)
		return -EINVAL;
	return zone_free_range(zone, zone_page(zone, address), nr_pages);
}

/* Lists, parts, memory */

EXPORT long quire_zone_drain(struct quire_zone *zone, int cpu)
{
	uint32_t nr_cpus = zone->percpu.nr_cpus;

	if (load_relaxed(&zone->offline))
		return -ENXIO;
	if (cpu == -1)
		return pcp_drain_all(zone);
	if (cpu < 0 || (nr_cpus && (uint32_t)cpu >= nr_cpus))
		return -EINVAL;
	return pcp_drain_cpu(zone, (unsigned int)cpu);
}

EXPORT int quire_zone_pcp_disable(struct quire_zone *zone)
{
	return load_relaxed(&zone->offline) ? -ENXIO : pcp_disable(zone);
}

EXPORT int quire_zone_pcp_enable(struct quire_zone *zone)
{
	return load_relaxed(&zone->offline) ? -ENXIO : pcp_enable(zone);
}

static bool is_of_blocks(const void *address, size_t bytes)
{
	return bytes && !(((uintptr_t)address | bytes) & (HUGE_SIZE - 1));
}

EXPORT long quire_zone_isolate(struct quire_zone *zone, void *address,
			       size_t bytes)
{
	if (!is_of_blocks(address, bytes))
		return -EINVAL;
	return zone_isolate(zone, zone_page(zone, address),
			    bytes >> PAGE_SHIFT);
}

EXPORT int quire_zone_unisolate(struct quire_zone *zone, void *address,
				size_t bytes)
{
	if (!is_of_blocks(address, bytes))
		return -EINVAL;
	return zone_unisolate(zone, zone_page(zone, address),
			      bytes >> PAGE_SHIFT);
}

EXPORT size_t quire_zone_trim(struct quire_zone *zone, size_t keep_bytes)
{
	return zone_trim(zone, keep_bytes >> PAGE_SHIFT) << PAGE_SHIFT;
}

EXPORT size_t quire_trim(void)
{
	return zones_trim() << PAGE_SHIFT;
}

/* How it stands */

EXPORT int quire_zone_describe(struct quire_zone *zone,
			       struct quire_zone_facts *out)
{
	if (!zone || !out || out->size != sizeof(*out))
		return -EINVAL;
	return zone_describe(zone, out);
}

EXPORT int quire_zone_print(struct quire_zone *zone, enum quire_zone_text what,
			    char *buf, size_t len)
{
	if (!zone || what > QUIRE_ZONE_VMSTAT || (!buf && len))
		return -EINVAL;
	return zone_print(zone, what, buf, len);
}

EXPORT void quire_zone_counters(struct quire_zone *zone,
				uint64_t counter[QUIRE_NR_COUNTERS])
{
	zone_counters(zone, counter);
}

EXPORT void quire_zone_check(struct quire_zone *zone)
{
	zone_check(zone);
}
