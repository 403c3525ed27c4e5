/* SPDX-License-Identifier: MIT */
/* A big batch freed by several threads: all of it, none twice, and what is
 * refused is left in the array.  Spec D.9, D.10 3, 5, 8. */
#include "pages.h"

#define NR 40000u

static void *blocks[NR + 64];

static int setup(void **state)
{
	(void)state;
	spy_start(&os_kernel); /* four CPUs, nobody else runs */
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_stop(true);
	os = &os_kernel;
	return 0;
}

static struct quire_zone *zone_of_shards(uint32_t nr_shards)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = (size_t)1 << 30;
	options.nr_shards = nr_shards;
	return zone_with(options);
}

/* From all over the zone, mixed, orders 0 to 2; returns pages. */
static size_t take_mixed(struct quire_zone *zone, size_t nr)
{
	uint64_t seed = 7;
	size_t pages = 0;

	for (size_t i = 0; i < nr; i++) {
		unsigned int order = (unsigned int)random_below(&seed, 3);

		blocks[i] = quire_block_alloc(zone, order, 0);
		assert_non_null(blocks[i]);
		pages += (size_t)1 << order;
	}
	for (size_t i = nr; i > 1; i--) {
		size_t other = random_below(&seed, i);
		void *swap = blocks[i - 1];

		blocks[i - 1] = blocks[other];
		blocks[other] = swap;
	}
	return pages;
}

static void all_null(size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		assert_null(blocks[i]);
}

static void all_are_freed(void **state)
{
	static const uint32_t shards[] = { 1, 4, 16 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shards); i++) {
		struct quire_zone *zone = zone_of_shards(shards[i]);
		struct quire_work work = { .size = sizeof(work) };
		size_t pages = take_mixed(zone, NR);

		assert_int_equal(quire_block_free_many(zone, NR, blocks, &work),
				 0);
		all_null(NR);
		assert_int_equal(work.bytes_done, pages << 12);
		assert_int_equal(work.nr_slices, zone_facts(zone).nr_shards);
		assert_true(work.workers_used >= 1);
		assert_int_equal(zone_facts(zone).used_pages, 0);
		zone_done(zone, 0);
	}
}

/* Below the floor by the caller alone; nothing at all. */
static void small_batches(void **state)
{
	struct quire_zone *zone = zone_of_shards(4);
	struct quire_work work = { .size = sizeof(work) };
	size_t pages = take_mixed(zone, 16383);

	(void)state;
	assert_int_equal(quire_block_free_many(zone, 16383, blocks, &work), 0);
	assert_int_equal(work.bytes_done, pages << 12);
	assert_int_equal(work.nr_slices, 0);
	assert_int_equal(work.workers_used, 1);
	assert_int_equal(quire_block_free_many(zone, 0, blocks, NULL), 0);
	assert_int_equal(quire_block_free_many(zone, 100, blocks, NULL), 0);
	take_mixed(zone, 20000);
	work.workers = 1;
	assert_int_equal(quire_block_free_many(zone, 20000, blocks, &work), 0);
	assert_int_equal(work.workers_used, 1);
	zone_done(zone, 0);
}

static void misuse_is_left_over(void **state)
{
	struct quire_zone *zone = zone_of_shards(4);
	struct quire_work work = { .size = sizeof(work) };
	size_t pages = take_mixed(zone, NR), left = 0;
	char *big = quire_block_alloc(zone, 4, 0);
	int local, error;

	(void)state;
	blocks[NR] = blocks[5]; /* twice */
	blocks[NR + 1] = big + 4096;
	blocks[NR + 2] = &local;
	blocks[NR + 3] = NULL;
	error = quire_block_free_many(zone, NR + 4, blocks, &work);
	assert_true(error == -EALREADY || error == -EINVAL || error == -EFAULT);
	assert_int_equal(work.bytes_done, pages << 12);
	for (size_t i = 0; i < NR + 4; i++)
		left += blocks[i] != NULL;
	assert_int_equal(left, 3);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 3);
	assert_int_equal(zone_facts(zone).used_pages, 16);
	zone_done(zone, 16);
}

static int stop_at_once(size_t done, size_t all, void *arg)
{
	(void)done;
	(void)all;
	++*(int *)arg;
	return 1;
}

/* What was not come to is still in the array, and can be freed later. */
static void cancelled(void **state)
{
	struct quire_zone *zone = zone_of_shards(16);
	int calls = 0;
	struct quire_work work = { .size = sizeof(work),
				   .progress = stop_at_once,
				   .arg = &calls,
				   .workers = 1 };
	size_t pages = take_mixed(zone, NR);
	int error = quire_block_free_many(zone, NR, blocks, &work);

	(void)state;
	assert_int_equal(error, -ECANCELED);
	assert_int_equal(calls, 1);
	assert_true(work.bytes_done < pages << 12);
	assert_int_equal(zone_facts(zone).used_pages,
			 pages - (work.bytes_done >> 12));
	assert_int_equal(quire_block_free_many(zone, NR, blocks, NULL), 0);
	zone_done(zone, 0);
}

static void careful_zones(void **state)
{
	struct quire_zone_options options = zone_plain();
	struct quire_region *region = region_of((size_t)256 << 20);
	struct quire_zone *zone;

	(void)state;
	options.region = region;
	options.flags = QUIRE_ZONE_INIT_FREE;
	options.decay_ms = UINT32_MAX;
	zone = zone_with(options);
	for (size_t i = 0; i < 20000; i++) {
		char *page = quire_page_alloc(zone, 0);

		page[17] = 1;
		blocks[i] = page;
	}
	assert_int_equal(quire_block_free_many(zone, 20000, blocks, NULL), 0);
	for (size_t i = 0; i < 20000; i++)
		blocks[i] = quire_page_alloc(zone, 0);
	for (size_t i = 0; i < 20000; i++)
		assert_int_equal(((char *)blocks[i])[17], 0);
	zone_done(zone, 20000);
	assert_int_equal(quire_region_close(region), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_are_freed),	   TEST(small_batches),
		TEST(misuse_is_left_over), TEST(cancelled),
		TEST(careful_zones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
