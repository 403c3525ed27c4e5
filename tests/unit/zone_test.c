/* SPDX-License-Identifier: MIT */
/* Blocks, ranges and bulk calls of one zone: what is served, what is refused,
 * and that a refusal leaves everything as it was (P1 to P5, P7, C.9-4). */
#include "pages.h"

#include "page/fast.h"

static struct quire_zone *zone;
static char *start;

static void open_numbers(size_t bytes)
{
	zone = zone_of_numbers(bytes);
	start = quire_zone_address(zone);
}

static int setup(void **state)
{
	(void)state;
	open_numbers(64 * MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	zone_done(zone, 0);
	return 0;
}

static void *page_at(size_t nr)
{
	return start + nr * PAGE_SIZE;
}

/* A refusal: the answer, one more misuse counted, nothing else. */
#define MISUSED(call, error)                                                   \
	do {                                                                   \
		uint64_t before_ = ZONE_COUNTER(zone, zone_misuse);            \
		size_t used_ = zone_facts(zone).used_pages;                    \
		assert_int_equal((call), (error));                             \
		assert_int_equal(ZONE_COUNTER(zone, zone_misuse),              \
				 before_ + 1);                                 \
		assert_int_equal(zone_facts(zone).used_pages, used_);          \
		quire_zone_check(zone);                                        \
	} while (0)

#define FAILS(call, error)                                                     \
	do {                                                                   \
		errno = 0;                                                     \
		assert_null(call);                                             \
		assert_int_equal(errno, (error));                              \
		quire_zone_check(zone);                                        \
	} while (0)

static void *take(unsigned int order)
{
	void *block = quire_block_alloc(zone, order, 0);

	assert_non_null(block);
	return block;
}

static void give(void *block)
{
	errno = 12345;
	assert_int_equal(quire_block_free(zone, block), 0);
	assert_int_equal(errno, 12345);
}

/* P2 */
static void every_order(void **state)
{
	void *block[2];

	(void)state;
	teardown(NULL);
	open_numbers(4 * GIB);
	for (unsigned int order = 0; order <= QUIRE_MAX_ORDER; order++) {
		for (unsigned int type = 0; type < 2; type++) {
			block[type] = quire_block_alloc(zone, order, type);
			assert_non_null(block[type]);
			assert_false((uintptr_t)block[type] &
				     ((PAGE_SIZE << order) - 1));
		}
		assert_int_equal(zone_facts(zone).used_pages, 2u << order);
		quire_zone_check(zone);
		give(block[0]);
		give(block[1]);
		quire_zone_check(zone);
	}
	assert_true(quire_zone_drain(zone, -1) >= 0);
	assert_int_equal(zone_facts(zone).free_pages, PAGES(4 * GIB));
}

static void orders_and_flags_that_are_none(void **state)
{
	void *blocks[4];

	(void)state;
	FAILS(quire_block_alloc(zone, QUIRE_MAX_ORDER, 0), ENOMEM);
	FAILS(quire_block_alloc(zone, QUIRE_MAX_ORDER + 1, 0), EINVAL);
	FAILS(quire_block_alloc(zone, 64, 0), EINVAL);
	FAILS(quire_block_alloc(zone, UINT32_MAX, 0), EINVAL);
	FAILS(quire_page_alloc(zone, 8), EINVAL);
	FAILS(quire_page_alloc(zone, UINT32_MAX), EINVAL);
	FAILS(quire_page_alloc(zone, QUIRE_ZERO), EINVAL); /* no memory */
	FAILS(quire_block_alloc(zone, 1, QUIRE_ZERO), EINVAL);
	FAILS(quire_range_alloc(zone, 1, 0, QUIRE_ZERO), EINVAL);
	FAILS(quire_block_alloc_bulk(zone, 19, 0, 4, blocks), EINVAL);
	FAILS(quire_block_alloc_bulk(zone, 0, 8, 4, blocks), EINVAL);
	FAILS(quire_block_alloc_bulk(zone, 0, 0, 4, NULL), EINVAL);
	FAILS(quire_block_alloc_bulk(zone, 0, 0, SIZE_MAX / 4, blocks), EINVAL);
	FAILS(quire_block_fill(zone, 19, 0, 4, blocks), EINVAL);
	FAILS(quire_block_fill(zone, 0, 0, SIZE_MAX, blocks), EINVAL);
	assert_int_equal(quire_block_free_bulk(zone, 1, NULL), -EINVAL);
}

/* P3 */
static void nothing_at_all(void **state)
{
	void *block = NULL;

	(void)state;
	errno = 0;
	assert_int_equal(quire_block_alloc_bulk(zone, 0, 0, 0, &block), 0);
	assert_int_equal(quire_block_alloc_bulk(zone, 0, 0, 0, NULL), 0);
	assert_int_equal(quire_block_fill(zone, 0, 0, 0, NULL), 0);
	assert_int_equal(errno, 0);
	assert_int_equal(quire_block_free_bulk(zone, 0, NULL), 0);
	assert_int_equal(quire_block_free_bulk(zone, 1, &block), 0);
	FAILS(quire_range_alloc(zone, 0, 0, 0), EINVAL);
	assert_int_equal(quire_range_free(zone, start, 0), -EINVAL);
	assert_int_equal(quire_zone_isolate(zone, start, 0), -EINVAL);
	MISUSED(quire_block_free(zone, NULL), -EFAULT);
}

/* P1 */
static void ranges_that_wrap(void **state)
{
	(void)state;
	FAILS(quire_range_alloc(zone, SIZE_MAX, 0, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, SIZE_MAX / 4096 + 1, 0, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, (size_t)1 << 32, 0, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, PAGES(64 * MIB) + 1, 0, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, 1, (size_t)1 << 63, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, SIZE_MAX, (size_t)1 << 63, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, 1, 3, 0), EINVAL);
	FAILS(quire_range_alloc(zone, 1, 2048, 0), EINVAL);
	FAILS(quire_range_alloc(zone, 1, 12288, 0), EINVAL);
	MISUSED(quire_range_free(zone, start, SIZE_MAX), -EFAULT);
	MISUSED(quire_range_free(zone, start, SIZE_MAX / 4096 + 2), -EFAULT);
	MISUSED(quire_range_free(zone, (void *)(SIZE_MAX - 4095), 1), -EFAULT);
}

/* P4: at once, after a drain, after it merged into a larger block. */
static void freed_twice(void **state)
{
	(void)state;
	for (unsigned int order = 0; order <= 10; order++) {
		char *block = take(order);

		give(block);
		MISUSED(quire_block_free(zone, block), -EALREADY);
		MISUSED(quire_block_free_atomic(zone, block), -EALREADY);
		MISUSED(quire_range_free(zone, block, 1), -EALREADY);
		assert_true(quire_zone_drain(zone, -1) >= 0);
		MISUSED(quire_block_free(zone, block), -EALREADY);
		if (order)
			MISUSED(quire_block_free(zone, block + PAGE_SIZE),
				-EALREADY);
	}
	MISUSED(quire_block_free(zone, page_at(PAGES(64 * MIB) - 1)),
		-EALREADY);
}

static void *free_it(void *block)
{
	return (void *)(intptr_t)quire_block_free(zone, block);
}

static void freed_twice_by_another_thread(void **state)
{
	void *block = take(0), *error;
	pthread_t thread;

	(void)state;
	give(block);
	assert_int_equal(pthread_create(&thread, NULL, free_it, block), 0);
	pthread_join(thread, &error);
	assert_int_equal((intptr_t)error, -EALREADY);
}

/* P5 */
static void addresses_that_are_none(void **state)
{
	struct quire_zone *other = zone_of_numbers(128 * MIB);
	char *other_page, *block = take(3);
	int on_stack;

	(void)state;
	MISUSED(quire_block_free(zone, block + PAGE_SIZE), -EINVAL);
	MISUSED(quire_block_free(zone, block + 4 * PAGE_SIZE), -EINVAL);
	MISUSED(quire_block_free(zone, block + 7 * PAGE_SIZE), -EINVAL);
	MISUSED(quire_block_free(zone, block + 1), -EFAULT);
	MISUSED(quire_block_free(zone, block - 1), -EFAULT);
	MISUSED(quire_block_free(zone, &on_stack), -EFAULT);
	MISUSED(quire_block_free(zone, start - PAGE_SIZE), -EFAULT);
	MISUSED(quire_block_free(zone, start + 64 * MIB), -EFAULT);
	MISUSED(quire_block_free(zone, (void *)SIZE_MAX), -EFAULT);
	MISUSED(quire_block_free(zone, (void *)PAGE_SIZE), -EFAULT);
	MISUSED(quire_block_free_atomic(zone, block + PAGE_SIZE), -EINVAL);
	MISUSED(quire_range_free(zone, block, 8), -EINVAL);
	MISUSED(quire_range_free(zone, block + PAGE_SIZE, 1), -EINVAL);
	MISUSED(quire_range_free(zone, block + 1, 1), -EFAULT);
	give(block);
	/* the same numbers, but past the end of this one */
	do {
		other_page = quire_page_alloc(other, 0);
		assert_non_null(other_page);
	} while (other_page < start + 64 * MIB);
	MISUSED(quire_block_free(zone, other_page), -EFAULT);
	assert_true(quire_zone_close(other) > 0);
}

/* Ranges */

static void *take_range(size_t nr, size_t align)
{
	void *range = quire_range_alloc(zone, nr, align, 0);

	assert_non_null(range);
	if (align)
		assert_false((uintptr_t)range & (align - 1));
	quire_zone_check(zone);
	return range;
}

static void ranges_of_any_size_and_alignment(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 5, 64, 511, 512, 513, 5000 };
	static const size_t aligns[] = { 0, 4096, 8192, 2 << 20, 16 << 20 };

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++)
		for (size_t a = 0; a < ARRAY_SIZE(aligns); a++) {
			void *range = take_range(sizes[s], aligns[a]);

			assert_int_equal(zone_facts(zone).used_pages, sizes[s]);
			assert_int_equal(
				quire_range_free(zone, range, sizes[s]), 0);
			quire_zone_check(zone);
		}
	assert_int_equal(quire_range_free(zone,
					  take_range(PAGES(64 * MIB) - 16, 0),
					  PAGES(64 * MIB) - 16),
			 0);
}

