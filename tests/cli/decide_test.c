/* SPDX-License-Identifier: MIT */
/*
 * What is decided from samples: conditions of --fail-if, which row runs, and
 * the prescription.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failif.h"
#include "prescribe.h"
#include "rows.h"
#include "text.h"

enum { ROUNDS = 7 };

static const struct fault_cost no_cost, cost = { 1000, 100 };

static const struct {
	const char *name;
	enum row_price price;
} kind[NR_ROWS] = {
	{ "as-is", PRICE_NOTHING },    { "thp", PRICE_SETTING },
	{ "env", PRICE_SETTING },      { "jemalloc", PRICE_LIBRARY },
	{ "mimalloc", PRICE_LIBRARY }, { "tcmalloc", PRICE_LIBRARY },
	{ "quire", PRICE_QUIRE },
};

/* Rows whose wall times stand around @wall; 0: not asked for. */
static void make_rows(struct rows *rows, const double wall[NR_ROWS])
{
	struct sample s;
	int i, k, n;

	memset(rows, 0, sizeof(*rows));
	for (i = 0; i < NR_ROWS; i++) {
		struct row *row = &rows->row[i];

		row->id = (enum row_id)i;
		row->name = kind[i].name;
		row->price = kind[i].price;
		rows->asked[i] = wall[i] > 0;
		for (k = 0; k < NR_METRICS; k++)
			row->samples[k] = calloc(ROUNDS, sizeof(double));
		for (n = 0; n < ROUNDS && wall[i] > 0; n++) {
			for (k = 0; k < NR_METRICS; k++)
				s.v[k] = wall[i] * (1 + 0.001 * n);
			s.v[METRIC_EXIT] = NAN;
			row_add(row, &s);
		}
	}
	rows_compare(rows);
}

static void drop_rows(struct rows *rows)
{
	rows_close(rows);
}

static enum row_id choice_of(const double wall[NR_ROWS])
{
	struct recording none = { 0 };
	struct prescription p;
	struct rows rows;

	make_rows(&rows, wall);
	prescribe(&rows, &none, &no_cost, &p);
	drop_rows(&rows);
	return p.choice;
}

static void cheapest_that_gets_the_gain(void **state)
{
	(void)state;
	/* as-is, thp, env, jemalloc, mimalloc, tcmalloc, quire */
	assert_int_equal(choice_of((double[]){ 1, 1, 1, 1, 1, 1, 1 }),
			 ROW_AS_IS);
	assert_int_equal(
		choice_of((double[]){ 1, 1.2, 1.1, 1.3, 1.2, 1.1, 1.2 }),
		ROW_AS_IS);
	assert_int_equal(choice_of((double[]){ 1, .9, .8, .8, .8, .8, .799 }),
			 ROW_ENV);
	assert_int_equal(choice_of((double[]){ 1, .7, .8, .9, .9, .9, .7 }),
			 ROW_THP);
	assert_int_equal(choice_of((double[]){ 1, 1, .9, .8, .75, .8, .749 }),
			 ROW_MIMALLOC);
	assert_int_equal(choice_of((double[]){ 1, 1, .9, .9, .9, .9, .7 }),
			 ROW_QUIRE);
	assert_int_equal(choice_of((double[]){ 1, 0, 0, 0, 0, 0, .7 }),
			 ROW_QUIRE);
}

/* A lucky median does not hide a row that is surely faster. */
static void noise_does_not_hide_a_gain(void **state)
{
	struct recording none = { 0 };
	struct prescription p;
	struct rows rows;
	int n;

	(void)state;
	make_rows(&rows, (double[]){ 1, .5, 1, 1, 1, 1, .4 });
	for (n = 4; n < ROUNDS; n++)
		rows.row[ROW_QUIRE].samples[METRIC_WALL][n] = 2;
	rows_compare(&rows);
	prescribe(&rows, &none, &no_cost, &p);
	assert_int_equal(p.choice, ROW_THP);
	assert_int_equal(p.best, ROW_THP);
	drop_rows(&rows);
}

