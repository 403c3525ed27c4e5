/* SPDX-License-Identifier: MIT */
/*
 * What benches compute with: the histogram of fault latencies, and series.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench_faulter.h"
#include "bench_series.h"

static void buckets_are_narrow(void **state)
{
	uint64_t ns;

	(void)state;
	for (ns = 1; ns < (uint64_t)1 << 62; ns += 1 + ns / 7) {
		double v = faulter_value(faulter_bucket(ns));

		assert_true(fabs(v - (double)ns) <= 0.0157 * (double)ns + 0.5);
	}
}

static void buckets_do_not_overlap(void **state)
{
	unsigned int last = 0, bucket;
	uint64_t ns;

	(void)state;
	for (ns = 0; ns < 100000; ns++) {
		bucket = faulter_bucket(ns);
		assert_true(bucket == last || bucket == last + 1);
		last = bucket;
	}
	assert_true(faulter_bucket(UINT64_MAX) < 64 * 32);
}

static void series_keep_order(void **state)
{
	struct series_set set = { 0 };
	struct series_key a = { "b", "first", "v", "time" };
	struct series_key z = { "b", "second", "v", "time" };

	(void)state;
	series_declare(&set, &a);
	series_add(&set, &z, 4);
	series_add(&set, &a, 2);
	series_add(&set, &a, NAN);
	series_add(&set, &a, 3);
	assert_int_equal(set.nr, 2);
	assert_string_equal(set.list[0].name, "first");
	assert_true(series_median(series_find(&set, &a)) == 2.5);
	assert_true(series_median(series_find(&set, &z)) == 4);
	z.variant = "w";
	assert_null(series_find(&set, &z));
	assert_true(isnan(series_median(NULL)));
	a.metric = "nosuch";
	series_add(&set, &a, 1);
	assert_int_equal(set.nr, 2);
	series_free(&set);
}

static void series_against_nothing(void **state)
{
	double v[] = { 1, 2, 3, 4, 5 };
	struct series s = { .nr = 5, .v = v };
	struct comparison c;

	(void)state;
	series_compare(&s, NULL, &c);
	assert_true(c.median == 3 && isnan(c.against.ratio));
	assert_int_equal(c.verdict, VERDICT_UNKNOWN);
	series_compare(NULL, &s, &c);
	assert_true(isnan(c.median));
	series_compare(&s, &s, &c);
	assert_true(c.against.ratio == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_narrow),
		cmocka_unit_test(buckets_do_not_overlap),
		cmocka_unit_test(series_keep_order),
		cmocka_unit_test(series_against_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
