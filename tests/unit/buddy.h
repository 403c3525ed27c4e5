/* SPDX-License-Identifier: MIT */
/* A shard for the tests of free lists; the walker runs after each step. */
#ifndef TESTS_UNIT_BUDDY_H
#define TESTS_UNIT_BUDDY_H

#include "region.h"

#include "base/bits.h"
#include "page/buddy.h"

#define ALL_OF_ONE_GIB (1u << MAX_ORDER)

static struct memmap map;
static struct buddy buddy;

struct gap {
	uint32_t page, nr;
};

/* A shard as a zone gives it what is there; @holes end with one of no pages. */

static inline void begin_empty(uint32_t start, uint32_t end)
{
	assert_int_equal(memmap_init(&map, start, end), 0);
	buddy_init(&buddy, &map, start, end);
	buddy_check_locked(&buddy);
}

static inline void give_new(const struct gap *holes)
{
	uint32_t at = map.start;

	for (; holes->nr; holes++) {
		buddy_give_new_locked(&buddy, at, holes->page - at);
		memset(map.state + holes->page, STATE_HOLE, holes->nr);
		at = holes->page + holes->nr;
	}
	buddy_give_new_locked(&buddy, at, map.end - at);
	buddy_check_locked(&buddy);
}

static const struct gap none[] = { { 0, 0 } };

static inline void begin(uint32_t start, uint32_t end)
{
	begin_empty(start, end);
	give_new(none);
}

static inline void begin_fresh(uint32_t start, uint32_t end)
{
	begin_empty(start, end);
	memmap_begin_fresh(&map);
	give_new(none);
}

static inline int end(void **state)
{
	(void)state;
	if (map.bytes)
		memmap_destroy(&map);
	return 0;
}

/* The same as of buddy.h, looked at */

static inline uint32_t take(unsigned int order, enum migratetype type)
{
	uint32_t page = buddy_take_locked(&buddy, order, type);

	buddy_check_locked(&buddy);
	if (page == NO_PAGE)
		return page;
	assert_int_equal(page & ((1u << order) - 1), 0);
	assert_int_equal(map.state[page], STATE_LENT | order);
	return page;
}

static inline void give(uint32_t page, unsigned int order, bool tail)
{
	buddy_give_locked(&buddy, page, order, tail);
	buddy_check_locked(&buddy);
}

static inline uint32_t take_run(size_t nr, size_t align)
{
	uint32_t page =
		buddy_take_run_locked(&buddy, nr, align, TYPE_UNMOVABLE);

	buddy_check_locked(&buddy);
	if (page == NO_PAGE)
		return page;
	assert_int_equal(page & (align - 1), 0);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(map.state[page + i], STATE_RANGE);
	return page;
}

static inline void give_run(uint32_t page, size_t nr)
{
	buddy_give_run_locked(&buddy, page, nr);
	buddy_check_locked(&buddy);
}

static inline uint32_t set_type(uint32_t page, enum migratetype type)
{
	uint32_t nr = buddy_set_type_locked(&buddy, page, type);

	buddy_check_locked(&buddy);
	return nr;
}

static inline void take_all_pages(enum migratetype type)
{
	while (take(0, type) != NO_PAGE)
		;
	assert_int_equal(buddy.free_pages, 0);
}

/* Looking */

static inline uint64_t nr_blocks(unsigned int order)
{
	uint64_t nr = 0;

	for (int type = 0; type < NR_TYPES; type++)
		nr += buddy.free[order][type].nr;
	return nr;
}

struct picture {
	uint64_t nr[NR_ORDERS];
};

static inline struct picture picture(void)
{
	struct picture now;

	for (unsigned int order = 0; order < NR_ORDERS; order++)
		now.nr[order] = nr_blocks(order);
	return now;
}

static inline void expect_picture(struct picture then)
{
	for (unsigned int order = 0; order < NR_ORDERS; order++)
		assert_int_equal(nr_blocks(order), then.nr[order]);
}

#define expect_list(order, type, ...)                                          \
	expect_pages(order, type, (const uint32_t[]){ __VA_ARGS__, NO_PAGE })

static inline void expect_pages(unsigned int order, enum migratetype type,
				const uint32_t *pages)
{
	uint32_t at = buddy.free[order][type].first;

	for (; *pages != NO_PAGE; at = map.page[at].next)
		assert_int_equal(at, *pages++);
	assert_int_equal(at, NO_PAGE);
}

static inline bool is_free(uint32_t page, unsigned int order,
			   enum migratetype type)
{
	uint32_t at = buddy.free[order][type].first;

	while (at != NO_PAGE && at != page)
		at = map.page[at].next;
	return at == page;
}

static inline void give_pages(const uint32_t *pages, uint32_t nr)
{
	buddy_give_pages_locked(&buddy, pages, nr);
	buddy_check_locked(&buddy);
}

/* For a list of a CPU */

static uint32_t out[1024];

static inline uint32_t take_pages(uint32_t nr, enum migratetype type)
{
	uint32_t got = buddy_take_pages_locked(&buddy, nr, type, out);

	buddy_check_locked(&buddy);
	assert_in_range(got, 0, nr + CLUSTER_PAGES - 1);
	for (uint32_t i = 0; i < got; i++)
		assert_int_equal(map.state[out[i]], STATE_LENT);
	return got;
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

#endif /* TESTS_UNIT_BUDDY_H */
