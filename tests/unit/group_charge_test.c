/* SPDX-License-Identifier: MIT */
/*
 * Charging and limits, one thread: levels, limits of a few pages (G2), handles
 * that are stale, waiting, and what is refused (G1).
 */
#include "groups.h"

static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *root;
static struct shelf shelf;

static void open_pcp(uint32_t pcp)
{
	zone = zone_of_numbers(64 * MIB);
	groups = groups_over(&zone, 1,
			     (struct quire_groups_options){ .pcp = pcp });
	root = quire_groups_root(groups);
	shelf_open(&shelf, groups);
}

static int setup(void **state)
{
	(void)state;
	open_pcp(QUIRE_PCP_AUTO);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shelf_clear(&shelf);
	groups_done(groups);
	zone_done(zone, 0);
	return 0;
}

static void test_options(void **state)
{
	struct quire_zone *twice[] = { zone, zone };
	struct quire_groups_options options = { .size = sizeof(options) };
	struct quire_groups *other;

	(void)state;
	assert_int_equal(quire_groups_open(&options, &other), -EINVAL);
	options.zones = twice;
	options.nr_zones = 2;
	assert_int_equal(quire_groups_open(&options, &other), -EINVAL);
	options.nr_zones = 1;
	assert_int_equal(quire_groups_open(&options, &other), -EBUSY);
	options.lru_lock = 2;
	assert_int_equal(quire_groups_open(&options, &other), -EINVAL);
	options.lru_lock = 0;
	options.max_groups = 70000;
	assert_int_equal(quire_groups_open(&options, &other), -EINVAL);
	options.size--;
	assert_int_equal(quire_groups_open(&options, &other), -EINVAL);
}

static void test_levels(void **state)
{
	struct quire_group *a = group_in(root, 1000), *b = group_in(a, 500);
	struct quire_group *c = group_in(a, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	assert_int_equal(quire_group_charge(b, 300), 0);
	assert_int_equal(quire_group_charge(c, 1), 0);
	assert_int_equal(usage_of(b), 300);
	assert_int_equal(usage_of(c), 1);
	assert_int_equal(usage_of(a), 301);
	assert_int_equal(usage_of(root), 301);
	assert_int_equal(quire_group_charge(b, 201), -EBUSY);
	assert_int_equal(quire_group_charge(b, 200), 0);
	assert_int_equal(quire_group_charge(c, 500), -EBUSY);
	assert_int_equal(quire_group_charge(c, 499), 0);
	assert_int_equal(usage_of(a), 1000);
	assert_int_equal(quire_group_uncharge(b, 500), 0);
	assert_int_equal(quire_group_uncharge(c, 500), 0);
	assert_int_equal(usage_of(root), 0);
	assert_int_equal(quire_group_delete(a), -EBUSY);
	assert_int_equal(quire_group_delete(b), 0);
	assert_int_equal(quire_group_delete(c), 0);
	assert_int_equal(quire_group_delete(a), 0);
	assert_int_equal(quire_group_delete(root), -EINVAL);
}

static void test_no_groups_left(void **state)
{
	struct quire_group *at = root, *next;
	int depth = 0;

	(void)state;
	while (quire_group_create(at, &next) == 0) {
		at = next;
		depth++;
	}
	assert_int_equal(depth, 31);
	assert_int_equal(quire_group_create(at, &next), -ENOSPC);
}

static void test_stale(void **state)
{
	struct quire_group *a = group_in(root, 10), *b;
	uint64_t limit;

	(void)state;
	assert_int_equal(quire_group_charge(a, 3), 0);
	assert_int_equal(quire_group_delete(a), 0);
	assert_int_equal(quire_group_delete(a), -ESTALE);
	assert_int_equal(quire_group_charge(a, 1), -ESTALE);
	assert_int_equal(quire_group_create(a, &b), -ESTALE);
	assert_int_equal(quire_group_limit(a, QUIRE_GROUP_MAX, &limit),
			 -ESTALE);
	assert_int_equal(usage_of(root), 3);
	assert_int_equal(quire_group_uncharge(a, 3), 0); /* that still goes */
	assert_int_equal(usage_of(root), 0);
	assert_int_equal(quire_group_uncharge(a, 1), -ESTALE);
	b = group_in(root, 20);
	assert_ptr_not_equal(a, b);
	assert_int_equal(quire_group_charge(a, 1), -ESTALE);
	assert_int_equal(quire_group_delete(b), 0);
	assert_int_not_equal(GROUPS_COUNTER(groups, group_misuse), 0);
}

/* G2: each page that may be had can be had, and no other. */
static void small_limit(uint64_t limit)
{
	struct quire_group *group = group_in(root, limit);
	struct quire_page_request request = request_of(&shelf, 0);

	request.owner = QUIRE_OWNER_NONE;
	for (int round = 0; round < 3; round++) {
		void *page[8];

		for (uint64_t i = 0; i < limit; i++) {
			page[i] = quire_group_page_alloc(group, &request);
			assert_non_null(page[i]);
			assert_int_equal(usage_of(group), i + 1);
		}
		assert_null(quire_group_page_alloc(group, &request));
		assert_int_equal(errno, EBUSY);
		for (uint64_t i = 0; i < limit; i++)
			assert_int_equal(quire_group_page_put(groups, page[i]),
					 0);
		quire_groups_check(groups);
	}
	assert_int_equal(usage_of(group), 0);
	/* the same with pages that can be reclaimed: any number of them */
	for (uint64_t key = 0; key < 100; key++) {
		assert_non_null(shelf_add(&shelf, group, key));
		assert_true(usage_of(group) <= limit);
	}
	assert_int_equal(shelf_held(&shelf, 0, 100), limit);
	shelf_clear(&shelf);
	assert_int_equal(quire_group_delete(group), 0);
}

static void test_small_limits(void **state)
{
	(void)state;
	small_limit(1);
	small_limit(3);
	small_limit(7);
}

static void test_small_limits_in_modes(void **state)
{
	static const uint32_t modes[] = { QUIRE_PCP_LOCK, QUIRE_PCP_MASK,
					  QUIRE_PCP_OFF };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		teardown(state);
		open_pcp(modes[i]);
		small_limit(3);
	}
}

