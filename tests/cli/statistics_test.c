/* SPDX-License-Identifier: MIT */
/*
 * Medians and intervals: exact on small input, the same on the same input,
 * and honest: on synthetic data whose true ratio is known, the 95 % interval
 * has to hold it about that often.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "statistics.h"

static void medians(void **state)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };

	(void)state;
	assert_true(statistics_median(odd, 3) == 2);
	assert_true(odd[0] == 3);
	assert_true(statistics_median(even, 4) == 2.5);
	assert_true(statistics_median(one, 1) == 7);
	assert_true(isnan(statistics_median(one, 0)));
}

static void same_input_same_answer(void **state)
{
	double a[] = { 5, 6, 7, 5.5, 6.5, 8, 5.2 };
	double b[] = { 9, 8, 10, 9.5, 8.5, 9, 11 };
	struct interval x, y;

	(void)state;
	statistics_ratio(a, 7, b, 7, 42, &x);
	statistics_ratio(a, 7, b, 7, 42, &y);
	assert_true(x.ratio == y.ratio && x.low == y.low && x.high == y.high);
	assert_true(x.low <= x.ratio && x.ratio <= x.high);
	assert_true(x.ratio == 6.0 / 9);
	assert_int_equal(statistics_verdict(&x), VERDICT_LESS);
}

static void too_few_claim_nothing(void **state)
{
	double a[] = { 1, 1, 1, 1, 1 }, b[] = { 9, 9, 9, 9, 9 };
	struct interval i;

	(void)state;
	statistics_ratio(a, 4, b, 5, 1, &i);
	assert_true(i.ratio == 1.0 / 9);
	assert_true(isnan(i.low) && isnan(i.high));
	assert_int_equal(statistics_verdict(&i), VERDICT_UNKNOWN);
	statistics_ratio(a, 5, b, 5, 1, &i);
	assert_int_equal(statistics_verdict(&i), VERDICT_LESS);
	statistics_ratio(a, 0, b, 5, 1, &i);
	assert_true(isnan(i.ratio));
}

static void unknown_samples_are_left_out(void **state)
{
	double a[] = { NAN, 2, 2, 2, NAN, 2, 2 }, b[] = { 1, 1, 1, 1, 1 };
	struct interval i;

	(void)state;
	statistics_ratio(a, 7, b, 5, 1, &i);
	assert_true(i.ratio == 2 && i.low == 2 && i.high == 2);
	assert_int_equal(statistics_verdict(&i), VERDICT_MORE);
}

static void zeros(void **state)
{
	double none[5] = { 0 }, some[] = { 1, 1, 1, 1, 1 };
	struct interval i;

	(void)state;
	statistics_ratio(none, 5, none, 5, 1, &i);
	assert_true(i.ratio == 1);
	assert_int_equal(statistics_verdict(&i), VERDICT_SAME);
	statistics_ratio(none, 5, some, 5, 1, &i);
	assert_int_equal(statistics_verdict(&i), VERDICT_LESS);
	statistics_ratio(some, 5, none, 5, 1, &i);
	assert_int_equal(statistics_verdict(&i), VERDICT_MORE);
}

static void within_one_percent_is_no_difference(void **state)
{
	double a[] = { 100.5, 100.6, 100.4, 100.5, 100.5 };
	double b[] = { 100, 100, 100, 100, 100 };
	struct interval i;

	(void)state;
	statistics_ratio(a, 5, b, 5, 1, &i);
	assert_true(i.low > 1);
	assert_int_equal(statistics_verdict(&i), VERDICT_SAME);
}

/* A run time: a floor and a tail upward. */
static double run_time(uint64_t *rng, double floor)
{
	double u = (statistics_random(rng, 1u << 30) + 0.5) / (1u << 30);

	return floor * (1 - 0.05 * log(u));
}

/* How often, in percent, the interval of @n samples holds the true ratio. */
static int coverage(double truth, size_t n, int *wrong_claims)
{
	enum { TRIALS = 400 };
	uint64_t rng = 99;
	double a[16], b[16];
	struct interval i;
	int t, held = 0;
	size_t k;

	*wrong_claims = 0;
	for (t = 0; t < TRIALS; t++) {
		for (k = 0; k < n; k++) {
			a[k] = run_time(&rng, truth);
			b[k] = run_time(&rng, 1);
		}
		statistics_ratio(a, n, b, n, (uint64_t)t, &i);
		held += i.low <= truth && truth <= i.high;
		*wrong_claims += statistics_verdict(&i) != VERDICT_SAME;
	}
	return held * 100 / TRIALS;
}

static void intervals_hold_the_truth(void **state)
{
	int wrong;

	(void)state;
	assert_in_range(coverage(1.0, 7, &wrong), 90, 100);
	/* claims of a difference where there is none: under 5 in 100 */
	assert_in_range(wrong, 0, 20);
	assert_in_range(coverage(0.8, 7, &wrong), 90, 100);
	assert_in_range(coverage(1.0, 5, &wrong), 88, 100);
	assert_in_range(coverage(1.2, 15, &wrong), 90, 100);
}

static void many_comparisons_need_more(void **state)
{
	double a[] = { 1, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12 };
	double b[] = { 1, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12 };
	struct interval one, six, again;

	(void)state;
	statistics_ratio_among(a, 7, b, 7, 1, &one);
	statistics_ratio_among(a, 7, b, 7, 6, &six);
	statistics_ratio_among(a, 7, b, 7, 6, &again);
	assert_true(six.low < one.low && one.high < six.high);
	assert_true(six.low == again.low && six.high == again.high);
}

static void random_numbers_spread(void **state)
{
	unsigned int seen[7] = { 0 }, i;
	uint64_t rng = 3;

	(void)state;
	for (i = 0; i < 7000; i++)
		seen[statistics_random(&rng, 7)]++;
	for (i = 0; i < 7; i++)
		assert_in_range(seen[i], 850, 1150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(medians),
		cmocka_unit_test(same_input_same_answer),
		cmocka_unit_test(too_few_claim_nothing),
		cmocka_unit_test(unknown_samples_are_left_out),
		cmocka_unit_test(zeros),
		cmocka_unit_test(within_one_percent_is_no_difference),
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(many_comparisons_need_more),
		cmocka_unit_test(random_numbers_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
