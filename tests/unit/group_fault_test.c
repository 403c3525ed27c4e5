/* SPDX-License-Identifier: MIT */
/*
 * The system refuses: the n-th call, for each n until opening succeeds, each
 * failure clean; then threads, and the membarrier that draining needs.
 */
#include "groups.h"

static struct quire_zone *zone;
static struct shelf shelf;

static int setup(void **state)
{
	(void)state;
	faulty_start(&os_kernel);
	zone = zone_of_numbers(32 * MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	faulty_arm(0, FAULTY_ALL);
	zone_done(zone, 0);
	faulty_stop();
	return 0;
}

static void test_open(void **state)
{
	struct quire_groups_options options = { .size = sizeof(options),
						.zones = &zone,
						.nr_zones = 1 };
	struct quire_groups *groups = NULL;
	size_t before = anonymous_bytes();
	unsigned int nr;
	int error;

	(void)state;
	for (nr = 1;; nr++) {
		faulty_arm(nr, FAULTY_MAP);
		error = quire_groups_open(&options, &groups);
		if (!error)
			break;
		assert_int_equal(error, -ENOMEM);
		assert_null(groups);
		assert_int_equal(anonymous_bytes(), before);
	}
	assert_true(nr > 5);
	groups_done(groups);
	assert_int_equal(anonymous_bytes(), before);
}

static void fill_zone(struct quire_groups *groups)
{
	shelf_open(&shelf, groups);
	for (uint64_t key = 0; key < 20000; key++)
		assert_non_null(
			shelf_add(&shelf, quire_groups_root(groups), key));
	shelf_clear(&shelf);
}

static void test_no_thread(void **state)
{
	struct quire_groups_options options = { .size = sizeof(options),
						.zones = &zone,
						.nr_zones = 1,
						.flags = QUIRE_GROUPS_STRICT };
	struct quire_groups *groups;

	(void)state;
	if (CONFIG_UP)
		skip();
	faulty_arm_from(1, FAULTY_THREAD);
	assert_int_equal(quire_groups_open(&options, &groups), -EOPNOTSUPP);
	options.flags = 0;
	assert_int_equal(quire_groups_open(&options, &groups), 0);
	fill_zone(groups);
	assert_int_not_equal(GROUPS_COUNTER(groups, group_thread_refused), 0);
	assert_int_not_equal(GROUPS_COUNTER(groups, group_direct), 0);
	faulty_arm(0, FAULTY_ALL);
	groups_done(groups);
}

static void test_no_rseq(void **state)
{
	struct quire_groups_options options = { .size = sizeof(options),
						.zones = &zone,
						.nr_zones = 1,
						.pcp = QUIRE_PCP_RSEQ,
						.flags = QUIRE_GROUPS_STRICT };
	struct quire_groups_facts facts = { .size = sizeof(facts) };
	struct quire_groups *groups;

	(void)state;
	if (CONFIG_UP)
		skip();
	faulty_arm_from(1, FAULTY_RSEQ);
	assert_int_equal(quire_groups_open(&options, &groups), -EOPNOTSUPP);
	options.flags = 0;
	assert_int_equal(quire_groups_open(&options, &groups), 0);
	quire_groups_describe(groups, &facts);
	assert_int_equal(facts.pcp, QUIRE_PCP_LOCK);
	assert_int_equal(GROUPS_COUNTER(groups, group_fallback), 1);
	fill_zone(groups);
	groups_done(groups);
}

/* Stocks and batches of other CPUs cannot be had: then not, but no harm. */
static void test_no_membarrier(void **state)
{
	struct quire_groups *groups = groups_plain(&zone);
	struct quire_group *group = group_in(quire_groups_root(groups), 100);

	(void)state;
	if (CONFIG_UP || !PERCPU_HAVE_RSEQ)
		skip();
	shelf_open(&shelf, groups);
	faulty_arm_from(1, FAULTY_RESTART);
	for (uint64_t key = 0; key < 500; key++)
		assert_non_null(shelf_add(&shelf, group, key));
	assert_int_equal(quire_group_delete(group), 0);
	quire_groups_drain(groups);
	faulty_arm(0, FAULTY_ALL);
	shelf_clear(&shelf);
	groups_done(groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(test_open),
		T(test_no_thread),
		T(test_no_rseq),
		T(test_no_membarrier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
