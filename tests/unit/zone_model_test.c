/* SPDX-License-Identifier: MIT */
/*
 * Random operations beside an oracle: one owner for each page.  After each step
 * the walker finds nothing broken, and the numbers are the oracle's (P6: a zone
 * that begins at an odd page, of an odd length, with holes, in shards).
 */
#include "pages.h"

#include "page/fast.h"

#define PAGES_MAX 6000u
#define NR	  400

static struct quire_zone *zone;
static char *start;
static size_t nr_pages;
static uint64_t seed;

static struct {
	size_t first, nr; /* pages; nr 0: nothing */
	bool is_range;
} held[NR];

static uint16_t owner[PAGES_MAX]; /* 0: nobody; HOLE; else held[] + 1 */
#define HOLE UINT16_MAX
static bool isolated[PAGES_MAX / 512 + 2];
static unsigned int nr_disabled;
static size_t used;

static size_t below(size_t n)
{
	return (size_t)random_below(&seed, n);
}

static size_t number_of(const void *at)
{
	size_t offset = (size_t)((const char *)at - start);

	assert_false(offset % PAGE_SIZE);
	assert_true(offset / PAGE_SIZE < nr_pages);
	return offset / PAGE_SIZE;
}

static size_t block_of(size_t page)
{
	return (zone->map.start + page) / 512 - zone->map.start / 512;
}

static void hand_out(int i, void *at, size_t nr, bool is_range)
{
	size_t first = number_of(at);

	held[i].first = first;
	held[i].nr = nr;
	held[i].is_range = is_range;
	assert_true(first + nr <= nr_pages);
	for (size_t page = first; page < first + nr; page++) {
		assert_int_equal(owner[page], 0);
		assert_false(isolated[block_of(page)]);
		owner[page] = (uint16_t)(i + 1);
	}
	used += nr;
}

static void take_back(size_t first, size_t nr)
{
	for (size_t page = first; page < first + nr; page++)
		owner[page] = 0;
	used -= nr;
}

static unsigned int any_flags(void)
{
	static const unsigned int flags[] = {
		0, 0, 0, QUIRE_MOVABLE, QUIRE_MOVABLE, QUIRE_ATOMIC
	};

	return flags[below(ARRAY_SIZE(flags))];
}

static void alloc_block(int i)
{
	unsigned int order = (unsigned int)(below(3) ? below(3) : below(11));
	void *block = quire_block_alloc(zone, order, any_flags());

	if (!block)
		return;
	assert_false((uintptr_t)block & ((PAGE_SIZE << order) - 1));
	hand_out(i, block, (size_t)1 << order, false);
}

static void alloc_range(int i)
{
	size_t nr = 1 + below(below(4) ? 12 : 700);
	size_t align = PAGE_SIZE << (below(2) ? 0 : below(10));
	void *range = quire_range_alloc(zone, nr, align, any_flags());

	if (!range)
		return;
	assert_false((uintptr_t)range & (align - 1));
	hand_out(i, range, nr, true);
}

static void *at(size_t page)
{
	return start + page * PAGE_SIZE;
}

static void free_block(int i)
{
	int error = below(8) ? quire_block_free(zone, at(held[i].first))
			     : quire_block_free_atomic(zone, at(held[i].first));

	assert_int_equal(error, 0);
	take_back(held[i].first, held[i].nr);
	held[i].nr = 0;
}

/* All of it, or its first or its last part. */
static void free_range(int i)
{
	size_t part = below(2) ? held[i].nr : 1 + below(held[i].nr);
	size_t first = held[i].first;

	if (below(2))
		first += held[i].nr - part;
	assert_int_equal(quire_range_free(zone, at(first), part), 0);
	take_back(first, part);
	if (first == held[i].first)
		held[i].first += part;
	held[i].nr -= part;
}

static void misuse(void)
{
	size_t page = below(nr_pages);
	int i = owner[page] && owner[page] != HOLE ? owner[page] - 1 : -1;

	if (owner[page] == HOLE)
		assert_int_equal(quire_block_free(zone, at(page)), -EFAULT);
	else if (i < 0)
		assert_int_equal(quire_block_free(zone, at(page)), -EALREADY);
	else if (held[i].is_range || page != held[i].first)
		assert_int_equal(quire_block_free(zone, at(page)), -EINVAL);
	else
		assert_int_equal(quire_range_free(zone, at(page), 1), -EINVAL);
}

static void bulk(void)
{
	void *blocks[40];
	unsigned int order = (unsigned int)below(4);
	size_t wanted = below(40), nr;

	nr = quire_block_alloc_bulk(zone, order, any_flags(), wanted, blocks);
	for (size_t n = 0; n < nr; n++)
		for (size_t p = 0; p < (size_t)1 << order; p++) {
			assert_int_equal(owner[number_of(blocks[n]) + p], 0);
			owner[number_of(blocks[n]) + p] = 1;
		}
	for (size_t n = 0; n < nr; n++)
		for (size_t p = 0; p < (size_t)1 << order; p++)
			owner[number_of(blocks[n]) + p] = 0;
	assert_int_equal(quire_block_free_bulk(zone, nr, blocks), 0);
}