/* G1: an answer, with what is missing. */
static void test_all_pinned(void **state)
{
	struct quire_group *group = group_in(root, 100);
	size_t shortfall = 0;

	(void)state;
	for (uint64_t key = 0; key < 100; key++) {
		void *page = shelf_add(&shelf, group, key);

		assert_non_null(page);
		assert_int_equal(quire_group_page_pin(groups, page), 0);
	}
	assert_null(shelf_add(&shelf, group, 100));
	assert_int_equal(errno, EBUSY);
	assert_int_equal(quire_group_reserve(group, 30, 0, &shortfall), -EBUSY);
	assert_int_equal(shortfall, 30);
	assert_int_equal(
		quire_group_reserve(group, 101, UINT64_MAX, &shortfall),
		-EBUSY);
	assert_int_equal(quire_group_reserve(group, 1, 5, &shortfall),
			 -ETIMEDOUT);
	assert_int_equal(shortfall, 1);
	for (uint64_t key = 0; key < 100; key++)
		assert_int_equal(
			quire_group_page_unpin(groups, shelf.page[key]), 0);
	assert_non_null(shelf_add(&shelf, group, 100));
	assert_int_equal(shelf.nr_drop > 0, 1);
}

static struct quire_group *waited_for;
static uint32_t waiter_done;

static void *wait_for_room(void *arg)
{
	size_t shortfall;

	ASSERT(quire_group_reserve(waited_for, (size_t)(uintptr_t)arg,
				   UINT64_MAX, &shortfall) == 0);
	store_release(&waiter_done, 1);
	return NULL;
}

static void waits(size_t nr, void (*event)(void))
{
	pthread_t thread;

	waiter_done = 0;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_room,
					(void *)(uintptr_t)nr),
			 0);
	while (!load_relaxed(&groups->nr_waiters))
		usleep(100);
	usleep(10000);
	assert_int_equal(load_acquire(&waiter_done), 0);
	event();
	pthread_join(thread, NULL);
	assert_int_equal(quire_group_uncharge(waited_for, nr), 0);
}

static void unpin_it(void)
{
	assert_int_equal(quire_group_page_unpin(groups, shelf.page[0]), 0);
}

static void raise_limit(void)
{
	assert_int_equal(quire_group_set_limit(waited_for, QUIRE_GROUP_MAX, 12),
			 0);
}

static void uncharge_one(void)
{
	assert_int_equal(quire_group_uncharge(waited_for, 1), 0);
}

static void test_waiting_wakes(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	waited_for = group_in(root, 10);
	assert_int_equal(quire_group_charge(waited_for, 8), 0);
	for (uint64_t key = 0; key < 2; key++)
		assert_int_equal(
			quire_group_page_pin(
				groups, shelf_add(&shelf, waited_for, key)),
			0);
	waits(1, unpin_it);
	assert_non_null(shelf_add(&shelf, waited_for, 2));
	assert_int_equal(quire_group_page_pin(groups, shelf.page[2]), 0);
	waits(1, uncharge_one);
	assert_int_equal(quire_group_charge(waited_for, 1), 0);
	waits(2, raise_limit);
	assert_int_equal(quire_group_charge(waited_for, 2), 0);
	for (uint64_t key = 1; key < 3; key++)
		assert_int_equal(
			quire_group_page_unpin(groups, shelf.page[key]), 0);
	assert_int_equal(quire_group_uncharge(waited_for, 10), 0);
}

