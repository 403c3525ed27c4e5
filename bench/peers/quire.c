/* SPDX-License-Identifier: MIT */
/*
 * quire: a zone over a region, everything else as it comes.  Linked with
 * libquire.so (case `quire`), and with the library's sources by link-time
 * optimisation (case `quire-lto`).
 */
#include <quire/page.h>

#include "meter.h"
#include "peer.h"

static struct quire_zone *zone;
static unsigned int order;

static inline void *page_get(void)
{
	return quire_page_alloc(zone, 0);
}

static inline void page_put(void *page)
{
	quire_block_free(zone, page);
}

static inline void *block_get(void)
{
	return quire_block_alloc(zone, order, 0);
}

static inline void block_put(void *block)
{
	quire_block_free(zone, block);
}

static inline bool bulk_get(void **out, size_t nr)
{
	return quire_block_alloc_bulk(zone, 0, 0, nr, out) == nr;
}

static inline void bulk_put(void **in, size_t nr)
{
	quire_block_free_bulk(zone, nr, in);
}

#include "loops.h"

static const char *open_zone(const struct plan *plan)
{
	struct quire_zone_options o = { .size = sizeof(o) };

	order = plan->order;
	if (quire_region_open(plan->bytes, NULL, &o.region))
		return "no address space of that size";
	return quire_zone_open(&o, &zone) ? "the zone cannot be opened" : NULL;
}

static struct quire_zone_facts facts_of(void)
{
	struct quire_zone_facts f = { .size = sizeof(f) };

	if (quire_zone_describe(zone, &f))
		meter_fail("the zone cannot be described");
	return f;
}

static long nr_out(void)
{
	return (long)(facts_of().used_pages >> order);
}

static void metadata(double *bytes_a_page)
{
	struct quire_zone_facts f = facts_of();

	*bytes_a_page = (double)f.metadata_bytes / (double)f.managed_pages;
}

const struct peer peer = { PEER_LOOPS, .open = open_zone, .nr_out = nr_out,
			   .metadata = metadata };
