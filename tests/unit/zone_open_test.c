/* SPDX-License-Identifier: MIT */
/* Opening and closing zones: what options can be, what a zone does to the
 * memory that it is over, and that a refusal changes nothing (P1, P3, P6). */
#include "pages.h"

#include "page/layout.h"

static void *no_zone = &no_zone;

static void refused(struct quire_zone_options options, int error)
{
	struct quire_zone *zone = no_zone;

	assert_int_equal(quire_zone_open(&options, &zone), error);
	assert_ptr_equal(zone, no_zone); /* written only on success */
}

static struct quire_zone_options numbers(size_t bytes)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = bytes;
	return options;
}

static void sizes_and_unknown_values(void **state)
{
	struct quire_zone_options options = numbers(MIB);
	struct quire_zone *zone;

	(void)state;
	assert_int_equal(quire_zone_open(NULL, &zone), -EINVAL);
	assert_int_equal(quire_zone_open(&options, NULL), -EINVAL);
	options.size--;
	refused(options, -EINVAL);
	refused(numbers(0), -EINVAL);
	refused(numbers(4095), -EINVAL);
	refused(numbers(MIB + 1), -EINVAL);
#define REFUSED(member, value)                                                 \
	do {                                                                   \
		options = numbers(MIB);                                        \
		options.member = (value);                                      \
		refused(options, -EINVAL);                                     \
	} while (0)
	REFUSED(flags, 1u << 5);
	REFUSED(flags, QUIRE_ZONE_SHARED); /* no memory */
	REFUSED(flags, QUIRE_ZONE_POISON);
	REFUSED(flags, QUIRE_ZONE_INIT_FREE);
	REFUSED(pcp, QUIRE_PCP_OFF + 1);
	REFUSED(drain, QUIRE_DRAIN_PREFETCH + 1);
	REFUSED(nr_shards, SHARDS_MAX + 1);
	REFUSED(nr_shards, UINT32_MAX);
	REFUSED(high, PCP_RING + 1);
	REFUSED(batch_scale_max, 6);
	REFUSED(watermark_min_pages, 256);
	REFUSED(watermark_min_pages, UINT32_MAX);
#undef REFUSED
}

/* P1 */
static void sizes_that_wrap(void **state)
{
	struct quire_zone_options options;

	(void)state;
	refused(numbers(SIZE_MAX & ~(PAGE_SIZE - 1)), -EINVAL);
	refused(numbers((size_t)1 << 63), -EOVERFLOW);
	refused(numbers((size_t)1 << 44), -EOVERFLOW); /* 2^32 pages */
	refused(numbers(((size_t)1 << 44) - 2 * GIB), -EOVERFLOW);
	options = zone_plain();
	options.memory = (void *)(SIZE_MAX - 8191);
	options.bytes = 16384;
	refused(options, -EINVAL);
	options.bytes = SIZE_MAX & ~(PAGE_SIZE - 1);
	refused(options, -EINVAL);
}

static void the_largest_zone(void **state)
{
	size_t bytes = ((size_t)1 << 44) - 2 * GIB - PAGE_SIZE;
	struct quire_zone *zone;
	struct quire_zone_options options = numbers(bytes);
	char *last;

	(void)state;
	if (UNDER_SANITIZER)
		skip();
	assert_int_equal(quire_zone_open(&options, &zone), 0);
	assert_int_equal(zone_facts(zone).managed_pages, PAGES(bytes));
	last = (char *)quire_zone_address(zone) + bytes;
	assert_int_equal(quire_block_free(zone, last), -EFAULT);
	assert_int_equal(quire_block_free(zone, last - PAGE_SIZE), -EALREADY);
	assert_non_null(quire_page_alloc(zone, 0));
	assert_int_equal(quire_zone_close(zone), 1);
}

static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t all, pages;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu %zu", &all, &pages), 2);
	fclose(file);
	return pages << PAGE_SHIFT;
}