static void delete_it(void)
{
	assert_int_equal(quire_group_delete(waited_for), 0);
}

static void *wait_for_deleted(void *arg)
{
	ASSERT(quire_group_reserve(waited_for, 1, UINT64_MAX, NULL) == -ESTALE);
	return arg;
}

static void test_waiting_for_the_deleted(void **state)
{
	pthread_t thread;

	(void)state;
	if (CONFIG_UP)
		skip();
	waited_for = group_in(root, 1);
	assert_int_equal(quire_group_charge(waited_for, 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_deleted, NULL),
			 0);
	while (!load_relaxed(&groups->nr_waiters))
		usleep(100);
	delete_it();
	pthread_join(thread, NULL);
	assert_int_equal(quire_group_uncharge(waited_for, 1), 0);
}

/* Callers that want more together than there is: all finish. */
#define HALVES 8

static void *reserve_half(void *arg)
{
	for (int i = 0; i < 200; i++) {
		struct quire_page_request request = {
			.size = sizeof(request), .flags = QUIRE_GROUP_RESERVED
		};
		void *page;

		ASSERT(quire_group_reserve(waited_for, 50, UINT64_MAX, NULL) ==
		       0);
		ASSERT(group_usage(group_inside(waited_for)) <= 100);
		page = quire_group_page_alloc(waited_for, &request);
		ASSERT(page);
		ASSERT(quire_group_page_put(groups, page) == 0);
		ASSERT(quire_group_uncharge(waited_for, 49) == 0);
	}
	return arg;
}

static void test_halves(void **state)
{
	pthread_t thread[HALVES];

	(void)state;
	if (CONFIG_UP)
		skip();
	waited_for = group_in(root, 100);
	for (uint64_t key = 0; key < 100; key++)
		assert_non_null(shelf_add(&shelf, waited_for, key));
	for (int i = 0; i < HALVES; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, reserve_half, NULL),
			0);
	for (int i = 0; i < HALVES; i++)
		pthread_join(thread[i], NULL);
	shelf_clear(&shelf);
	assert_int_equal(usage_of(root), 0);
}

static void test_high(void **state)
{
	struct quire_group *group = group_in(root, QUIRE_GROUP_NO_LIMIT);
	char text[512];

	(void)state;
	assert_int_equal(quire_group_set_limit(group, QUIRE_GROUP_HIGH, 200),
			 0);
	for (uint64_t key = 0; key < 2000; key++)
		assert_non_null(shelf_add(&shelf, group, key));
	assert_true(usage_of(group) <= 200 + STOCK_PAGES);
	quire_group_print(group, QUIRE_GROUP_EVENTS, text, sizeof(text));
	assert_null(strstr(text, "high 0"));
	assert_non_null(strstr(text, "max 0"));
}

