/* SPDX-License-Identifier: MIT */
/*
 * Types of pageblocks, which change while pages of them are out; and how fresh
 * and how old free memory is.
 */
#include "buddy.h"

/* Types */

static void isolated_while_out(void **state)
{
	uint32_t page;

	(void)state;
	begin(0, 2048);
	page = take(0, TYPE_UNMOVABLE);
	assert_int_equal(page, 0);
	assert_int_equal(set_type(5, TYPE_ISOLATE), 511);
	assert_int_equal(buddy.isolated_pages, 511);
	give(page, 0, false); /* its type is read now */
	assert_int_equal(buddy.isolated_pages, 512);
	assert_true(is_free(0, BLOCK_ORDER, TYPE_ISOLATE));
	assert_true(is_free(512, BLOCK_ORDER, TYPE_UNMOVABLE));
	assert_int_equal(set_type(511, TYPE_MOVABLE), 512);
	assert_int_equal(buddy.isolated_pages, 0);
	assert_true(is_free(0, 11, TYPE_MOVABLE)); /* one with the rest */
}

/* Larger than a pageblock, and parts of it isolated while it was out. */
static void isolated_in_part_while_out(void **state)
{
	uint32_t page;

	(void)state;
	begin(0, 4096);
	page = take(11, TYPE_UNMOVABLE);
	assert_int_equal(page, 0);
	assert_int_equal(set_type(512, TYPE_ISOLATE), 0);
	assert_int_equal(set_type(1024, TYPE_ISOLATE), 0);
	give(page, 11, false);
	assert_int_equal(buddy.isolated_pages, 1024);
	assert_true(is_free(0, 9, TYPE_UNMOVABLE));
	assert_true(is_free(512, 9, TYPE_ISOLATE));
	assert_true(is_free(1024, 9, TYPE_ISOLATE));
	assert_true(is_free(1536, 9, TYPE_UNMOVABLE));
	set_type(512, TYPE_UNMOVABLE);
	set_type(1024, TYPE_UNMOVABLE);
	assert_true(is_free(0, 12, TYPE_UNMOVABLE));
}

static void isolated_is_never_taken(void **state)
{
	(void)state;
	begin(0, 1024);
	assert_int_equal(set_type(0, TYPE_ISOLATE), 512);
	assert_int_equal(take(10, TYPE_MOVABLE), NO_PAGE);
	assert_int_equal(take_run(513, 1), NO_PAGE);
	assert_int_equal(take_run(1, 1024), NO_PAGE);
	assert_int_equal(take_run(512, 1), 512);
	assert_int_equal(take(0, TYPE_UNMOVABLE), NO_PAGE);
	assert_int_equal(take_pages(1, TYPE_UNMOVABLE), 0);
	assert_int_equal(take_run(1, 1), NO_PAGE);
	assert_int_equal(buddy.free_pages, 512);
	give_run(512, 512);
	assert_int_equal(nr_blocks(BLOCK_ORDER), 2);
	assert_int_equal(nr_blocks(10), 0);
	assert_int_equal(set_type(0, TYPE_ISOLATE), 512); /* once more */
	set_type(0, TYPE_UNMOVABLE);
	assert_int_equal(nr_blocks(10), 1);
}

/* The first and the last are part of a pageblock only. */
static void types_at_the_edges(void **state)
{
	(void)state;
	begin(500, 1030);
	assert_int_equal(set_type(511, TYPE_ISOLATE), 12);
	assert_int_equal(set_type(1024, TYPE_ISOLATE), 6);
	assert_int_equal(buddy.isolated_pages, 18);
	assert_int_equal(set_type(500, TYPE_MOVABLE), 12);
	assert_int_equal(set_type(1029, TYPE_UNMOVABLE), 6);
	assert_int_equal(buddy.isolated_pages, 0);
	assert_int_equal(buddy.free_pages, 530);
}

