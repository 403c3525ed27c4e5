/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of CPUs' lists, as Linux 6.8 has it: each vector was worked
 * out apart from the code.  A list of 63 pages at a time if nothing else is
 * said; the names of the cases say what is told to the functions.
 */
#include "region.h"

#include "base/bits.h"
#include "page/tune.h"

#define STEPS 32

static struct tune tune_of(int high, int high_min, int high_max, int free_count)
{
	return (struct tune){ .batch = 63,
			      .high = high,
			      .high_min = high_min,
			      .high_max = high_max,
			      .free_count = free_count,
			      .scale_max = 5 };
}

/* Which pages are picked: "M1 R1 …", 1 is the oldest of its list */

static const char *spell(const struct tune_step *step, int nr_steps)
{
	static const char name[] = "UMR";
	static char text[256];
	int before[3] = { 0 };
	char *at = text;

	*at = 0;
	for (int i = 0; i < nr_steps; i++)
		for (int n = 0; n < step[i].nr; n++)
			at += sprintf(at, "%s%c%d", at == text ? "" : " ",
				      name[step[i].list],
				      ++before[step[i].list]);
	return text;
}

struct pick_case {
	int count[3];
	int nr, start;
	const char *picked;
};

static void pick_in_turn(void **state)
{
	static const struct pick_case cases[] = {
		{ { 5, 5, 5 }, 9, 0, "M1 R1 U1 M2 R2 U2 M3 R3 U3" },
		{ { 10, 0, 10 }, 6, 0, "R1 R2 U1 R3 R4 U2" },
		{ { 0, 10, 0 }, 6, 0, "M1 M2 M3 M4 M5 M6" },
		{ { 0, 0, 0 }, 6, 0, "" },
		{ { 3, 0, 0 }, 99, 0, "U1 U2 U3" },
		{ { 3, 1, 1 }, 0, 0, "" },
	};
	struct tune_step step[STEPS];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pick_case *c = &cases[i];
		int nr = tune_pick_2018(c->count, 3, c->nr, step, STEPS);

		assert_string_equal(spell(step, nr), c->picked);
	}
}

static void pick_one_after_the_other(void **state)
{
	static const struct pick_case cases[] = {
		{ { 2, 5, 5 }, 9, 1, "M1 M2 M3 M4 M5 R1 R2 R3 R4" },
		{ { 2, 5, 5 }, 99, 2, "R1 R2 R3 R4 R5 U1 U2 M1 M2 M3 M4 M5" },
		{ { 0, 0, 2 }, 1, 0, "R1" },
		{ { 0, 0, 0 }, 9, 2, "" },
	};
	struct tune_step step[STEPS];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pick_case *c = &cases[i];
		int nr = tune_pick_today(c->count, 3, c->nr, c->start, step,
					 STEPS);

		assert_string_equal(spell(step, nr), c->picked);
	}
}

/* As many steps as there is room for, and they are the first. */
static void pick_with_little_room(void **state)
{
	static const int count[] = { 5, 5, 5 };
	struct tune_step step[STEPS];

	(void)state;
	assert_int_equal(tune_pick_2018(count, 3, 9, step, 4), 4);
	assert_string_equal(spell(step, 4), "M1 R1 U1 M2");
	assert_int_equal(tune_pick_today(count, 3, 9, 0, step, 1), 1);
	assert_string_equal(spell(step, 1), "U1 U2 U3 U4 U5");
}

/* How many at a time, by the size of the zone */

