/* SPDX-License-Identifier: MIT */
/* Row P5: addresses that are no block of the zone, in a big batch: below its
 * start but in the same GiB, above it, in a hole, of a stack, inside a page,
 * inside a block, twice.  They are refused and stay in the array; all others
 * are freed. */
#include "regress_pages.h"

#define NR 20000

static void *blocks[NR];

static void with_shards(uint32_t nr_shards, size_t after)
{
	const struct quire_hole hole = { MEBI(100), MEBI(1) };
	char *start = memory_of(MEBI(256), (size_t)1 << 30, after);
	struct quire_zone *zone = zone_of(
		OPTIONS(.memory = start, .bytes = MEBI(256),
			.nr_shards = nr_shards, .holes = &hole, .nr_holes = 1));
	struct quire_work work = { .size = sizeof(work), .workers = 2 };
	char *twice, *block = quire_block_alloc(zone, 4, 0);
	int on_stack, left = 0;

	CHECK(quire_block_alloc_bulk(zone, 0, 0, NR - 8, blocks + 8) == NR - 8);
	twice = blocks[9];
	blocks[0] = after ? start - PAGE : start + MEBI(256);
	blocks[1] = after > MEBI(300) ? start - MEBI(300) : start - MEBI(2000);
	blocks[2] = start + MEBI(256);
	blocks[3] = start + MEBI(100) + PAGE;
	blocks[4] = &on_stack;
	blocks[5] = twice + 1;
	blocks[6] = block + PAGE;
	blocks[7] = twice;
	CHECK(quire_block_free_many(zone, NR, blocks, &work) < 0);
	CHECK(work.bytes_done == (NR - 8) * PAGE);
	for (int i = 0; i < NR; i++)
		left += blocks[i] != NULL;
	CHECK(left == 8);
	CHECK(!quire_block_free(zone, block));
	done_with(zone);
}

int main(void)
{
	alarm(120); /* it would wait for a lock that is none */
	for (uint32_t nr_shards = 1; nr_shards <= 16; nr_shards *= 2) {
		with_shards(nr_shards, MEBI(512));
		with_shards(nr_shards, MEBI(768) + 37 * PAGE);
		with_shards(nr_shards, 0);
	}
	return 0;
}