static void a_row_that_failed_does_not_count(void **state)
{
	struct recording none = { 0 };
	struct prescription p;
	struct rows rows;

	(void)state;
	make_rows(&rows, (double[]){ 1, 1, .1, .8, .8, .8, .8 });
	rows.row[ROW_ENV].exit_code = 1;
	prescribe(&rows, &none, &no_cost, &p);
	assert_int_equal(p.choice, ROW_JEMALLOC);
	rows.row[ROW_JEMALLOC].nr_strange = 1;
	rows.row[ROW_MIMALLOC].nr_timed_out = 1;
	rows.row[ROW_TCMALLOC].idle = xstrdup("not installed");
	prescribe(&rows, &none, &no_cost, &p);
	assert_int_equal(p.choice, ROW_QUIRE);
	drop_rows(&rows);
}

/* Times are 1 s user and 1 s system in every row here. */
static void shares_of_time(void **state)
{
	struct recording rec = { .known = true, .refaulted_pages = 500000 };
	struct prescription p;
	struct rows rows;

	(void)state;
	make_rows(&rows, (double[]){ 1, 1, 1, 1, 1, 1, 1 });
	rows.row[ROW_AS_IS].compared[METRIC_FAULTS].median = 600000;
	prescribe(&rows, &rec, &cost, &p);
	assert_in_range(p.refault * 1000, 490, 510);
	assert_in_range(p.not_memory * 1000, 740, 760);
	/* as many pages in hardly any faults: they are huge, and cheap */
	rows.row[ROW_AS_IS].compared[METRIC_FAULTS].median = 1000;
	prescribe(&rows, &rec, &cost, &p);
	assert_in_range(p.refault * 1000, 49, 52);
	rows.row[ROW_AS_IS].compared[METRIC_FAULTS].median = 1e9;
	/* an estimate above all system time is cut there */
	rec.refaulted_pages *= 100;
	prescribe(&rows, &rec, &cost, &p);
	assert_true(p.refault == 1);
	assert_in_range(p.not_memory * 1000, 490, 510);
	/* no tick met the kernel: that is not "no system time" */
	rec.refaulted_pages = 500000;
	rows.row[ROW_AS_IS].compared[METRIC_SYSTEM].median = 0;
	prescribe(&rows, &rec, &cost, &p);
	assert_true(isnan(p.refault));
	assert_in_range(p.not_memory * 1000, 490, 510);
	rec.known = false;
	prescribe(&rows, &rec, &cost, &p);
	assert_true(isnan(p.refault) && isnan(p.not_memory));
	drop_rows(&rows);
}

static int parses(const char *text, struct failif *f)
{
	static struct rows rows;
	const char *why = NULL;
	int rc = failif_parse(&rows, text, f, &why);

	assert_non_null(why);
	return rc;
}

static void conditions_parse(void **state)
{
	static const char *const bad[] = {
		"",
		"wall",
		"wall>",
		"wall>3%",
		"wall>+3",
		"wall>+%",
		"wall>+3%x",
		"wall>+ 3%",
		"wall>+nan%",
		"wall>+inf%",
		"wall>+1e999%",
		"wall>-101%",
		"wall=+3%",
		"walls>+3%",
		">+3%",
		"nosuch.wall>+3%",
		"as-is.wall>+3%",
		"env.>+3%",
		".wall>+3%",
		"env.wall.wall>+3%",
		"wall>>+3%",
		"wall>+-3%",
	};
	struct failif f;
	size_t i;

	(void)state;
	assert_int_equal(parses("wall>+3%", &f), 0);
	assert_int_equal(f.row, ROW_QUIRE);
	assert_int_equal(f.metric, METRIC_WALL);
	assert_true(f.op == '>' && fabs(f.bound - 1.03) < 1e-12);
	assert_int_equal(parses("env.peak_rss<-12.5%", &f), 0);
	assert_int_equal(f.row, ROW_ENV);
	assert_int_equal(f.metric, METRIC_PEAK_RSS);
	assert_true(f.op == '<' && fabs(f.bound - 0.875) < 1e-12);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parses(bad[i], &f), -EINVAL);
}

static enum failif_answer answer(const struct rows *rows, const char *text)
{
	struct failif f;

	assert_int_equal(parses(text, &f), 0);
	return failif_judge(&f, rows);
}