static void ranges_of_more_than_the_largest_block(void **state)
{
	char *range;

	(void)state;
	teardown(NULL);
	open_numbers(9 * GIB);
	range = take_range(PAGES(3 * GIB) + 5, 0);
	assert_int_equal(quire_range_free(zone, range + GIB, PAGES(GIB)), 0);
	quire_zone_check(zone);
	assert_int_equal(quire_range_free(zone, range, PAGES(GIB)), 0);
	assert_int_equal(
		quire_range_free(zone, range + 2 * GIB, PAGES(GIB) + 5), 0);
	for (size_t align = GIB; align <= 8 * GIB; align *= 2) {
		range = take_range(7, align);
		assert_int_equal(quire_range_free(zone, range, 7), 0);
	}
	/* 8 GiB lies in it, 16 GiB does not */
	FAILS(quire_range_alloc(zone, 7, 16 * GIB, 0), ENOMEM);
	FAILS(quire_range_alloc(zone, PAGES(3 * GIB), 8 * GIB, 0), ENOMEM);
	assert_int_equal(zone_facts(zone).free_pages, PAGES(9 * GIB));
}

/* P7: 5 pages; the parts 1-3, 0, 4 in every order, and each of them twice. */
static void ranges_are_freed_in_parts(void **state)
{
	static const struct {
		size_t first, nr;
	} part[3] = { { 1, 3 }, { 0, 1 }, { 4, 1 } };
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }
	};

	(void)state;
	for (int i = 0; i < 6; i++) {
		char *range = take_range(5, 0);

		for (int n = 0; n < 3; n++) {
			size_t nr = part[orders[i][n]].nr;
			char *at = range + part[orders[i][n]].first * PAGE_SIZE;

			assert_int_equal(quire_range_free(zone, at, nr), 0);
			quire_zone_check(zone);
			MISUSED(quire_range_free(zone, at, nr), -EALREADY);
			if (n < 2) /* all or nothing */
				MISUSED(quire_range_free(zone, range, 5),
					-EALREADY);
		}
	}
}

