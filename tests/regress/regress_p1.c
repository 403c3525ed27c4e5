/* SPDX-License-Identifier: MIT */
/* Row P1: arrays whose size in bytes wraps are refused by every bulk call, and
 * nothing is read, written, allocated or freed. */
#include "regress_pages.h"

int main(void)
{
	static const size_t many[] = { SIZE_MAX / 8 + 1, SIZE_MAX / 8 + 2,
				       SIZE_MAX / 8 + 3, SIZE_MAX / 2,
				       SIZE_MAX };
	struct quire_zone *zone = zone_of(OPTIONS(.bytes = MEBI(64)));
	void *blocks[2], *kept[2];

	CHECK(quire_block_alloc_bulk(zone, 0, 0, 2, blocks) == 2);
	memcpy(kept, blocks, sizeof(kept));
	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++) {
		CHECK(!quire_block_alloc_bulk(zone, 0, 0, many[i], blocks));
		CHECK(!quire_block_fill(zone, 0, 0, many[i], blocks));
		CHECK(quire_block_free_bulk(zone, many[i], blocks) == -EINVAL);
		CHECK(quire_block_free_many(zone, many[i], blocks, NULL) ==
		      -EINVAL);
		CHECK(!quire_range_alloc(zone, many[i], 0, 0));
		CHECK(quire_range_free(zone, blocks[0], many[i]) < 0);
		CHECK(!memcmp(kept, blocks, sizeof(kept)));
		CHECK(facts_of(zone).used_pages == 2);
	}
	CHECK(!quire_block_free_bulk(zone, 2, blocks));
	done_with(zone);
	return 0;
}