/* Asked again for what it is: nothing is cut. */
static void same_type_changes_nothing(void **state)
{
	(void)state;
	begin(0, 2048);
	assert_int_equal(set_type(700, TYPE_UNMOVABLE), 512);
	assert_int_equal(nr_blocks(11), 1);
	assert_int_equal(buddy.nr_split, 0);
}

/* Moved to the tail of its new list, by order of address. */
static void type_change_moves_to_the_tail(void **state)
{
	(void)state;
	begin(0, 1024);
	take_all_pages(TYPE_UNMOVABLE);
	set_type(512, TYPE_MOVABLE);
	give(512, 0, false);
	for (uint32_t i = 0; i < 5; i++)
		give(9 - 2 * i, 0, false);
	expect_list(0, TYPE_UNMOVABLE, 1, 3, 5, 7, 9);
	assert_int_equal(set_type(0, TYPE_MOVABLE), 5);
	expect_list(0, TYPE_MOVABLE, 512, 1, 3, 5, 7, 9);
	assert_int_equal(buddy.free[0][TYPE_UNMOVABLE].nr, 0);
}

/* Stolen: a whole pageblock, no more, and it has the type from then on. */
static void whole_pageblock_changes_type(void **state)
{
	(void)state;
	begin(0, 2048);
	assert_int_equal(take(0, TYPE_MOVABLE), 0);
	assert_int_equal(buddy.nr_steal, 1);
	assert_int_equal(memmap_type(&map, 0), TYPE_MOVABLE);
	assert_int_equal(memmap_type(&map, 512), TYPE_UNMOVABLE);
	assert_true(is_free(256, 8, TYPE_MOVABLE));
	assert_true(is_free(512, 9, TYPE_UNMOVABLE));
	assert_true(is_free(1024, 10, TYPE_UNMOVABLE));
	assert_int_equal(take(0, TYPE_MOVABLE), 1);
	assert_int_equal(buddy.nr_steal, 1);
}

static void larger_block_changes_type(void **state)
{
	(void)state;
	begin(0, 4096);
	assert_int_equal(take(11, TYPE_MOVABLE), 0);
	for (uint32_t page = 0; page < 4096; page += BLOCK_PAGES)
		assert_int_equal(memmap_type(&map, page),
				 page < 2048 ? TYPE_MOVABLE : TYPE_UNMOVABLE);
}

/* Changed while a page of it is out: the page comes back as what it is now. */
static void type_changed_while_out(void **state)
{
	uint32_t page;

	(void)state;
	begin(0, 512);
	page = take(0, TYPE_UNMOVABLE);
	assert_int_equal(page, 0);
	assert_int_equal(take(0, TYPE_MOVABLE), 1); /* half is free */
	assert_int_equal(memmap_type(&map, 0), TYPE_MOVABLE);
	assert_int_equal(buddy.orders[TYPE_UNMOVABLE], 0);
	give(page, 0, false);
	assert_true(is_free(0, 0, TYPE_MOVABLE));
}

/* Exactly half, and one less. */
static void half_a_pageblock(void **state)
{
	(void)state;
	begin(0, 512);
	assert_int_equal(take(8, TYPE_UNMOVABLE), 0);
	assert_int_equal(take(0, TYPE_MOVABLE), 256);
	assert_int_equal(memmap_type(&map, 0), TYPE_MOVABLE);
	end(NULL);
	begin(0, 512);
	assert_int_equal(take(8, TYPE_UNMOVABLE), 0);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 256);
	assert_int_equal(take(0, TYPE_MOVABLE), 384); /* of the largest */
	assert_int_equal(memmap_type(&map, 0), TYPE_UNMOVABLE);
	assert_int_equal(buddy.orders[TYPE_MOVABLE], 0);
}

/* Whoever gave it last says what a merged block is. */
static void types_merge(void **state)
{
	(void)state;
	begin(0, 1024);
	assert_int_equal(take(9, TYPE_MOVABLE), 0);
	assert_int_equal(memmap_type(&map, 0), TYPE_MOVABLE);
	assert_int_equal(memmap_type(&map, 512), TYPE_UNMOVABLE);
	give(0, 9, false);
	assert_true(is_free(0, 10, TYPE_MOVABLE));
	assert_int_equal(memmap_type(&map, 512), TYPE_MOVABLE);
}

