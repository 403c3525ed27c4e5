/* SPDX-License-Identifier: MIT */
/* The page map against an array of pages, over the border of two leaves. */
#include "region.h"

#include "os/faulty.h"
#include "region/pagemap.h"

/* The window that the oracle knows: the end of one leaf and the next's start */
#define BASE		((size_t)77 * LEAF_PAGES - 4096)
#define PAGES_IN_WINDOW ((size_t)8192)

static struct pagemap map;
static struct lock lock;
static struct span *owner[PAGES_IN_WINDOW];

static int setup(void **state)
{
	(void)state;
	lock_init(&lock, RANK_PAGEMAP);
	memset(owner, 0, sizeof(owner));
	return pagemap_open(&map, &lock);
}

static int teardown(void **state)
{
	(void)state;
	pagemap_close(&map);
	return 0;
}

static bool is_marked(const struct span *span, size_t page)
{
	return page == span->page || page == span_end(span) - 1 ||
	       page % GROUP_PAGES == 0;
}

static struct span *oracle_at(size_t page)
{
	struct span *span = owner[page - BASE];

	return span && is_marked(span, page) ? span : NULL;
}

/* The nearest mark at or below, but not below the group. */
static struct span *oracle_covering(size_t page)
{
	for (size_t at = page;; at--) {
		struct span *span = at >= BASE ? oracle_at(at) : NULL;

		if (span || at % GROUP_PAGES == 0)
			return span;
	}
}

static void check_window(void)
{
	size_t next = BASE + PAGES_IN_WINDOW;

	for (size_t page = BASE + PAGES_IN_WINDOW; page-- > BASE;) {
		struct span *span = owner[page - BASE];

		assert_ptr_equal(pagemap_at(&map, page), oracle_at(page));
		if (oracle_at(page))
			next = page;
		if (page % 101 == 0 || next <= page + 1)
			assert_true(pagemap_next(&map, page,
						 BASE + PAGES_IN_WINDOW) ==
				    next);
		assert_ptr_equal(pagemap_covering(&map, page),
				 oracle_covering(page));
		if (span)
			assert_ptr_equal(oracle_covering(page), span);
	}
}

static void put(struct span *span, size_t page, size_t nr_pages)
{
	*span = (struct span){ .page = page, .nr_pages = nr_pages };
	assert_int_equal(pagemap_prepare(&map, page, nr_pages), 0);
	pagemap_mark(&map, span);
	for (size_t i = 0; i < nr_pages; i++)
		owner[page - BASE + i] = span;
}

static void take_away(struct span *span)
{
	pagemap_unmark(&map, span);
	for (size_t i = 0; i < span->nr_pages; i++)
		owner[span->page - BASE + i] = NULL;
	span->nr_pages = 0;
}

static void nothing_is_there(void **state)
{
	static const size_t pages[] = { 0,
					1,
					BASE,
					ROOT_ENTRIES * LEAF_PAGES - 1,
					ROOT_ENTRIES * LEAF_PAGES,
					SIZE_MAX >> 12,
					SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		assert_null(pagemap_at(&map, pages[i]));
		assert_null(pagemap_covering(&map, pages[i]));
	}
	assert_true(pagemap_next(&map, 0, ROOT_ENTRIES * LEAF_PAGES) ==
		    ROOT_ENTRIES * LEAF_PAGES);
	assert_true(pagemap_next(&map, 5, 5) == 5);
	assert_true(pagemap_next(&map, ROOT_ENTRIES * LEAF_PAGES, SIZE_MAX) ==
		    SIZE_MAX);
}