static void test_lower_limit(void **state)
{
	struct quire_group *group = group_in(root, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	for (uint64_t key = 0; key < 500; key++)
		assert_non_null(shelf_add(&shelf, group, key));
	assert_int_equal(quire_group_set_limit(group, QUIRE_GROUP_MAX, 100), 0);
	assert_true(usage_of(group) <= 100 && usage_of(group) > 90);
	for (uint64_t key = 0; key < 500; key++)
		if (shelf.page[key])
			quire_group_page_pin(groups, shelf.page[key]);
	assert_int_equal(quire_group_set_limit(group, QUIRE_GROUP_MAX, 50),
			 -EBUSY);
	assert_int_equal(quire_group_charge(group, 1), -EBUSY);
	for (uint64_t key = 0; key < 500; key++)
		if (shelf.page[key])
			quire_group_page_unpin(groups, shelf.page[key]);
	assert_int_equal(quire_group_charge(group, 1), 0);
	assert_true(usage_of(group) <= 50);
	assert_int_equal(quire_group_uncharge(group, 1), 0);
	assert_int_equal(quire_group_set_limit(root, QUIRE_GROUP_MAX, 1),
			 -EINVAL);
}

/* What a CPU keeps in stock comes back where it is needed. */
static void test_stock_comes_back(void **state)
{
	struct quire_group *a = group_in(root, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *top = group_in(root, 64);
	struct quire_group *b = group_in(top, QUIRE_GROUP_NO_LIMIT);
	struct quire_group *c = group_in(top, QUIRE_GROUP_NO_LIMIT);

	(void)state;
	assert_int_equal(quire_group_charge(a, 1), 0);
	assert_int_equal(usage_of(a), 1);
	assert_int_equal(quire_group_charge(b, 1), 0); /* and 63 in stock */
	assert_int_equal(usage_of(top), 1);
	assert_int_equal(quire_group_charge(c, 63), 0);
	assert_int_equal(usage_of(top), 64);
	assert_int_equal(quire_group_charge(b, 1), -EBUSY);
	assert_int_equal(quire_group_uncharge(a, 1), 0);
	assert_int_equal(quire_group_uncharge(b, 1), 0);
	assert_int_equal(quire_group_uncharge(c, 63), 0);
	assert_int_equal(usage_of(root), 0);
}

static void test_pages_that_are_none(void **state)
{
	struct quire_page_request request = request_of(&shelf, 1);
	char *page = shelf_add(&shelf, root, 1);
	char *other = quire_page_alloc(zone, 0);
	char here;

	(void)state;
	assert_int_equal(quire_group_page_put(groups, &here), -EFAULT);
	assert_int_equal(quire_group_page_touch(groups, page + 1), -EFAULT);
	assert_int_equal(quire_group_page_put(groups, other), -EFAULT);
	assert_int_equal(quire_group_page_add(groups, page), -EALREADY);
	assert_int_equal(quire_group_page_unpin(groups, page), -EINVAL);
	assert_int_equal(quire_group_page_put_back(groups, page), -EINVAL);
	assert_int_equal(quire_owner_remove(groups, shelf.owner), -EBUSY);
	request.owner = 9;
	assert_null(quire_group_page_alloc(root, &request));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(quire_block_free(zone, other), 0);
}

/* Only the group frees what is charged to it. */
static void test_freed_past_the_group(void **state)
{
	struct quire_page_request request = request_of(&shelf, 1);
	void *page = shelf_add(&shelf, root, 0), *pages[] = { page, page };
	char *block;

	(void)state;
	assert_int_equal(quire_block_free(zone, page), -EINVAL);
	assert_int_equal(quire_block_free_bulk(zone, 2, pages), -EINVAL);
	assert_int_equal(quire_block_free_many(zone, 1, pages, NULL), -EINVAL);
	assert_int_equal(quire_range_free(zone, page, 1), -EINVAL);
	request.order = 9;
	block = shelf_make(&shelf, root, &request);
	assert_non_null(block);
	assert_int_equal(quire_block_free(zone, block), -EINVAL);
	assert_int_equal(quire_block_free(zone, block + PAGE_SIZE), -EINVAL);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 7);
	request.order = QUIRE_GROUP_MAX_ORDER + 1;
	assert_null(quire_group_page_alloc(root, &request));
	quire_zone_check(zone);
	quire_groups_check(groups);
}

static void test_close_with_pages(void **state)
{
	struct quire_page_request request = { .size = sizeof(request),
					      .order = 3 };
	void *block = quire_group_page_alloc(root, &request);

	assert_int_equal(quire_groups_close(groups), 8);
	quire_zone_check(zone);
	assert_int_equal(quire_block_free(zone, block), 0);
	groups = groups_plain(&zone);
	shelf_open(&shelf, groups);
	(void)state;
}

static void test_text(void **state)
{
	char text[2048], small[10];
	int length;

	(void)state;
	for (uint64_t key = 0; key < 3; key++)
		shelf_add(&shelf, root, key);
	quire_groups_drain(groups);
	length = quire_group_print(root, QUIRE_GROUP_STAT, text, sizeof(text));
	assert_int_equal(length, strlen(text));
	assert_int_equal(quire_group_print(root, QUIRE_GROUP_STAT, small, 10),
			 length);
	assert_int_equal(strlen(small), 9);
	assert_non_null(strstr(text, "\nfile 12288\n"));
	assert_non_null(strstr(text, "\ninactive_file 12288\n"));
	assert_non_null(strstr(text, "\npgscan 0\n"));
	quire_group_print(root, QUIRE_GROUP_EVENTS, text, sizeof(text));
	assert_string_equal(text, "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_options),
		T(test_levels),
		T(test_no_groups_left),
		T(test_stale),
		T(test_small_limits),
		T(test_small_limits_in_modes),
		T(test_all_pinned),
		T(test_waiting_wakes),
		T(test_waiting_for_the_deleted),
		T(test_halves),
		T(test_high),
		T(test_lower_limit),
		T(test_stock_comes_back),
		T(test_pages_that_are_none),
		T(test_freed_past_the_group),
		T(test_close_with_pages),
		T(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
