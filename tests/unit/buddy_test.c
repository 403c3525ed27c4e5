/* SPDX-License-Identifier: MIT */
/*
 * Free lists of one shard, case by case: what comes out for each order, length
 * and alignment, in which order, and that all of it comes together again.
 * Random operations are in buddy_model_test.c.
 */
#include "buddy.h"

/* Orders, alignments, shapes */

static void every_order(void **state)
{
	struct picture whole;

	(void)state;
	begin(0, ALL_OF_ONE_GIB + 5);
	whole = picture();
	for (unsigned int order = 0; order <= MAX_ORDER; order++) {
		uint32_t page = take(order, TYPE_MOVABLE);

		assert_int_not_equal(page, NO_PAGE);
		assert_int_equal(buddy.free_pages,
				 ALL_OF_ONE_GIB + 5 - (1u << order));
		give(page, order, false);
		expect_picture(whole);
	}
}

static void largest_order_is_there_once(void **state)
{
	(void)state;
	begin(0, ALL_OF_ONE_GIB + 5);
	assert_int_equal(take(MAX_ORDER, TYPE_MOVABLE), 0);
	assert_int_equal(take(MAX_ORDER, TYPE_MOVABLE), NO_PAGE);
	assert_int_equal(take(2, TYPE_UNMOVABLE), ALL_OF_ONE_GIB);
	assert_int_equal(take(1, TYPE_UNMOVABLE), NO_PAGE);
	assert_int_equal(take(0, TYPE_UNMOVABLE), ALL_OF_ONE_GIB + 4);
	assert_int_equal(buddy.free_pages, 0);
}

/* It would be there but for where the shard begins. */
static void largest_order_needs_its_alignment(void **state)
{
	(void)state;
	begin(1, ALL_OF_ONE_GIB + 1);
	assert_int_equal(take(MAX_ORDER, TYPE_MOVABLE), NO_PAGE);
	assert_int_equal(take(MAX_ORDER - 1, TYPE_MOVABLE), ALL_OF_ONE_GIB / 2);
}

static void every_alignment_of_a_run(void **state)
{
	static const size_t lengths[] = { 1, 2, 3, 5, 63, 512, 513, 4097 };
	struct picture whole;

	(void)state;
	begin(77, ALL_OF_ONE_GIB + 9000);
	whole = picture();
	for (unsigned int shift = 0; shift <= MAX_ORDER; shift++)
		for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
			uint32_t page = take_run(lengths[i], 1ul << shift);

			assert_int_not_equal(page, NO_PAGE);
			give_run(page, lengths[i]);
			expect_picture(whole);
		}
}

static void runs_that_cannot_be(void **state)
{
	struct picture whole;

	(void)state;
	begin(77, 5000);
	whole = picture();
	assert_int_equal(take_run(0, 1), NO_PAGE);
	assert_int_equal(take_run(5000 - 77 + 1, 1), NO_PAGE);
	assert_int_equal(take_run(SIZE_MAX, 1), NO_PAGE);
	assert_int_equal(take_run(SIZE_MAX / 4096 + 1, 1), NO_PAGE);
	assert_int_equal(take_run(1, 1ul << 13), NO_PAGE);
	assert_int_equal(take_run(1, 1ul << 31), NO_PAGE);
	assert_int_equal(take_run(1, 1ul << 63), NO_PAGE);
	assert_int_equal(take_run(5000 - 4096 + 1, 1ul << 12), NO_PAGE);
	assert_int_equal(take_run(5000 - 4096, 1ul << 12), 4096);
	give_run(4096, 5000 - 4096);
	assert_int_equal(take_run(5000 - 77, 1), 77);
	give_run(77, 5000 - 77);
	expect_picture(whole);
}

/* 0 is a multiple of everything. */
static void run_at_page_0_has_every_alignment(void **state)
{
	(void)state;
	begin(0, 100);
	assert_int_equal(take_run(100, 1ul << 63), 0);
	assert_int_equal(buddy.free_pages, 0);
}