static void metadata_of_what_is_not_used_costs_none(void **state)
{
	struct quire_region *region = region_of((size_t)1 << 40);
	size_t before = resident(), open, used;
	struct quire_zone *zone;
	struct quire_zone_options options = zone_plain();

	(void)state;
	if (UNDER_SANITIZER)
		skip();
	options.region = region;
	assert_int_equal(quire_zone_open(&options, &zone), 0);
	open = resident() - before;
	assert_true(open < 12 * MIB); /* a page for each GiB, twice */
	for (int i = 0; i < 1000; i++)
		assert_non_null(quire_page_alloc(zone, 0));
	used = resident() - before;
	assert_true(used < 14 * MIB);
	assert_int_equal(quire_zone_close(zone), 1000);
	assert_int_equal(quire_region_close(region), 0);
}

static void holes_that_cannot_be(void **state)
{
	static const struct {
		struct quire_hole hole[2];
		size_t nr;
	} cases[] = {
		{ { { 1, PAGE_SIZE } }, 1 },
		{ { { 0, 100 } }, 1 },
		{ { { 0, 0 } }, 1 },
		{ { { MIB, PAGE_SIZE } }, 1 },
		{ { { MIB - PAGE_SIZE, 2 * PAGE_SIZE } }, 1 },
		{ { { PAGE_SIZE, SIZE_MAX & ~(size_t)4095 } }, 1 },
		{ { { 0, MIB } }, 1 },
		{ { { 8192, 8192 }, { 4096, 4096 } }, 2 },
		{ { { 0, 8192 }, { 4096, 8192 } }, 2 },
	};
	struct quire_zone_options options = numbers(MIB);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		options.holes = cases[i].hole;
		options.nr_holes = cases[i].nr;
		refused(options, -EINVAL);
	}
	options.holes = NULL;
	refused(options, -EINVAL);
	options.holes = cases[0].hole;
	options.nr_holes = 0;
	refused(options, -EINVAL);
}

static void holes_are_no_pages(void **state)
{
	const struct quire_hole holes[] = {
		{ 0, 5 * PAGE_SIZE },
		{ 4 * MIB, 3 * MIB + PAGE_SIZE },
		{ 16 * MIB - PAGE_SIZE, PAGE_SIZE },
	};
	struct quire_zone_options options = numbers(16 * MIB);
	struct quire_zone *zone;
	size_t managed = PAGES(16 * MIB) - 5 - PAGES(3 * MIB) - 2, nr = 0;
	char *start;
	void *page;

	(void)state;
	options.holes = holes;
	options.nr_holes = ARRAY_SIZE(holes);
	zone = zone_with(options);
	start = quire_zone_address(zone);
	assert_int_equal(quire_zone_size(zone), 16 * MIB);
	assert_int_equal(zone_facts(zone).managed_pages, managed);
	for (size_t i = 0; i < ARRAY_SIZE(holes); i++) {
		char *first = start + holes[i].offset;

		assert_int_equal(quire_block_free(zone, first), -EFAULT);
		assert_int_equal(quire_block_free(zone, first + holes[i].bytes -
								PAGE_SIZE),
				 -EFAULT);
		assert_int_equal(quire_range_free(zone, first, 1), -EFAULT);
	}
	while ((page = quire_page_alloc(zone, QUIRE_ATOMIC))) {
		size_t at = (size_t)((char *)page - start);

		for (size_t i = 0; i < ARRAY_SIZE(holes); i++)
			assert_false(at - holes[i].offset < holes[i].bytes);
		nr++;
	}
	assert_int_equal(nr, managed);
	zone_done(zone, (long)managed);
}

/* Regions */

