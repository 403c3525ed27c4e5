/* SPDX-License-Identifier: MIT */
/*
 * Groups that go: with clean, dirty, pinned, isolated, batched pages and with
 * charges (X8); again and again without growing; and a fork.
 */
#include "groups.h"

static struct quire_zone *zone;
static struct quire_groups *groups;
static struct quire_group *root, *parent, *group;
static struct shelf shelf;

static int setup(void **state)
{
	(void)state;
	zone = zone_of_numbers(64 * MIB);
	groups = groups_over(&zone, 1,
			     (struct quire_groups_options){ .max_groups = 8 });
	root = quire_groups_root(groups);
	parent = group_in(root, QUIRE_GROUP_NO_LIMIT);
	group = group_in(parent, QUIRE_GROUP_NO_LIMIT);
	shelf_open(&shelf, groups);
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

static uint32_t nr_deleted(void)
{
	struct quire_groups_facts facts = { .size = sizeof(facts) };

	assert_int_equal(quire_groups_describe(groups, &facts), 0);
	return facts.nr_deleted;
}

static void delete_it(void)
{
	assert_int_equal(quire_group_delete(group), 0);
	quire_groups_check(groups);
}

static void test_listed(void **state)
{
	(void)state;
	for (uint64_t key = 0; key < 200; key++)
		shelf_add(&shelf, group, key);
	quire_groups_drain(groups);
	for (uint64_t key = 0; key < 50; key++) {
		shelf.dirty[key] = 1;
		quire_group_page_touch(groups, shelf.page[key]);
		quire_group_page_touch(groups, shelf.page[key]);
	}
	quire_groups_drain(groups);
	quire_group_page_set_evictable(groups, shelf.page[60], 0);
	delete_it();
	assert_int_equal(nr_deleted(), 0);
	assert_int_equal(usage_of(parent), 200);
	assert_int_equal(facts_of(parent).active_pages[0], 50);
	assert_int_equal(facts_of(parent).inactive_pages[0], 149);
	assert_int_equal(facts_of(parent).unevictable_pages, 1);
	assert_int_equal(quire_group_reclaim(parent, 1000), 199);
	assert_int_equal(GROUPS_COUNTER(groups, group_moved), 200);
}

/* X8: in the batches of CPUs. */
static void test_batched(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip(); /* nothing is collected there */
	for (uint64_t key = 0; key < 10; key++)
		shelf_add(&shelf, group, key);
	delete_it();
	assert_int_equal(nr_deleted(), 1);
	assert_int_equal(usage_of(parent), 10);
	quire_groups_drain(groups);
	quire_groups_check(groups);
	assert_int_equal(nr_deleted(), 0);
	assert_int_equal(facts_of(parent).inactive_pages[0], 10);
}

static void test_pinned_and_isolated(void **state)
{
	(void)state;
	for (uint64_t key = 0; key < 3; key++)
		shelf_add(&shelf, group, key);
	quire_groups_drain(groups);
	quire_group_page_pin(groups, shelf.page[0]);
	quire_group_page_isolate(groups, shelf.page[1]);
	delete_it();
	assert_int_equal(nr_deleted(), 1); /* for the isolated one */
	assert_int_equal(facts_of(parent).inactive_pages[0], 2);
	assert_int_equal(quire_group_page_put_back(groups, shelf.page[1]), 0);
	assert_int_equal(nr_deleted(), 0);
	quire_group_page_unpin(groups, shelf.page[0]);
	assert_int_equal(facts_of(parent).inactive_pages[0], 3);
	/* freed while it is isolated */
	assert_int_equal(quire_group_page_isolate(groups, shelf.page[2]), 0);
	assert_int_equal(quire_group_page_put(groups, shelf.page[2]), 0);
	shelf_remove(&shelf, 2);
	assert_int_equal(facts_of(parent).isolated_pages, 0);
}

/* Never added, in a chain of dead groups; and charges without pages. */
static void test_chain(void **state)
{
	struct quire_group *low = group_in(group, QUIRE_GROUP_NO_LIMIT);
	struct quire_page_request request = request_of(&shelf, 1);
	void *page = quire_group_page_alloc(low, &request);

	(void)state;
	assert_int_equal(quire_group_charge(group, 5), 0);
	assert_int_equal(quire_group_delete(low), 0);
	delete_it();
	assert_int_equal(quire_group_delete(parent), 0);
	quire_groups_check(groups);
	assert_int_equal(nr_deleted(), 3);
	assert_int_equal(usage_of(root), 6);
	shelf.page[1] = page;
	assert_int_equal(quire_group_page_add(groups, page), 0);
	quire_groups_drain(groups);
	quire_groups_check(groups);
	assert_int_equal(nr_deleted(), 2);
	assert_int_equal(facts_of(root).inactive_pages[0], 1);
	assert_int_equal(quire_group_uncharge(group, 5), 0);
	assert_int_equal(nr_deleted(), 0);
	assert_int_equal(usage_of(root), 1);
}

/* 10^5 times, with pages that stay behind in all ways: nothing grows. */
static void test_again_and_again(void **state)
{
	struct quire_groups_facts before = { .size = sizeof(before) }, after;

	(void)state;
	quire_groups_describe(groups, &before);
	for (unsigned int i = 0; i < 100000; i++) {
		uint64_t key = i % 64;

		if (shelf.page[key])
			shelf_remove(&shelf, key);
		if (quire_group_create(parent, &group)) {
			/* those that wait for pages in batches */
			quire_groups_drain(groups);
			assert_int_equal(quire_group_create(parent, &group), 0);
		}
		shelf_add(&shelf, group, key);
		if (i % 3 == 0)
			quire_groups_drain(groups);
		assert_int_equal(quire_group_delete(group), 0);
	}
	quire_groups_drain(groups);
	quire_groups_check(groups);
	after = before;
	quire_groups_describe(groups, &after);
	assert_int_equal(after.nr_groups, before.nr_groups);
	assert_int_equal(after.nr_deleted, 0);
	assert_int_equal(after.metadata_bytes, before.metadata_bytes);
	assert_int_equal(usage_of(parent), shelf_held(&shelf, 0, 64));
	assert_int_equal(GROUPS_COUNTER(groups, group_deleted), 100000);
}

static void test_stocks(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip(); /* nothing is collected there */
	assert_int_equal(quire_group_charge(group, 1), 0);
	assert_int_equal(quire_group_uncharge(group, 1), 0);
	assert_int_not_equal(group_usage(group_inside(group)), 0);
	delete_it();
	assert_int_equal(nr_deleted(), 0);
	assert_int_equal(group_usage(group_inside(root)), 0);
}

/* ---- fork ---- */

static void child_goes_on(void *arg)
{
	(void)arg;
	CHILD_CHECK(usage_of(group) == 20);
	quire_groups_check(groups);
	for (uint64_t key = 20; key < 200; key++)
		CHILD_CHECK(shelf_add(&shelf, group, key));
	quire_groups_drain(groups);
	quire_groups_check(groups);
	CHILD_CHECK(quire_group_reclaim(group, 100) == 100);
	CHILD_CHECK(quire_group_delete(group) == 0);
	CHILD_CHECK(usage_of(parent) == 100);
	quire_groups_check(groups);
}

static void test_fork(void **state)
{
	struct quire_zone *other = zone_of_numbers(32 * MIB);
	struct quire_groups *second = groups_plain(&other);

	(void)state;
	for (uint64_t key = 0; key < 20; key++)
		shelf_add(&shelf, group, key);
	assert_int_equal(in_child_of(child_goes_on, NULL), 0);
	assert_int_equal(usage_of(group), 20);
	assert_int_equal(quire_groups_close(second), 0);
	zone_done(other, 0);
}

static uint32_t stop;

static void *churn(void *arg)
{
	uint64_t from = 1000 + 1000 * (uint64_t)(uintptr_t)arg, key = from;

	while (!load_acquire(&stop)) {
		if (shelf.page[key])
			shelf_remove(&shelf, key);
		ASSERT(shelf_add(&shelf, group, key));
		key = key + 1 < from + 500 ? key + 1 : from;
	}
	return NULL;
}

static void child_uses_it(void *arg)
{
	(void)arg;
	for (uint64_t key = 0; key < 100; key++)
		CHILD_CHECK(shelf_add(&shelf, parent, key));
	quire_groups_drain(groups);
	CHILD_CHECK(quire_group_reclaim(root, 10) == 10);
}

static void test_fork_under_way(void **state)
{
	pthread_t thread[2];

	(void)state;
	if (CONFIG_UP || UNDER_TSAN)
		skip();
	stop = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, churn, (void *)(uintptr_t)i);
	for (int i = 0; i < 100; i++)
		assert_int_equal(in_child_of(child_uses_it, NULL), 0);
	store_release(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_listed),
		T(test_batched),
		T(test_pinned_and_isolated),
		T(test_chain),
		T(test_again_and_again),
		T(test_stocks),
		T(test_fork),
		T(test_fork_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