static void run_beyond_the_largest_order(void **state)
{
	struct picture whole;

	(void)state;
	begin(3, 2 * ALL_OF_ONE_GIB - 100);
	whole = picture();
	assert_int_equal(take_run(ALL_OF_ONE_GIB + 1, 1), 3);
	assert_int_equal(take_run(ALL_OF_ONE_GIB + 1, 1), NO_PAGE);
	give_run(3, ALL_OF_ONE_GIB + 1);
	assert_int_equal(take_run(ALL_OF_ONE_GIB + 1, BLOCK_PAGES),
			 BLOCK_PAGES);
	give_run(BLOCK_PAGES, ALL_OF_ONE_GIB + 1);
	expect_picture(whole);
}

/* Between what is out, and only there. */
static void run_is_found_wherever_it_fits(void **state)
{
	uint32_t page[40];

	(void)state;
	begin(0, 40);
	for (int i = 0; i < 40; i++)
		page[i] = take(0, TYPE_UNMOVABLE);
	for (int i = 0; i < 40; i++)
		assert_int_not_equal(page[i], NO_PAGE);
	give_run(1, 2);	 /* 1 2 */
	give_run(13, 5); /* 13 … 17 */
	give_run(31, 4); /* 31 … 34 */
	assert_int_equal(take_run(6, 1), NO_PAGE);
	assert_int_equal(take_run(3, 8), 32);
	give_run(32, 3);
	assert_int_equal(take_run(5, 1), 13);
	assert_int_equal(take_run(4, 1), 31);
	assert_int_equal(take_run(2, 1), 1);
	assert_int_equal(buddy.free_pages, 0);
}

/* Every page by itself, in an order of no pattern, comes together again. */
static void shuffle_and_give(uint32_t start, uint32_t nr, const uint8_t *state)
{
	uint64_t seed = 77;
	uint32_t *page = calloc(nr, sizeof(*page)), nr_pages = 0;

	assert_non_null(page);
	for (uint32_t i = 0; i < nr; i++)
		if (STATE_KIND(state[start + i]) == STATE_LENT)
			page[nr_pages++] = start + i;
	for (uint32_t i = nr_pages; i > 1; i--) {
		uint32_t other = (uint32_t)random_below(&seed, i);
		uint32_t kept = page[i - 1];

		page[i - 1] = page[other];
		page[other] = kept;
	}
	for (uint32_t i = 0; i < nr_pages; i++) {
		buddy_give_locked(&buddy, page[i], 0, i & 1);
		if (i % 64 == 0)
			buddy_check_locked(&buddy);
	}
	buddy_check_locked(&buddy);
	free(page);
}

static void expect_merges_inside(uint32_t first, uint32_t last,
				 const struct gap *holes)
{
	struct picture whole;
	size_t nr;

	begin_empty(first, last);
	give_new(holes);
	whole = picture();
	nr = buddy.free_pages;
	for (size_t i = 0; i < nr; i++)
		assert_int_not_equal(
			buddy_take_locked(&buddy, 0, (enum migratetype)(i & 1)),
			NO_PAGE);
	assert_int_equal(buddy_take_locked(&buddy, 0, TYPE_UNMOVABLE), NO_PAGE);
	buddy_check_locked(&buddy);
	for (; holes->nr; holes++)
		for (uint32_t i = 0; i < holes->nr; i++)
			assert_int_equal(map.state[holes->page + i],
					 STATE_HOLE);
	shuffle_and_give(first, last - first, map.state);
	assert_int_equal(buddy.free_pages, nr);
	expect_picture(whole);
	memmap_destroy(&map);
}

