/* SPDX-License-Identifier: MIT */
/* The walker of regions.  For tests: takes the locks of fork. */
#include "base/assert.h"
#include "region/area.h"

static void check_claims(const struct quire_region *region)
{
	list_for_each (item, &region->claims) {
		const struct claim *claim =
			container_of(item, struct claim, link);

		ASSERT(claim->range.end <= region->bytes);
		ASSERT(!ranges_meet(&region->gone, claim->range)); /* [R1] */
		ASSERT(claim->kind == CLAIM_POPULATE ||
		       claim->kind == CLAIM_ZONE ||
		       !bag_meet(&region->marks, claim->range)); /* [R5] */
	}
}

static void check_region(const struct quire_region *region)
{
	size_t marked = 0;

	ranges_check(&region->gone);
	ASSERT(region->gone.total <= region->bytes);
	ASSERT(!region->gone.nr ||
	       region->gone.at[region->gone.nr - 1].end <= region->bytes);
	ASSERT(!region->nr_behind || /* [R4] */
	       region->gone.capacity >= region->gone.nr + region->nr_behind);
	for (size_t i = 0; i < region->marks.nr; i++) {
		ASSERT(!ranges_meet(&region->gone, region->marks.at[i]));
		marked += region->marks.at[i].end - region->marks.at[i].first;
	}
	ASSERT(marked == region->marks.total);
	ASSERT(!region->closed || region->nr_behind); /* [R6] */
	check_claims(region);
}

void area_check(void)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	area_lock_all();
	list_for_each (item, area_all())
		check_region(container_of(item, struct quire_region, link));
	area_counters(counter);
	ASSERT(counter[QUIRE_COUNTER_region_mapped] ==
	       counter[QUIRE_COUNTER_region_released] +
		       counter[QUIRE_COUNTER_bytes_region]);
	area_unlock_all();
	pool_check();
}