static void two_ranges_freed_as_one(void **state)
{
	char *one = take_range(4, 0), *other = take_range(4, 0);
	char *low = one < other ? one : other;

	(void)state;
	assert_int_equal(low + 4 * PAGE_SIZE, one < other ? other : one);
	assert_int_equal(quire_range_free(zone, low, 8), 0);
}

static void ranges_and_blocks_do_not_mix(void **state)
{
	char *range = take_range(8, 0);

	(void)state;
	MISUSED(quire_block_free(zone, range), -EINVAL);
	MISUSED(quire_block_free(zone, range + PAGE_SIZE), -EINVAL);
	assert_int_equal(quire_range_free(zone, range, 8), 0);
}

static void ranges_in_shards(void **state)
{
	struct quire_zone_options options = zone_plain();
	void *range[5];

	(void)state;
	teardown(NULL);
	options.bytes = 64 * MIB;
	options.nr_shards = 4;
	zone = zone_with(options);
	start = quire_zone_address(zone);
	for (int i = 0; i < 4; i++)
		range[i] = take_range(PAGES(9 * MIB), 0);
	FAILS(quire_range_alloc(zone, PAGES(9 * MIB), 0, 0), ENOMEM);
	range[4] = take_range(PAGES(7 * MIB), 0);
	assert_int_equal(quire_range_free(zone, range[4], PAGES(7 * MIB)), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			quire_range_free(zone, range[i], PAGES(9 * MIB)), 0);
}