static void merges_stay_inside(void **state)
{
	static const struct gap one[] = { { 600, 1 }, { 0, 0 } };
	static const struct gap some[] = {
		{ 5, 1 }, { 700, 100 }, { 1024, 256 }, { 0, 0 }
	};
	static const struct gap blocks[] = { { 1024, 512 },
					     { 2048, 1024 },
					     { 0, 0 } };

	(void)state;
	expect_merges_inside(0, 1, none);
	expect_merges_inside(1, 4, none);
	expect_merges_inside(5, 12, none);
	expect_merges_inside(509, 516, none);
	expect_merges_inside(3, 1503, none);
	expect_merges_inside(512, 1024, one);
	expect_merges_inside(3, 1503, some);
	expect_merges_inside(0, 4097, blocks);
}

/* A range in parts */

static void range_in_parts(void **state)
{
	static const struct {
		uint32_t first, nr;
	} part[] = { { 1, 3 }, { 0, 1 }, { 4, 1 } };
	static const int orders[][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 }
	};
	struct picture whole;

	(void)state;
	begin(3, 1030);
	whole = picture();
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		uint32_t page = take_run(5, 1);
		size_t before = buddy.free_pages;

		assert_int_not_equal(page, NO_PAGE);
		for (int n = 0; n < 3; n++) {
			uint32_t first = page + part[orders[i][n]].first;
			uint32_t nr = part[orders[i][n]].nr;

			give_run(first, nr);
			before += nr;
			assert_int_equal(buddy.free_pages, before);
			/* a second free would be seen */
			for (uint32_t p = first; p < first + nr; p++)
				assert_int_not_equal(STATE_KIND(map.state[p]),
						     STATE_RANGE);
		}
		expect_picture(whole);
	}
}

/* A run of all that may be in it: blocks, pages, parts of ranges. */
static void run_of_anything(void **state)
{
	struct picture whole;

	(void)state;
	begin(0, 64);
	whole = picture();
	assert_int_equal(take_run(4, 4), 0);
	assert_int_equal(take(2, TYPE_UNMOVABLE), 4);
	assert_int_equal(take(3, TYPE_UNMOVABLE), 8);
	map.state[4] = STATE_HEAD | 2;
	map.state[8] = STATE_HEAD | 3;
	give_run(1, 15);
	give_run(0, 1);
	expect_picture(whole);
}

/* Order: what was given last is taken first, but what was put at the tail */

static void newest_first(void **state)
{
	(void)state;
	begin(0, 16);
	take_all_pages(TYPE_UNMOVABLE);
	give(2, 0, false);
	give(4, 0, false);
	give(6, 0, true);
	give(8, 0, false);
	give(10, 0, true);
	expect_list(0, TYPE_UNMOVABLE, 8, 4, 2, 6, 10);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 8);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 4);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 2);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 6);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 10);
	assert_int_equal(take(0, TYPE_UNMOVABLE), NO_PAGE);
}

/* What has merged stands where the last of it was to be put. */
static void merged_stands_where_its_last_part_does(void **state)
{
	(void)state;
	begin(0, 16);
	take_all_pages(TYPE_UNMOVABLE);
	give(0, 0, false);
	give(4, 0, false);
	give(8, 0, false);
	give(5, 0, false);
	give(1, 0, true);
	expect_list(0, TYPE_UNMOVABLE, 8);
	expect_list(1, TYPE_UNMOVABLE, 4, 0);
	give(9, 0, false);
	expect_list(1, TYPE_UNMOVABLE, 8, 4, 0);
	assert_int_equal(buddy.nr_merge, 3);
}

/* The smallest that is large enough; the lower part is taken. */
static void smallest_first(void **state)
{
	(void)state;
	begin(0, 64 + 8 + 1);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 72);
	assert_int_equal(take(1, TYPE_UNMOVABLE), 64);
	assert_int_equal(buddy.nr_split, 2);
	expect_list(1, TYPE_UNMOVABLE, 66);
	expect_list(2, TYPE_UNMOVABLE, 68);
	assert_int_equal(take(4, TYPE_UNMOVABLE), 0);
	expect_list(4, TYPE_UNMOVABLE, 16);
	expect_list(5, TYPE_UNMOVABLE, 32);
}

