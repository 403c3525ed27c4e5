/* SPDX-License-Identifier: MIT */
/* Zeros that were promised, zeros that cost nothing, and patterns that show who
 * writes to free pages. */
#include "pages.h"

#define MEBI(n) ((size_t)(n) << 20)

static struct blocks held;

static bool is_zero(const char *at, size_t bytes)
{
	return !*at && !memcmp(at, at + 1, bytes - 1);
}

static void fresh_pages_are_not_cleared(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 0);

	(void)state;
	for (unsigned int order = 0; order <= 12; order++) {
		char *block = quire_block_alloc(zone, order, QUIRE_ZERO);

		assert_non_null(block);
		assert_true(is_zero(block, PAGE_SIZE << order));
	}
	assert_int_equal(ZONE_COUNTER(zone, zone_cleared), 0);
	zone_done(zone, (1 << 13) - 1);
	assert_int_equal(quire_region_close(region), 0);
}

static void dirty_pages_are_cleared(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, UINT32_MAX);

	(void)state;
	for (unsigned int order = 0; order <= 9; order++) {
		for (int round = 0; round < 4; round++) {
			blocks_take(zone, &held, order, 16);
			blocks_give(zone, &held);
			for (int i = 0; i < 16; i++) {
				char *block = quire_block_alloc(zone, order,
								QUIRE_ZERO);

				assert_non_null(block);
				assert_true(is_zero(block, PAGE_SIZE << order));
				memset(block, 0xff, PAGE_SIZE << order);
				held.at[i] = block;
			}
			blocks_give(zone, &held);
			if (round == 2)
				quire_zone_drain(zone, -1);
		}
	}
	assert_true(ZONE_COUNTER(zone, zone_cleared) > 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* A block of which a part was used: only that part costs. */
static void mixed_blocks(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, UINT32_MAX);
	uint64_t cleared;
	char *block;

	(void)state;
	blocks_take(zone, &held, 4, 3);
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	block = quire_block_alloc(zone, 13, QUIRE_ZERO);
	if (!block)
		block = quire_block_alloc(zone, 12, QUIRE_ZERO);
	assert_non_null(block);
	assert_true(is_zero(block, MEBI(16)));
	cleared = ZONE_COUNTER(zone, zone_cleared);
	assert_true(cleared <= 3 * 16);
	quire_block_free(zone, block);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* A sparse gigabyte of zeros stays sparse. */
static void big_zeros_are_discarded(void **state)
{
	struct quire_region *region = region_of(MEBI(256));
	struct quire_zone *zone = zone_over(region, UINT32_MAX);
	char *range;

	(void)state;
	range = quire_range_alloc(zone, MEBI(128) >> 12, 0, 0);
	assert_non_null(range);
	memset(range, 1, MEBI(128));
	assert_int_equal(quire_range_free(zone, range, MEBI(128) >> 12), 0);
	range = quire_block_alloc(zone, 14, QUIRE_ZERO);
	if (range) {
		assert_true(resident_pages(range, MEBI(64)) < 512);
		assert_int_equal(range[MEBI(32)], 0);
		quire_block_free(zone, range);
	}
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static struct quire_zone *careful_zone(struct quire_region *region,
				       uint32_t flags)
{
	struct quire_zone_options options = zone_plain();

	options.region = region;
	options.flags = flags;
	options.decay_ms = UINT32_MAX;
	return zone_with(options);
}

static void pattern_stands(void **state)
{
	struct quire_region *region = region_of(MEBI(32));
	struct quire_zone *zone = careful_zone(region, QUIRE_ZONE_POISON);

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (unsigned int order = 0; order <= 9; order++) {
			blocks_take(zone, &held, order, 4);
			blocks_give(zone, &held);
		}
	}
	quire_zone_trim(zone, 0); /* fresh again, without the pattern */
	blocks_take(zone, &held, 9, 4);
	blocks_give(zone, &held);
	assert_int_equal(ZONE_COUNTER(zone, zone_poison), 0);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* Who wrote is not known, but where, and the block is out of use. */
static void broken_pattern_is_withheld(void **state)
{
	struct quire_region *region = region_of(MEBI(4));
	struct quire_zone *zone = careful_zone(region, QUIRE_ZONE_POISON);
	char text[4096], where[64];
	char *freed[3], *page;
	size_t nr = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		freed[i] = quire_page_alloc(zone, 0);
		memset(freed[i], 1, 4096);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(quire_block_free(zone, freed[i]), 0);
	freed[1][1000] ^= 1;
	while ((page = quire_page_alloc(zone, 0))) {
		assert_ptr_not_equal(page, freed[1]);
		nr++;
	}
	assert_int_equal(nr,
			 (MEBI(4) >> 12) - 1 - zone_facts(zone).watermark_min);
	assert_int_equal(ZONE_COUNTER(zone, zone_poison), 1);
	quire_zone_print(zone, QUIRE_ZONE_ZONEINFO, text, sizeof(text));
	snprintf(where, sizeof(where), "0x%lx",
		 (unsigned long)(freed[1] + 1000));
	assert_non_null(strstr(text, where));
	zone_done(zone, (long)nr + 1);
	assert_int_equal(quire_region_close(region), 0);
}

static void cleared_when_freed(void **state)
{
	struct quire_region *region = region_of(MEBI(32));
	struct quire_zone *zone = careful_zone(region, QUIRE_ZONE_INIT_FREE);

	(void)state;
	for (unsigned int order = 0; order <= 9; order++) {
		blocks_take(zone, &held, order, 4);
		blocks_give(zone, &held);
		for (size_t i = 0; i < held.nr; i++)
			assert_true(is_zero(held.at[i], PAGE_SIZE << order));
	}
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_pages_are_not_cleared),
		cmocka_unit_test(dirty_pages_are_cleared),
		cmocka_unit_test(mixed_blocks),
		cmocka_unit_test(big_zeros_are_discarded),
		cmocka_unit_test(pattern_stands),
		cmocka_unit_test(broken_pattern_is_withheld),
		cmocka_unit_test(cleared_when_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