/* A whole pageblock of the zone, out of reach or back. */
static void isolate(void)
{
	size_t block = below(nr_pages / 512 + 1), nr_out = 0;
	size_t first = block * 512;
	uint32_t into = zone->map.start % 512;

	first = into ? first + 512 - into : first;
	if (first + 512 > nr_pages)
		return;
	if (isolated[block_of(first)]) {
		assert_int_equal(
			quire_zone_unisolate(zone, at(first), 512 * PAGE_SIZE),
			0);
		isolated[block_of(first)] = false;
		return;
	}
	for (size_t page = first; page < first + 512; page++)
		nr_out += owner[page] && owner[page] != HOLE;
	assert_int_equal(quire_zone_isolate(zone, at(first), 512 * PAGE_SIZE),
			 nr_out);
	isolated[block_of(first)] = true;
}

static void disable(void)
{
	if (nr_disabled && below(2)) {
		assert_int_equal(quire_zone_pcp_enable(zone), 0);
		nr_disabled--;
	} else if (nr_disabled < 3) {
		assert_int_equal(quire_zone_pcp_disable(zone), 0);
		nr_disabled++;
	}
}

static void rare(void)
{
	switch (below(8)) {
	case 0:
		assert_true(quire_zone_drain(zone, -1) >= 0);
		break;
	case 1:
		isolate();
		break;
	case 2:
		disable();
		break;
	case 3:
		pcp_decay(zone);
		break;
	case 4:
		misuse();
		break;
	default:
		bulk();
	}
}

static void compare(void)
{
	struct quire_zone_facts facts = zone_facts(zone);

	quire_zone_check(zone);
	assert_int_equal(facts.used_pages, used);
	assert_int_equal(facts.free_pages + facts.pcp_pages +
				 facts.depot_pages + used,
			 facts.managed_pages);
	assert_true(!nr_disabled || !facts.pcp_pages);
}

static void step_one(void)
{
	int i = (int)below(NR);

	if (!below(10))
		rare();
	else if (!held[i].nr && below(5))
		alloc_block(i);
	else if (!held[i].nr)
		alloc_range(i);
	else if (held[i].is_range)
		free_range(i);
	else
		free_block(i);
}

static void settle(void)
{
	for (int i = 0; i < NR; i++)
		while (held[i].nr) {
			if (held[i].is_range)
				free_range(i);
			else
				free_block(i);
		}
	while (nr_disabled) {
		assert_int_equal(quire_zone_pcp_enable(zone), 0);
		nr_disabled--;
	}
	for (size_t page = 0; page < nr_pages; page++)
		if (isolated[block_of(page)]) {
			assert_int_equal(quire_zone_unisolate(zone, at(page),
							      512 * PAGE_SIZE),
					 0);
			isolated[block_of(page)] = false;
		}
	compare();
}

static const struct quire_hole holes[] = {
	{ 7 * 4096, 11 * 4096 },
	{ 600 * 4096, 1 * 4096 },
	{ 2000 * 4096, 900 * 4096 },
};

static void open_zone(struct quire_zone_options options, size_t from,
		      bool with_holes)
{
	/* numbers begin at 1 GiB: any other place as somebody's memory, which
	 * nobody touches */
	options.memory = (void *)(8 * GIB + from * PAGE_SIZE);
	options.bytes = nr_pages * PAGE_SIZE;
	if (with_holes) {
		options.holes = holes;
		options.nr_holes = ARRAY_SIZE(holes);
	}
	zone = zone_with(options);
	start = quire_zone_address(zone);
	memset(owner, 0, sizeof(owner));
	used = 0;
	for (size_t i = 0; i < options.nr_holes; i++)
		for (size_t page = holes[i].offset / PAGE_SIZE;
		     page < (holes[i].offset + holes[i].bytes) / PAGE_SIZE;
		     page++)
			owner[page] = HOLE;
}

static void run(struct quire_zone_options options, uint64_t run_seed, int steps)
{
	size_t from = run_seed % 3 ? 511 + run_seed * 37 : 0;

	seed = run_seed * 7919 + 1;
	nr_pages = 3001 + run_seed % 2999;
	open_zone(options, from, run_seed % 2);
	for (int i = 0; i < steps; i++) {
		step_one();
		if (UNDER_SANITIZER ? i % 16 == 0 : true)
			compare();
	}
	settle();
	assert_true(quire_zone_drain(zone, -1) >= 0);
	assert_int_equal(zone_facts(zone).free_pages, zone->managed_pages);
	zone_done(zone, 0);
}

static void random_operations(void **state)
{
	uint64_t nr = 0;

	(void)state;
	for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_OFF; pcp++)
		for (uint32_t drain = 0; drain < 3; drain++)
			for (uint32_t shards = 1; shards <= 5; shards += 2) {
				struct quire_zone_options options =
					zone_plain();

				options.pcp = pcp;
				options.drain = drain;
				options.nr_shards = shards;
				options.high = nr % 4 ? 0 : 1 + nr * 9;
				options.flags =
					nr % 5 ? 0 : QUIRE_ZONE_NO_DEPOT;
				run(options, ++nr, 3000);
			}
}

/* Memory so short that every step of help is taken. */
static void random_operations_in_a_small_zone(void **state)
{
	(void)state;
	for (uint64_t nr = 1; nr <= 12; nr++) {
		struct quire_zone_options options = zone_plain();

		options.pcp = 1 + nr % 4;
		options.drain = nr % 3;
		options.high = 100;
		seed = nr;
		nr_pages = 300 + nr;
		open_zone(options, nr * 3, false);
		for (int i = 0; i < 2000; i++) {
			step_one();
			compare();
		}
		settle();
		zone_done(zone, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_operations),
		cmocka_unit_test(random_operations_in_a_small_zone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