static void batch_by_size(void **state)
{
	static const struct {
		uint64_t mib;
		int batch;
	} cases[] = { { 1, 0 },	    { 4, 0 },	     { 16, 0 },	   { 64, 3 },
		      { 256, 15 },  { 512, 31 },     { 1024, 63 }, { 2048, 63 },
		      { 4096, 63 }, { 1u << 24, 63 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(tune_batch(cases[i].mib << 8), cases[i].batch);
	assert_int_equal(tune_batch(0), 0);
}

/* Refills in a row */

struct refill {
	int nr, high, factor;
};

static void expect_refills(struct tune *tune, enum tune_zone zone,
			   const struct refill *refill, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(tune_nr_alloc(tune, 0, 0, zone), refill[i].nr);
		assert_int_equal(tune->high, refill[i].high);
		assert_int_equal(tune->alloc_factor, refill[i].factor);
		tune_note_alloc(tune);
	}
}

static void refill_auto(void **state)
{
	static const struct refill refills[] = {
		{ 63, 315, 1 },	   { 126, 441, 2 },   { 252, 693, 3 },
		{ 504, 1197, 4 },  { 1008, 2205, 5 }, { 2016, 4221, 5 },
		{ 2016, 6237, 5 }, { 2016, 8064, 5 }, { 2016, 8064, 5 },
	};
	struct tune tune = tune_of(252, 252, 8064, 0);

	(void)state;
	expect_refills(&tune, TUNE_NORMAL, refills, ARRAY_SIZE(refills));
}

static void refill_manual(void **state)
{
	static const struct refill refills[] = {
		{ 63, 378, 1 },	 { 126, 378, 2 }, { 252, 378, 3 },
		{ 315, 378, 3 }, { 315, 378, 3 }, { 315, 378, 3 },
	};
	struct tune tune = tune_of(378, 378, 378, 0);

	(void)state;
	expect_refills(&tune, TUNE_NORMAL, refills, ARRAY_SIZE(refills));
}

static void refill_below_high(void **state)
{
	static const struct refill refills[] = {
		{ 63, 252, 1 },	 { 126, 252, 2 }, { 189, 252, 2 },
		{ 189, 252, 2 }, { 189, 252, 2 },
	};
	struct tune tune = tune_of(252, 252, 8064, 0);

	(void)state;
	expect_refills(&tune, TUNE_BELOW_HIGH, refills, ARRAY_SIZE(refills));
}

static void refill_disabled(void **state)
{
	static const struct refill refills[] = { { 1, 0, 0 },
						 { 1, 0, 0 },
						 { 1, 0, 0 } };
	struct tune tune = tune_of(0, 0, 0, 0);

	(void)state;
	expect_refills(&tune, TUNE_NORMAL, refills, ARRAY_SIZE(refills));
}

static void refill_after_a_free(void **state)
{
	struct tune tune = tune_of(252, 252, 8064, 0);

	(void)state;
	for (int i = 0; i < 5; i++)
		tune_nr_alloc(&tune, 0, 0, TUNE_NORMAL);
	assert_int_equal(tune.alloc_factor, 5);
	tune_note_free(&tune, 0);
	assert_int_equal(tune.alloc_factor, 2);
	assert_int_equal(tune_nr_alloc(&tune, 0, 0, TUNE_NORMAL), 252);
}

/* Blocks, not pages; two at least; the factor is that of single pages. */
static void refill_large(void **state)
{
	struct tune tune = tune_of(252, 252, 8064, 0);

	(void)state;
	assert_int_equal(tune_nr_alloc(&tune, 1, 0, TUNE_NORMAL), 31);
	assert_int_equal(tune.high, 315);
	assert_int_equal(tune_nr_alloc(&tune, 3, 0, TUNE_NORMAL), 7);
	assert_int_equal(tune_nr_alloc(&tune, 9, 0, TUNE_NORMAL), 2);
	assert_int_equal(tune.alloc_factor, 0);
	tune = tune_of(0, 0, 0, 0);
	assert_int_equal(tune_nr_alloc(&tune, 9, 0, TUNE_NORMAL), 1);
}

static void refill_of_a_full_list(void **state)
{
	struct tune tune = tune_of(378, 378, 378, 0);

	(void)state;
	tune.alloc_factor = 3; /* 504; room for 378 - 200 - 63 */
	assert_int_equal(tune_nr_alloc(&tune, 0, 200, TUNE_NORMAL), 115);
	assert_int_equal(tune_nr_alloc(&tune, 0, 378, TUNE_NORMAL), 63);
	assert_int_equal(tune.alloc_factor, 3);
}

static void refill_scaled_less(void **state)
{
	static const struct refill refills[] = { { 63, 315, 1 },
						 { 126, 441, 1 },
						 { 126, 567, 1 } };
	struct tune tune = tune_of(252, 252, 8064, 0);

	(void)state;
	tune.scale_max = 1;
	expect_refills(&tune, TUNE_NORMAL, refills, ARRAY_SIZE(refills));
}

/* How many to give */

static void free_counts(void **state)
{
	static const struct {
		int high, free_count, count;
		bool free_high;
		int nr;
	} cases[] = {
		{ 378, 0, 378, false, 63 },	  { 378, 200, 378, false, 200 },
		{ 378, 1000, 378, false, 315 },	  { 0, 0, 1, false, 1 },
		{ 0, 1000, 1, false, 1 },	  { 378, 63, 50, true, 50 },
		{ 8064, 2016, 5000, true, 2016 }, { 126, 1000, 126, false, 63 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tune tune = tune_of(cases[i].high, cases[i].high,
					   cases[i].high, cases[i].free_count);

		assert_int_equal(tune_nr_free(&tune, cases[i].high,
					      cases[i].count,
					      cases[i].free_high),
				 cases[i].nr);
	}
}

static void free_where_bounds_cross(void *arg)
{
	struct tune tune = tune_of(100, 100, 100, 10);

	(void)arg;
	tune_nr_free(&tune, 100, 100, false);
}

static void free_is_defined(void **state)
{
	(void)state;
	assert_true(panics(free_where_bounds_cross, NULL));
}

/* What count is compared with */

#define NORMAL	TUNE_NORMAL
#define RECLAIM TUNE_RECLAIM_ACTIVE
#define BELOW	TUNE_BELOW_HIGH

struct high_case {
	struct tune tune;
	int count;
	enum tune_zone zone;
	bool free_high;
	int stored, used;
};

static void expect_high(struct high_case c)
{
	assert_int_equal(tune_high(&c.tune, c.count, c.zone, c.free_high),
			 c.used);
	assert_int_equal(c.tune.high, c.stored);
}

static struct high_case automatic(int high, int count, int free_count)
{
	return (struct high_case){
		.tune = tune_of(high, 252, 8064, free_count),
		.count = count,
	};
}

static void expect_auto(struct high_case c, enum tune_zone zone, int stored,
			int used)
{
	c.zone = zone;
	c.stored = stored;
	c.used = used;
	expect_high(c);
}

static void high_at_a_free(void **state)
{
	struct high_case c;

	(void)state;
	expect_auto(automatic(500, 499, 63), NORMAL, 500, 500);
	expect_auto(automatic(500, 500, 1000), NORMAL, 1063, 500);
	expect_auto(automatic(500, 500, 300), NORMAL, 500, 500);
	expect_auto(automatic(2000, 2000, 2016), NORMAL, 2079, 2000);
	expect_auto(automatic(8000, 8000, 2016), NORMAL, 8000, 8000);
	expect_auto(automatic(500, 300, 100), RECLAIM, 400, 252);
	expect_auto(automatic(300, 300, 100), RECLAIM, 252, 252);
	expect_auto(automatic(500, 300, 100), BELOW, 400, 300);
	c = automatic(4000, 4000, 2016);
	c.free_high = true;
	expect_auto(c, NORMAL, 1984, 0);
}

static void high_of_a_disabled_list(void **state)
{
	(void)state;
	for (int zone = NORMAL; zone <= RECLAIM; zone++)
		expect_high((struct high_case){ .tune = tune_of(0, 0, 0, 5),
						.count = 5,
						.zone = (enum tune_zone)zone });
}

/* It stays where it was set, but while somebody reclaims less is kept. */
static void high_set_by_hand(void **state)
{
	struct high_case c = { .tune = tune_of(378, 378, 378, 2016),
			       .count = 400,
			       .stored = 378,
			       .used = 378 };

	(void)state;
	expect_high(c);
	c.zone = BELOW;
	expect_high(c);
	c.zone = RECLAIM;
	c.used = 252;
	expect_high(c);
}

/* Decay */

static void decay(void **state)
{
	static const struct {
		int high, count, then, drained;
	} cases[] = {
		{ 8064, 0, 7056, 0 },	    { 8064, 8064, 7056, 1008 },
		{ 1000, 5000, 2984, 2016 }, { 260, 100, 252, 0 },
		{ 252, 300, 252, 48 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tune tune = tune_of(cases[i].high, 252, 8064, 0);

		assert_int_equal(tune_decay(&tune, cases[i].count),
				 cases[i].drained);
		assert_int_equal(tune.high, cases[i].then);
	}
}

/* Runs in one direction */

static void runs(void **state)
{
	struct tune tune = tune_of(252, 252, 8064, 0);

	(void)state;
	tune.alloc_factor = 5;
	tune_note_free(&tune, 3);
	assert_int_equal(tune.free_count, 8);
	assert_int_equal(tune.alloc_factor, 2);
	tune_note_free(&tune, 0);
	assert_int_equal(tune.free_count, 9);
	assert_int_equal(tune.alloc_factor, 1);
	tune_note_alloc(&tune);
	assert_int_equal(tune.free_count, 4);
	for (int i = 0; i < 10; i++)
		tune_note_free(&tune, 9);
	assert_int_equal(tune.free_count, 2016);
	assert_int_equal(tune.alloc_factor, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pick_in_turn),
		cmocka_unit_test(pick_one_after_the_other),
		cmocka_unit_test(pick_with_little_room),
		cmocka_unit_test(batch_by_size),
		cmocka_unit_test(refill_auto),
		cmocka_unit_test(refill_manual),
		cmocka_unit_test(refill_below_high),
		cmocka_unit_test(refill_disabled),
		cmocka_unit_test(refill_after_a_free),
		cmocka_unit_test(refill_large),
		cmocka_unit_test(refill_of_a_full_list),
		cmocka_unit_test(refill_scaled_less),
		cmocka_unit_test(free_counts),
		cmocka_unit_test(free_is_defined),
		cmocka_unit_test(high_at_a_free),
		cmocka_unit_test(high_of_a_disabled_list),
		cmocka_unit_test(high_set_by_hand),
		cmocka_unit_test(decay),
		cmocka_unit_test(runs),
	};

	return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}