static void a_region_is_busy(void **state)
{
	struct quire_region *region = region_of(16 * MIB);
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone, *other;

	(void)state;
	options.region = region;
	options.region_offset = 4 * MIB;
	options.bytes = 8 * MIB;
	zone = zone_with(options);
	assert_ptr_equal(quire_zone_address(zone),
			 (char *)quire_region_address(region) + 4 * MIB);
	assert_int_equal(quire_region_close(region), -EBUSY);
	assert_int_equal(quire_region_release(region, 2 * MIB, 4 * MIB, NULL),
			 -EBUSY);
	refused(options, -EBUSY);
	options.region_offset = 11 * MIB;
	options.bytes = 2 * MIB;
	refused(options, -EBUSY);
	options.region_offset = 12 * MIB;
	options.bytes = 0; /* to its end */
	other = zone_with(options);
	assert_int_equal(quire_zone_size(other), 4 * MIB);
	zone_done(other, 0);
	assert_int_equal(quire_region_populate(region, 4 * MIB, 8 * MIB, NULL),
			 0);
	assert_int_equal(quire_region_release(region, 0, 4 * MIB, NULL), 0);
	options.region_offset = 0;
	options.bytes = 8 * MIB;
	refused(options, -EINVAL); /* gone */
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void a_part_of_a_region_that_is_none(void **state)
{
	struct quire_region *region = region_of(MIB);
	struct quire_zone_options options = zone_plain();

	(void)state;
	options.region = region;
	options.region_offset = MIB;
	refused(options, -EINVAL);
	options.region_offset = SIZE_MAX & ~(size_t)4095;
	refused(options, -EINVAL);
	options.region_offset = 100;
	refused(options, -EINVAL);
	options.region_offset = PAGE_SIZE;
	options.bytes = MIB;
	refused(options, -EINVAL);
	options.bytes = SIZE_MAX & ~(size_t)4095;
	refused(options, -EINVAL);
	options.bytes = 0;
	options.memory = &options;
	refused(options, -EINVAL);
	assert_int_equal(quire_region_close(region), 0);
}

static void registered_memory_can_be_a_zone(void **state)
{
	struct quire_region *region = region_of(4 * MIB);
	struct quire_zone *zone;

	(void)state;
	assert_int_equal(quire_region_register(region, 0, 2 * MIB), 0);
	zone = zone_over(region, 0);
	assert_int_equal(quire_region_register(region, 2 * MIB, 2 * MIB), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_unregister(region, 0, 2 * MIB), 0);
	assert_int_equal(quire_region_unregister(region, 2 * MIB, 2 * MIB), 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* A region that was a zone's is not as new: zeros are made. */
static void a_second_zone_over_a_region(void **state)
{
	struct quire_region *region = region_of(4 * MIB);
	struct quire_zone *zone = zone_over(region, 0);
	unsigned char *page;

	(void)state;
	assert_int_equal(zone_facts(zone).fresh_pages, PAGES(4 * MIB));
	while ((page = quire_page_alloc(zone, QUIRE_ATOMIC)))
		memset(page, 0xa5, PAGE_SIZE);
	assert_int_equal(quire_zone_close(zone), (long)PAGES(4 * MIB));
	zone = zone_over(region, 0);
	assert_int_equal(zone_facts(zone).fresh_pages, 0);
	while ((page = quire_page_alloc(zone, QUIRE_ATOMIC | QUIRE_ZERO)))
		for (size_t i = 0; i < PAGE_SIZE; i += 64)
			assert_int_equal(page[i], 0);
	zone_done(zone, (long)PAGES(4 * MIB));
	assert_int_equal(quire_region_close(region), 0);
}

/* Of the caller's memory: nothing is touched by opening, allocating, closing.
 */
static void the_callers_memory(void **state)
{
	static unsigned char memory[64 * 4096 + 4096]
		__attribute__((aligned(4096)));
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	void *page;

	(void)state;
	memset(memory, 0x77, sizeof(memory));
	options.memory = memory + 8;
	options.bytes = PAGE_SIZE;
	refused(options, -EINVAL);
	options.memory = memory;
	options.bytes = sizeof(memory);
	zone = zone_with(options);
	assert_ptr_equal(quire_zone_address(zone), memory);
	assert_int_equal(zone_facts(zone).fresh_pages, 0);
	for (int i = 0; i < 65; i++) {
		page = quire_page_alloc(zone, 0);
		assert_non_null(page);
		if (i % 2)
			assert_int_equal(quire_block_free(zone, page), 0);
	}
	assert_int_equal(quire_zone_trim(zone, 0), 0);
	zone_done(zone, 33);
	for (size_t i = 0; i < sizeof(memory); i++)
		assert_int_equal(memory[i], 0x77);
}

/* Shards */

static void shards_are_cut_at_powers_of_two(void **state)
{
	static const struct {
		size_t bytes;
		uint32_t wanted, got;
	} cases[] = {
		{ 256 * MIB, 0, 1 }, { 256 * MIB, 1, 1 }, { 256 * MIB, 2, 2 },
		{ 256 * MIB, 3, 2 }, { 256 * MIB, 4, 4 }, { 300 * MIB, 4, 3 },
		{ 4 * MIB, 64, 2 },  { MIB, 64, 1 },	  { 8 * GIB, 64, 64 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct quire_zone_options options = numbers(cases[i].bytes);
		struct quire_zone *zone;

		options.nr_shards = cases[i].wanted;
		assert_int_equal(quire_zone_open(&options, &zone), 0);
		assert_int_equal(zone_facts(zone).nr_shards, cases[i].got);
		assert_int_equal(quire_zone_close(zone), 0);
	}
}

static void modes(void **state)
{
	(void)state;
	for (uint32_t pcp = QUIRE_PCP_AUTO; pcp <= QUIRE_PCP_OFF; pcp++) {
		struct quire_zone_options options = numbers(MIB);
		struct quire_zone *zone;
		uint32_t got;

		options.pcp = pcp;
		zone = zone_with(options);
		got = zone_facts(zone).pcp;
		zone_done(zone, 0);
		assert_true(got != QUIRE_PCP_AUTO);
		options.flags = QUIRE_ZONE_STRICT;
		if (pcp == QUIRE_PCP_AUTO || got == pcp)
			zone_done(zone_with(options), 0);
		else
			refused(options, -EOPNOTSUPP);
	}
}

static void no_rseq_is_no_error_unless_strict(void **state)
{
	struct quire_zone_options options = numbers(MIB);
	struct quire_zone *zone;

	(void)state;
	if (CONFIG_UP)
		skip();
	options.pcp = QUIRE_PCP_RSEQ;
	faulty_start(&os_kernel);
	faulty_arm_from(1, FAULTY_RSEQ);
	zone = zone_with(options);
	assert_int_equal(zone_facts(zone).pcp, QUIRE_PCP_LOCK);
	assert_int_equal(ZONE_COUNTER(zone, pcp_fallback), 1);
	zone_done(zone, 0);
	options.flags = QUIRE_ZONE_STRICT;
	refused(options, -EOPNOTSUPP);
	faulty_stop();
}

static void handles_that_are_none(void **state)
{
	struct quire_zone_facts facts = { .size = sizeof(facts) - 1 };
	struct quire_zone *zone = zone_of_numbers(MIB);
	char text[8];

	(void)state;
	assert_int_equal(quire_zone_close(NULL), -EINVAL);
	assert_int_equal(quire_zone_describe(NULL, &facts), -EINVAL);
	assert_int_equal(quire_zone_describe(zone, NULL), -EINVAL);
	assert_int_equal(quire_zone_describe(zone, &facts), -EINVAL);
	assert_int_equal(quire_zone_print(zone, QUIRE_ZONE_VMSTAT + 1, text,
					  sizeof(text)),
			 -EINVAL);
	assert_int_equal(quire_zone_print(zone, QUIRE_ZONE_VMSTAT, NULL, 1),
			 -EINVAL);
	assert_true(quire_zone_print(zone, QUIRE_ZONE_VMSTAT, NULL, 0) > 100);
	zone_done(zone, 0);
}

static void closing_gives_all_back(void **state)
{
	size_t before;

	(void)state;
	if (UNDER_SANITIZER)
		skip();
	zone_done(zone_of_numbers(64 * MIB), 0);
	before = anonymous_bytes();
	for (int i = 0; i < 10; i++) {
		struct quire_zone *zone = zone_of_numbers(64 * MIB);

		for (int n = 0; n < 5000; n++)
			assert_non_null(quire_page_alloc(zone, n & 1));
		zone_done(zone, 5000);
	}
	assert_int_equal(anonymous_bytes(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_and_unknown_values),
		cmocka_unit_test(sizes_that_wrap),
		cmocka_unit_test(the_largest_zone),
		cmocka_unit_test(metadata_of_what_is_not_used_costs_none),
		cmocka_unit_test(holes_that_cannot_be),
		cmocka_unit_test(holes_are_no_pages),
		cmocka_unit_test(a_region_is_busy),
		cmocka_unit_test(a_part_of_a_region_that_is_none),
		cmocka_unit_test(registered_memory_can_be_a_zone),
		cmocka_unit_test(a_second_zone_over_a_region),
		cmocka_unit_test(the_callers_memory),
		cmocka_unit_test(shards_are_cut_at_powers_of_two),
		cmocka_unit_test(modes),
		cmocka_unit_test(no_rseq_is_no_error_unless_strict),
		cmocka_unit_test(handles_that_are_none),
		cmocka_unit_test(closing_gives_all_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