static void prepare_has_bounds(void **state)
{
	size_t all = ROOT_ENTRIES * LEAF_PAGES;

	(void)state;
	assert_int_equal(pagemap_prepare(&map, all - 1, 1), 0);
	assert_int_equal(pagemap_prepare(&map, all - 1, 2), -ENOMEM);
	assert_int_equal(pagemap_prepare(&map, all, 1), -ENOMEM);
	assert_int_equal(pagemap_prepare(&map, 0, 1), 0);
	assert_int_equal(pagemap_prepare(&map, 3 * LEAF_PAGES - 1, 2), 0);
	faulty_start(&os_kernel);
	faulty_arm(2, FAULTY_MAP);
	assert_int_equal(pagemap_prepare(&map, 10 * LEAF_PAGES, LEAF_PAGES * 2),
			 -ENOMEM);
	assert_int_equal(pagemap_prepare(&map, 10 * LEAF_PAGES, LEAF_PAGES * 2),
			 0);
	faulty_arm_from(1, FAULTY_MAP);
	assert_int_equal(pagemap_prepare(&map, 11 * LEAF_PAGES, 1), 0);
	assert_int_equal(pagemap_prepare(&map, 12 * LEAF_PAGES, 1), -ENOMEM);
	assert_null(pagemap_at(&map, 12 * LEAF_PAGES));
	faulty_stop();
}

static void spans_at_every_border(void **state)
{
	static const size_t starts[] = {
		0, 1, 511, 512, 513, 4095, 4096, 4097
	};
	static const size_t sizes[] = {
		1, 2, 3, 511, 512, 513, 1024, 1025, 3000
	};
	struct span span;

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(size_t); i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(size_t); j++) {
			put(&span, BASE + starts[i], sizes[j]);
			check_window();
			take_away(&span);
			check_window();
		}
}

/* Any number of spans, none over another. */
static void random_against_oracle(void **state)
{
	static struct span spans[40];
	uint64_t seed = 7;

	(void)state;
	memset(spans, 0, sizeof(spans));
	for (int i = 0; i < 1500; i++) {
		struct span *span = &spans[random_below(&seed, 40)];
		size_t nr = 1 + random_below(&seed, i % 3 ? 1500 : 20);
		size_t at = random_below(&seed, PAGES_IN_WINDOW - nr);
		bool is_free = true;

		if (span->nr_pages) {
			take_away(span);
			continue;
		}
		for (size_t j = 0; j < nr; j++)
			is_free = is_free && !owner[at + j];
		if (is_free)
			put(span, BASE + at, nr);
		if (i % 30 == 0)
			check_window();
	}
	check_window();
}

static void edges(void **state)
{
	struct span a, b;

	(void)state;
	put(&a, BASE + 100, 1000);
	pagemap_clear_edge(&map, BASE + 512); /* not an edge: [M1] wants it */
	check_window();
	pagemap_clear_edge(&map, BASE + 1099);
	assert_null(pagemap_at(&map, BASE + 1099));
	pagemap_mark_edge(&map, BASE + 1099, &a);
	check_window();
	/* [M2] what another span has marked meanwhile stays */
	b = (struct span){ .page = BASE + 512, .nr_pages = 588 };
	pagemap_mark(&map, &b);
	pagemap_unmark(&map, &a);
	assert_null(pagemap_at(&map, BASE + 100));
	assert_ptr_equal(pagemap_at(&map, BASE + 512), &b);
	assert_ptr_equal(pagemap_at(&map, BASE + 1024), &b);
	assert_ptr_equal(pagemap_at(&map, BASE + 1099), &b);
	pagemap_unmark(&map, &b);
	memset(owner, 0, sizeof(owner));
	check_window();
}

static void marks_are_sparse(void **state)
{
	struct span span = { .page = 200 * LEAF_PAGES + 7,
			     .nr_pages = LEAF_PAGES };
	struct span **leaf;

	(void)state;
	assert_int_equal(pagemap_prepare(&map, span.page, span.nr_pages), 0);
	pagemap_mark(&map, &span);
	leaf = map.root[200];
	/* one entry of each page of entries: that is all of them, once */
	assert_true(resident_pages(leaf, LEAF_PAGES * sizeof(*leaf)) <=
		    LEAF_PAGES / GROUP_PAGES);
	assert_true(resident_pages(map.root[201], LEAF_PAGES * sizeof(*leaf)) <=
		    1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_there),
		TEST(prepare_has_bounds),
		TEST(spans_at_every_border),
		TEST(random_against_oracle),
		TEST(edges),
		TEST(marks_are_sparse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