/* Bulk: spec C.9-4, Q19 */

#define NR 3000
static void *blocks[NR];

static void bulk_of_all_orders(void **state)
{
	(void)state;
	for (unsigned int order = 0; order <= 11; order++) {
		size_t nr = min_size(NR, PAGES(48 * MIB) >> order);

		errno = 0;
		assert_int_equal(
			quire_block_alloc_bulk(zone, order, 0, nr, blocks), nr);
		assert_int_equal(errno, 0);
		assert_int_equal(zone_facts(zone).used_pages, nr << order);
		quire_zone_check(zone);
		for (size_t i = 0; i < nr; i++)
			assert_false((uintptr_t)blocks[i] &
				     ((PAGE_SIZE << order) - 1));
		assert_int_equal(quire_block_free_bulk(zone, nr, blocks), 0);
		quire_zone_check(zone);
	}
}

static void bulk_gives_what_there_is(void **state)
{
	static void *many[20000];
	size_t nr, managed = zone_facts(zone).managed_pages;

	(void)state;
	memset(many, 0x11, sizeof(many));
	errno = 0;
	nr = quire_block_alloc_bulk(zone, 0, 0, 20000, many);
	assert_int_equal(errno, ENOMEM);
	assert_true(nr <= managed);
	/* all but the reserve */
	assert_true(nr + zone_facts(zone).watermark_min + 1 >= managed);
	for (size_t i = nr; i < 20000; i++)
		assert_int_equal((uintptr_t)many[i], 0x1111111111111111);
	assert_int_equal(quire_block_alloc_bulk(zone, 0, 0, 5, many + nr), 0);
	assert_int_equal(quire_block_free_bulk(zone, nr, many), 0);
}

static void fill_skips_what_is_filled(void **state)
{
	void *mine = &mine;

	(void)state;
	for (int i = 0; i < NR; i++)
		blocks[i] = i % 3 ? NULL : mine;
	assert_int_equal(quire_block_fill(zone, 0, QUIRE_MOVABLE, NR, blocks),
			 NR);
	for (int i = 0; i < NR; i++) {
		assert_non_null(blocks[i]);
		if (i % 3 == 0) {
			assert_ptr_equal(blocks[i], mine);
			blocks[i] = NULL;
		}
	}
	assert_int_equal(zone_facts(zone).used_pages, NR - NR / 3);
	assert_int_equal(quire_block_free_bulk(zone, NR, blocks), 0);
	for (int i = 0; i < NR; i++)
		blocks[i] = mine;
	assert_int_equal(quire_block_fill(zone, 0, 0, NR, blocks), NR);
	assert_int_equal(zone_facts(zone).used_pages, 0);
}

/* The count is that of the entries before the first that is still NULL. */
static void fill_of_a_part(void **state)
{
	void *mine = &mine;
	size_t nr = PAGES(64 * MIB) >> 9, done;

	(void)state;
	for (size_t i = 0; i < NR; i++)
		blocks[i] = i % 2 ? mine : NULL;
	errno = 0;
	done = quire_block_fill(zone, 9, 0, NR, blocks);
	assert_int_equal(errno, ENOMEM);
	assert_true(done >= 2 * (nr - 1) && done <= 2 * nr);
	for (size_t i = 0; i < NR; i++) {
		if (i < done)
			assert_non_null(blocks[i]);
		if (i >= done && i % 2 == 0)
			assert_null(blocks[i]);
		if (i % 2)
			blocks[i] = NULL;
	}
	assert_int_equal(quire_block_free_bulk(zone, NR, blocks), 0);
}