/* A row of pages is cut between pageblocks, for their types may differ. */
static void batch_in_two_pageblocks(void **state)
{
	static uint32_t pages[1024];

	(void)state;
	for (uint32_t i = 0; i < 1024; i++)
		pages[i] = i;
	begin(0, 1024);
	take_all_pages(TYPE_UNMOVABLE);
	set_type(512, TYPE_MOVABLE);
	give_pages(pages, 1024);
	assert_true(is_free(0, 10, TYPE_MOVABLE)); /* the last given */
	take_all_pages(TYPE_MOVABLE);
	set_type(512, TYPE_ISOLATE);
	give_pages(pages, 1024);
	assert_true(is_free(0, 9, TYPE_MOVABLE));
	assert_true(is_free(512, 9, TYPE_ISOLATE));
	assert_int_equal(buddy.isolated_pages, 512);
}

/* Fresh and dirty */

static void fresh_is_counted(void **state)
{
	uint32_t page;

	(void)state;
	begin_fresh(3, 2000);
	assert_int_equal(buddy.fresh_pages, 1997);
	page = take(4, TYPE_UNMOVABLE);
	assert_int_equal(buddy.fresh_pages, 1981);
	assert_int_equal(memmap_nr_fresh(&map, page, 16), 16);
	memmap_set_fresh(&map, page + 3, 2, false);
	give(page, 4, false);
	assert_int_equal(buddy.fresh_pages, 1995);
	assert_false(memmap_fresh(&map, page, 16));
	assert_true(memmap_fresh(&map, page, 3));
	assert_true(memmap_fresh(&map, page + 5, 11));
	page = take_run(1997, 1);
	assert_int_equal(buddy.fresh_pages, 0);
	memmap_set_fresh(&map, page, 1997, true);
	give_run(page, 1997);
	assert_int_equal(buddy.fresh_pages, 1997);
}

static void nothing_is_fresh_of_old_memory(void **state)
{
	uint32_t page;

	(void)state;
	begin(0, 1024);
	assert_int_equal(buddy.fresh_pages, 0);
	page = take(9, TYPE_UNMOVABLE);
	memmap_set_fresh(&map, page, 512, true);
	give(page, 9, false);
	assert_int_equal(buddy.fresh_pages, 512);
	assert_int_equal(set_type(page, TYPE_ISOLATE), 512);
	assert_int_equal(buddy.fresh_pages, 512);
}

/* Bits at both ends of words, and nowhere else. */
static void fresh_bits(void **state)
{
	static const uint32_t edges[] = {
		0, 1, 63, 64, 65, 127, 128, 130, 200
	};

	(void)state;
	for (int fresh = 0; fresh < 2; fresh++)
		for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
			for (size_t n = i; n < ARRAY_SIZE(edges); n++) {
				uint32_t a = edges[i], b = edges[n];

				begin_empty(0, 256);
				if (fresh)
					memmap_begin_fresh(&map);
				memmap_set_fresh(&map, a, b - a, !fresh);
				for (uint32_t p = 0; p < 256; p++)
					assert_int_equal(
						memmap_fresh(&map, p, 1),
						(p >= a && p < b) != fresh);
				assert_int_equal(memmap_nr_fresh(&map, 0, 256),
						 fresh ? 256 - (b - a) : b - a);
				memmap_destroy(&map);
			}
}

static uint32_t since(uint32_t page)
{
	return map.page[page].dirty_since;
}

static void dirty_since_it_came(void **state)
{
	uint32_t page;

	(void)state;
	begin_fresh(0, 4096);
	assert_int_equal(since(0), 0);
	buddy.tick = 5;
	page = take(9, TYPE_UNMOVABLE);
	give(page, 9, false);
	assert_int_equal(since(0), 0); /* nobody wrote */
	page = take(9, TYPE_UNMOVABLE);
	memmap_set_fresh(&map, page + 511, 1, false);
	give(page, 9, false);
	assert_int_equal(nr_blocks(12), 1);
	assert_int_equal(since(0), 5);
}