/* From any list its head, from a run its pages in their order. */
static void run_is_given_in_order(void **state)
{
	(void)state;
	begin(0, 64);
	take_all_pages(TYPE_UNMOVABLE);
	give_run(1, 62);
	expect_list(0, TYPE_UNMOVABLE, 62, 1);
	expect_list(1, TYPE_UNMOVABLE, 60, 2);
	expect_list(2, TYPE_UNMOVABLE, 56, 4);
	expect_list(3, TYPE_UNMOVABLE, 48, 8);
	expect_list(4, TYPE_UNMOVABLE, 32, 16);
}

/* Batches: the lists are what they are when each page is given by itself */

#define ZONE 700u /* in two pageblocks */

struct lists {
	uint32_t page[ZONE + NR_ORDERS];
	uint64_t nr_merge;
};

static void record(struct lists *lists)
{
	uint32_t nr = 0, at;

	memset(lists, 0, sizeof(*lists));
	for (unsigned int order = 0; order < NR_ORDERS; order++) {
		at = buddy.free[order][TYPE_UNMOVABLE].first;
		for (; at != NO_PAGE; at = map.page[at].next)
			lists->page[nr++] = at;
		lists->page[nr++] = NO_PAGE;
	}
	lists->nr_merge = buddy.nr_merge;
}

/* Rows, up and down, of any length, in an order of no pattern; some are not
 * given at all. */
static uint32_t make_batch(uint64_t seed, uint32_t *pages)
{
	bool used[ZONE] = { false };
	uint32_t nr = 0;

	for (int rows = 0; rows < 60; rows++) {
		uint32_t at = (uint32_t)random_below(&seed, ZONE);
		uint32_t most = 1u << random_below(&seed, 9);
		uint32_t step = random_below(&seed, 2) ? 1 : UINT32_MAX;

		for (; most-- && at < ZONE && !used[at]; at += step) {
			used[at] = true;
			pages[nr++] = at;
		}
	}
	return nr;
}

static void give_batch(const uint32_t *pages, uint32_t nr, uint32_t chunk,
		       struct lists *lists)
{
	begin(0, ZONE);
	take_all_pages(TYPE_UNMOVABLE);
	for (uint32_t i = 0; i < nr; i += chunk) {
		uint32_t part = nr - i < chunk ? nr - i : chunk;

		if (chunk == 1)
			give(pages[i], 0, false);
		else
			give_pages(pages + i, part);
	}
	record(lists);
	end(NULL);
}

static void batch_is_given_in_order(void **state)
{
	static struct lists one_by_one, at_once;
	static uint32_t pages[ZONE];

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint32_t nr = make_batch(seed, pages);

		give_batch(pages, nr, 1, &one_by_one);
		give_batch(pages, nr, nr, &at_once);
		assert_memory_equal(&at_once, &one_by_one, sizeof(at_once));
		give_batch(pages, nr, 2 + seed, &at_once);
		assert_memory_equal(&at_once, &one_by_one, sizeof(at_once));
	}
}

static void batch_of_nothing(void **state)
{
	(void)state;
	begin(0, 64);
	give_pages(NULL, 0);
	assert_int_equal(buddy.free_pages, 64);
}

/* Clusters */

static void whole_clusters(void **state)
{
	(void)state;
	begin(0, 1024);
	assert_int_equal(take_pages(1, TYPE_UNMOVABLE), 64);
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(out[i], i);
	assert_int_equal(take_pages(65, TYPE_UNMOVABLE), 128);
	for (uint32_t i = 0; i < 128; i++)
		assert_int_equal(out[i], 64 + i);
}

/* What is left of clusters goes first, and all of it. */
static void broken_cluster_first(void **state)
{
	(void)state;
	begin(0, 1024);
	assert_int_equal(take_pages(64, TYPE_UNMOVABLE), 64);
	give(7, 0, false);
	give(40, 0, false);
	give(41, 0, false);
	give(3, 0, false);
	assert_int_equal(take_pages(1, TYPE_UNMOVABLE), 4);
	assert_int_equal(out[0], 3);
	assert_int_equal(out[1], 7);
	assert_int_equal(out[2], 40);
	assert_int_equal(out[3], 41);
}