static void conditions_hold_beyond_noise(void **state)
{
	struct rows rows;

	(void)state;
	make_rows(&rows, (double[]){ 1, 1, .8, 1, 1, 1, 1.05 });
	assert_int_equal(answer(&rows, "wall>+3%"), FAILIF_YES);
	assert_int_equal(answer(&rows, "wall>+5%"), FAILIF_NO);
	assert_int_equal(answer(&rows, "wall>+6%"), FAILIF_NO);
	assert_int_equal(answer(&rows, "env.wall<-10%"), FAILIF_YES);
	assert_int_equal(answer(&rows, "env.wall>-10%"), FAILIF_NO);
	assert_int_equal(answer(&rows, "exit>+3%"), FAILIF_UNKNOWN);
	/* without effect it is the program as it is */
	rows.row[ROW_QUIRE].idle = xstrdup("static");
	assert_int_equal(answer(&rows, "wall>+3%"), FAILIF_NO);
	assert_int_equal(answer(&rows, "wall>-10%"), FAILIF_YES);
	drop_rows(&rows);
}

static void tally_of(struct tally *t, const char *malloc_from)
{
	memset(t, 0, sizeof(*t));
	t->nr = 1;
	t->nr_mallocs = 1;
	strcpy(t->malloc_from[0], malloc_from);
}

static bool idle_after_forecast(enum row_id id, const char *malloc_from,
				const char *thp, enum program_kind what)
{
	struct program program = { .kind = what, .path = NULL };
	struct machine machine = { .cpus = 1 };
	struct tally t;
	struct rows rows;
	bool idle;

	strcpy(machine.thp, thp);
	make_rows(&rows, (double[]){ 1, 1, 1, 1, 1, 1, 1 });
	rows.row[ROW_JEMALLOC].library = xstrdup("/x/libjemalloc.so.2");
	rows.row[ROW_MIMALLOC].library = xstrdup("/x/libmimalloc.so.2");
	rows.row[ROW_TCMALLOC].library =
		xstrdup("/x/libtcmalloc_minimal.so.4.5.10");
	tally_of(&t, malloc_from ? malloc_from : "");
	if (!malloc_from)
		t.nr = t.nr_mallocs = 0;
	rows_forecast(&rows, &t, &program, &machine);
	idle = rows.row[id].idle != NULL;
	drop_rows(&rows);
	return idle;
}

static void rows_without_effect(void **state)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	static const char own[] = "/usr/bin/own";
	static const char je[] = "/usr/lib/libjemalloc.so.2";
	static const char tc[] = "/usr/lib/libtcmalloc_minimal.so.4";

	(void)state;
	assert_false(idle_after_forecast(ROW_ENV, libc, "madvise", 0));
	assert_false(idle_after_forecast(ROW_THP, libc, "madvise", 0));
	assert_true(idle_after_forecast(ROW_THP, libc, "always", 0));
	assert_true(idle_after_forecast(ROW_THP, libc, "never", 0));
	assert_true(idle_after_forecast(ROW_ENV, own, "madvise", 0));
	assert_true(idle_after_forecast(ROW_THP, je, "madvise", 0));
	assert_true(idle_after_forecast(ROW_JEMALLOC, je, "madvise", 0));
	assert_false(idle_after_forecast(ROW_TCMALLOC, je, "madvise", 0));
	assert_true(idle_after_forecast(ROW_TCMALLOC, tc, "madvise", 0));
	assert_false(idle_after_forecast(ROW_QUIRE, je, "madvise", 0));
	assert_true(
		idle_after_forecast(ROW_QUIRE, NULL, "madvise", PROGRAM_MUSL));
	assert_true(
		idle_after_forecast(ROW_ENV, NULL, "madvise", PROGRAM_MUSL));
}

static void judged_by_its_own_warm_up(void **state)
{
	struct row row = { .id = ROW_QUIRE, .price = PRICE_QUIRE };
	struct tally t;
	char library[] = "/x/libquire-preload.so";

	(void)state;
	row.library = library;
	tally_of(&t, "/lib/libc.so.6");
	row_judge(&row, &t);
	assert_non_null(row.idle);
	free(row.idle);
	row.idle = NULL;
	tally_of(&t, "/opt/libquire-preload.so");
	row_judge(&row, &t);
	assert_non_null(row.idle);
	free(row.idle);
	row.idle = NULL;
	t.counter[QUIRE_COUNTER_span_alloc] = 1;
	row_judge(&row, &t);
	assert_null(row.idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cheapest_that_gets_the_gain),
		cmocka_unit_test(noise_does_not_hide_a_gain),
		cmocka_unit_test(a_row_that_failed_does_not_count),
		cmocka_unit_test(shares_of_time),
		cmocka_unit_test(conditions_parse),
		cmocka_unit_test(conditions_hold_beyond_noise),
		cmocka_unit_test(rows_without_effect),
		cmocka_unit_test(judged_by_its_own_warm_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