static void memory_as_it_came_is_dirty(void **state)
{
	(void)state;
	begin(0, 1024);
	assert_int_equal(since(0), 1);
}

/* Cut: each part is as old as the whole.  Merged: as its oldest part. */
static void dirty_parts(void **state)
{
	uint32_t page;

	(void)state;
	begin(0, 4096);
	buddy.tick = 7;
	page = take(9, TYPE_UNMOVABLE);
	assert_int_equal(page, 0);
	assert_int_equal(since(512), 1);
	assert_int_equal(since(1024), 1);
	assert_int_equal(since(2048), 1);
	page = take(9, TYPE_UNMOVABLE);
	assert_int_equal(page, 512);
	give(page, 9, false);
	assert_int_equal(since(512), 7);
	give(0, 9, false);
	assert_int_equal(nr_blocks(12), 1);
	assert_int_equal(since(0), 1);
}

/* Made of small ones: dirty since it is one. */
static void dirty_once_it_is_whole(void **state)
{
	(void)state;
	begin_fresh(0, 512);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 0);
	buddy.tick = 9;
	give(0, 0, false);
	assert_int_equal(since(0), 0);
	assert_int_equal(take(0, TYPE_UNMOVABLE), 0);
	memmap_set_fresh(&map, 0, 1, false);
	give(0, 0, false);
	assert_int_equal(since(0), 9);
	buddy.tick = 11;
	assert_int_equal(take(0, TYPE_UNMOVABLE), 0);
	give(0, 0, false);
	assert_int_equal(since(0), 11);
}

/* A clock that went round is a clock all the same. */
static void dirty_when_the_clock_goes_round(void **state)
{
	(void)state;
	begin(0, 1024);
	assert_int_equal(take(9, TYPE_UNMOVABLE), 0);
	assert_int_equal(take(9, TYPE_UNMOVABLE), 512);
	buddy.tick = UINT32_MAX - 1;
	give(0, 9, false);
	buddy.tick = 3;
	give(512, 9, false);
	assert_int_equal(since(0), UINT32_MAX - 1);
}

/* What a run does not take of a block is as old as it was. */
static void dirty_around_a_run(void **state)
{
	(void)state;
	begin(0, 8192);
	assert_int_equal(take(10, TYPE_UNMOVABLE), 0);
	assert_int_equal(take(10, TYPE_UNMOVABLE), 1024);
	give(1024, 10, false);
	buddy.tick = 6;
	assert_int_equal(take_run(5000, 1), 1024);
	assert_int_equal(since(6144), 1);
	give_run(1024, 5000);
	end(NULL);
	begin(0, 4096);
	buddy.tick = 6;
	assert_int_equal(take_run(2049, 1), 0);
	assert_int_equal(since(2560), 1);
	assert_int_equal(since(3072), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(isolated_while_out),
		TEST(isolated_in_part_while_out),
		TEST(isolated_is_never_taken),
		TEST(types_at_the_edges),
		TEST(same_type_changes_nothing),
		TEST(type_change_moves_to_the_tail),
		TEST(whole_pageblock_changes_type),
		TEST(larger_block_changes_type),
		TEST(type_changed_while_out),
		TEST(half_a_pageblock),
		TEST(types_merge),
		TEST(batch_in_two_pageblocks),
		TEST(fresh_is_counted),
		TEST(nothing_is_fresh_of_old_memory),
		TEST(fresh_bits),
		TEST(dirty_since_it_came),
		TEST(memory_as_it_came_is_dirty),
		TEST(dirty_parts),
		TEST(dirty_once_it_is_whole),
		TEST(dirty_when_the_clock_goes_round),
		TEST(dirty_around_a_run),
	};

	return cmocka_run_group_tests_name("buddy_type", tests, NULL, NULL);
}