/* The other type's too: no cluster is left in part. */
static void broken_cluster_of_the_other_type(void **state)
{
	(void)state;
	begin(0, 512);
	take_all_pages(TYPE_UNMOVABLE);
	give(7, 0, false);
	give(40, 0, false);
	give(41, 0, false);
	give(3, 0, false);
	give(300, 0, false);
	assert_int_equal(take_pages(1, TYPE_MOVABLE), 1);
	assert_int_equal(out[0], 300);
	assert_int_equal(take_pages(1, TYPE_MOVABLE), 4);
	assert_int_equal(out[0], 3);
	assert_int_equal(out[1], 7);
	assert_int_equal(out[2], 40);
	assert_int_equal(out[3], 41);
	assert_int_equal(buddy.nr_steal, 2);
	assert_int_equal(memmap_type(&map, 0), TYPE_UNMOVABLE);
	assert_int_equal(take_pages(9, TYPE_MOVABLE), 0);
}

static void cluster_at_the_edges(void **state)
{
	(void)state;
	begin(61, 131);
	assert_int_equal(take_pages(3, TYPE_UNMOVABLE), 3);
	assert_int_equal(out[0], 61 + 67);
	assert_int_equal(take_pages(200, TYPE_UNMOVABLE), 67);
	assert_int_equal(buddy.free_pages, 0);
}

/* The walker finds what it is there for. */

static void break_state(void *arg)
{
	(void)arg;
	map.state[100] = STATE_BUDDY;
	buddy_check_locked(&buddy);
}

static void break_count(void *arg)
{
	(void)arg;
	buddy.free_pages++;
	buddy_check_locked(&buddy);
}

static void break_link(void *arg)
{
	(void)arg;
	map.page[512].prev = 5;
	buddy_check_locked(&buddy);
}

static void break_type(void *arg)
{
	(void)arg;
	map.block_type[1] = TYPE_MOVABLE;
	buddy_check_locked(&buddy);
}

static void break_fresh(void *arg)
{
	(void)arg;
	memmap_set_fresh(&map, 600, 1, true);
	buddy_check_locked(&buddy);
}

static void take_what_is_not_free(void *arg)
{
	(void)arg;
	buddy_take_at_locked(&buddy, 512, 8);
}

static void walker_finds(void **state)
{
	static void (*const bodies[])(void *) = {
		break_state, break_count, break_link,
		break_type,  break_fresh, take_what_is_not_free,
	};

	(void)state;
	begin(0, 1024 + 512);
	set_type(0, TYPE_ISOLATE);
	set_type(0, TYPE_UNMOVABLE);
	assert_int_equal(take(9, TYPE_UNMOVABLE), 1024);
	assert_int_equal(take(9, TYPE_UNMOVABLE), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		assert_true(panics(bodies[i], NULL));
	give(0, 9, false);
	give(1024, 9, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_order),
		TEST(largest_order_is_there_once),
		TEST(largest_order_needs_its_alignment),
		TEST(every_alignment_of_a_run),
		TEST(runs_that_cannot_be),
		TEST(run_at_page_0_has_every_alignment),
		TEST(run_beyond_the_largest_order),
		TEST(run_is_found_wherever_it_fits),
		TEST(merges_stay_inside),
		TEST(range_in_parts),
		TEST(run_of_anything),
		TEST(newest_first),
		TEST(merged_stands_where_its_last_part_does),
		TEST(smallest_first),
		TEST(run_is_given_in_order),
		TEST(batch_is_given_in_order),
		TEST(batch_of_nothing),
		TEST(whole_clusters),
		TEST(broken_cluster_first),
		TEST(broken_cluster_of_the_other_type),
		TEST(cluster_at_the_edges),
		TEST(walker_finds),
	};

	return cmocka_run_group_tests_name("buddy", tests, NULL, NULL);
}