static void bulk_free_goes_on_after_an_error(void **state)
{
	void *batch[9];

	(void)state;
	for (int i = 0; i < 9; i++)
		batch[i] = take((unsigned int)i % 4);
	batch[2] = batch[1]; /* lost its own, and twice in the batch */
	batch[4] = (char *)batch[3] + PAGE_SIZE;
	batch[6] = NULL;
	assert_int_equal(quire_block_free_bulk(zone, 9, batch), -EALREADY);
	quire_zone_check(zone);
	assert_int_equal(zone_facts(zone).used_pages, 4 + 1 + 4);
	assert_int_equal(quire_block_free_bulk(zone, 9, batch), -EALREADY);
	assert_int_equal(zone_facts(zone).used_pages, 4 + 1 + 4);
	/* what was lost, found again by its state */
	for (size_t i = 0; i < PAGES(64 * MIB); i++)
		if (STATE_KIND(zone->state[zone->map.start + i]) == STATE_HEAD)
			give(page_at(i));
}

static void bulk_free_of_mixed_orders(void **state)
{
	uint64_t seed = 3;
	size_t nr = 600;

	(void)state;
	for (size_t i = 0; i < nr; i++)
		blocks[i] = quire_block_alloc(
			zone, (unsigned int)random_below(&seed, 6),
			(unsigned int)random_below(&seed, 2));
	quire_zone_check(zone);
	assert_int_equal(quire_block_free_bulk(zone, nr, blocks), 0);
	quire_zone_check(zone);
	assert_int_equal(zone_facts(zone).used_pages, 0);
}

/* Two that free the same block in the same instant are both told 0; the second
 * is found when the list is drained (spec I-A4, A7). */
static void a_block_that_is_in_a_list_twice(void **state)
{
	uint32_t page;

	(void)state;
	if (CONFIG_UP)
		return; /* there are no lists */
	page = (uint32_t)zone_page(zone, take(1));
	assert_true(percpu_push(&zone->percpu, zone->slow[1][0], page));
	store_relaxed(&zone->state[page], STATE_CACHED | 1);
	assert_true(percpu_push(&zone->percpu, zone->slow[1][0], page));
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 0);
	assert_true(quire_zone_drain(zone, -1) >= 4);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 1);
	quire_zone_check(zone);
	assert_int_equal(zone_facts(zone).used_pages, 0);
}

/* A7: every page of it is looked at, and what is bad does not come back. */
static void a_bad_block_is_not_freed(void **state)
{
	char *block = take(3);
	uint32_t page = (uint32_t)zone_page(zone, block);

	(void)state;
	give(block);
	if (CONFIG_UP)
		return;
	store_relaxed(&zone->state[page + 5], STATE_HEAD);
	assert_true(quire_zone_drain(zone, -1) > 0);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 1);
	assert_int_equal(zone_facts(zone).used_pages, 8);
	store_relaxed(&zone->state[page + 5], STATE_TAIL);
	store_relaxed(&zone->state[page], STATE_HEAD | 3);
	quire_zone_check(zone);
	give(block);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_order),
		TEST(orders_and_flags_that_are_none),
		TEST(nothing_at_all),
		TEST(ranges_that_wrap),
		TEST(freed_twice),
		TEST(freed_twice_by_another_thread),
		TEST(addresses_that_are_none),
		TEST(ranges_of_any_size_and_alignment),
		TEST(ranges_of_more_than_the_largest_block),
		TEST(ranges_are_freed_in_parts),
		TEST(two_ranges_freed_as_one),
		TEST(ranges_and_blocks_do_not_mix),
		TEST(ranges_in_shards),
		TEST(bulk_of_all_orders),
		TEST(bulk_gives_what_there_is),
		TEST(fill_skips_what_is_filled),
		TEST(fill_of_a_part),
		TEST(bulk_free_goes_on_after_an_error),
		TEST(bulk_free_of_mixed_orders),
		TEST(a_block_that_is_in_a_list_twice),
		TEST(a_bad_block_is_not_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
