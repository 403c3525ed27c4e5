/* SPDX-License-Identifier: MIT */
/*
 * What benches compute with: the histogram of fault latencies, and series.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench_faulter.h"
#include "bench_line.h"
#include "bench_options.h"
#include "bench_page.h"
#include "bench_pages.h"
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

/* Whole cycles, and nanoseconds that are cut and not rounded. */
static void lines_of_time_bench(void **state)
{
	struct bench_line l = { .name = "t",
				.step = 9,
				.ns = 5341799999,
				.cycles = 21399999999,
				.nr = 100000000 };
	char text[512], small[16];
	int n;

	(void)state;
	n = bench_line(&l, text, sizeof(text));
	assert_string_equal(
		text, "Type:t Per elem: 213 cycles(tsc) 53.417 ns (step:9) - "
		      "(measurement period time:5.341799999 sec "
		      "time_interval:5341799999) - (invoke count:100000000 "
		      "tsc_interval:21399999999)");
	assert_int_equal(n, strlen(text));
	assert_int_equal(bench_line(&l, small, sizeof(small)), n);
	l.ns = 1999;
	l.nr = 1000;
	bench_line(&l, text, sizeof(text));
	assert_non_null(strstr(text, " 1.999 ns "));
	l.ns = 4294967295999;
	l.nr = 4294967296;
	bench_line(&l, text, sizeof(text));
	assert_non_null(strstr(text, " 999.999 ns "));
}

static void lists_of_options(void **state)
{
	struct bench_options o = { .variants = NULL };

	(void)state;
	assert_true(page_listed(NULL, "any"));
	assert_true(page_listed("a,bc", "bc"));
	assert_false(page_listed("a,bc", "b"));
	assert_false(page_listed("", "b"));
	assert_int_equal(page_check(&o), 0);
	o.variants = "single,cross-aged,reserve:1T,tests";
	o.cases = "quire,mempool-inline";
	assert_int_equal(page_check(&o), 0);
	assert_true(pages_is_body("pages-pick-aged"));
	assert_true(pages_is_body("pages"));
	assert_false(pages_is_body("pages-"));
	assert_false(pages_is_body("-aged"));
	assert_false(pages_is_body("kernel"));
}

/* Each option is foreign to the benches that do not have it. */
static void options_of_others(void **state)
{
	char words[][16] = { "bench", "-n", "3", "--cases", "x", "page_bench" };
	char *argv[7] = { NULL };
	struct bench_foreign foreign;
	struct bench_options o;
	const char *name;
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		argv[i] = words[i];
	assert_int_equal(bench_options_read(&o, 6, argv, &name, &foreign), -1);
	assert_string_equal(name, "page_bench");
	assert_int_equal(o.rounds, 3);
	assert_null(foreign.option[0]); /* bigfree */
	assert_string_equal(foreign.option[1], "cases");
	assert_null(foreign.option[2]); /* page_bench */
	assert_string_equal(foreign.option[3], "cases");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_narrow),
		cmocka_unit_test(buckets_do_not_overlap),
		cmocka_unit_test(series_keep_order),
		cmocka_unit_test(series_against_nothing),
		cmocka_unit_test(lines_of_time_bench),
		cmocka_unit_test(lists_of_options),
		cmocka_unit_test(options_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
