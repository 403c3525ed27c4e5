/* SPDX-License-Identifier: MIT */
/* What the tests of regions have in common: the spy under everything, and the
 * walker after each test. */
#ifndef TESTS_UNIT_REGION_FIXTURE_H
#define TESTS_UNIT_REGION_FIXTURE_H

#include "spy.h"

#include <quire/quire.h>

#include "region/area.h"

static inline struct quire_region_options plain(void)
{
	return (struct quire_region_options){
		.size = sizeof(struct quire_region_options),
		.flags = QUIRE_REGION_NO_LIMIT,
	};
}

static inline struct quire_region *open_with(
	size_t bytes, struct quire_region_options options)
{
	struct quire_region *region;

	assert_int_equal(quire_region_open(bytes, &options, &region), 0);
	area_check();
	return region;
}

static inline struct quire_region *open_plain(size_t bytes)
{
	return open_with(bytes, plain());
}

static inline void close_it(struct quire_region *region)
{
	assert_int_equal(quire_region_close(region), 0);
	area_check();
}

static inline uint64_t count(enum quire_counter which)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	quire_region_counters(counter);
	return counter[which];
}

#define COUNTER_OF(name) count(QUIRE_COUNTER_##name)

static inline struct quire_region_facts facts_of(struct quire_region *region)
{
	struct quire_region_facts facts = { .size = sizeof(facts) };

	assert_int_equal(quire_region_describe(region, &facts), 0);
	return facts;
}

static inline int in_child(void (*body)(void *), void *arg)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		body(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

#define CHILD_ASSERT(c)                                                        \
	do {                                                                   \
		if (!(c)) {                                                    \
			fprintf(stderr, "child: %s, line %d\n", #c, __LINE__); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

static inline int setup(void **state)
{
	(void)state;
	spy_start(&os_kernel);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	pool_stop(true);
	os = &os_kernel;
	area_check();
	assert_true(list_empty(area_all()));
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif /* TESTS_UNIT_REGION_FIXTURE_H */
