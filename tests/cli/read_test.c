/* SPDX-License-Identifier: MIT */
/*
 * What is read and put together: the recorder's file, options, the
 * environment, numbers for people, a table that fits.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "command.h"
#include "keys.h"
#include "recording.h"
#include "table.h"
#include "text.h"
#include "variables.h"

static void add_text(struct recording *r, const char *text)
{
	char *copy = xstrdup(text);
	FILE *f = fmemopen(copy, strlen(copy), "r");

	recording_add(r, f);
	fclose(f);
	free(copy);
}

static const char whole[] =
	"quire-record 1\n"
	"process pid 12 parent 1\n"
	"exe /usr/bin/python3 blocks 99\n"
	"threshold 131072\n"
	"future 1 2 3\n"
	"total wall_us 5 small_blocks 77 blocks 830 bytes 83 resized 0 "
	"live_bytes 1 reused 800 reused_bytes 9 refaulted_pages 1000 "
	"first_pages 30 page_ns 1500 lost 0\n"
	"class 100663296 min 1 max 2 common_blocks 812 blocks 820 bytes 1 "
	"live 0 live_peak 2 reused 800 refaulted_pages 990 first_pages 1 "
	"reuse_gap_ms_median 1.250\n"
	"class 4096 min 1 max 2 blocks 10 refaulted_pages 10\n"
	"site 812 81 990 numpy.so:f+0x12 a;b;c\n"
	"site 1 1 1 other x\n"
	"end\n";

static void recorder_file(void **state)
{
	struct recording r = { 0 };

	(void)state;
	add_text(&r, whole);
	assert_true(r.known);
	assert_int_equal(r.threshold, 131072);
	assert_int_equal(r.blocks, 830);
	assert_int_equal(r.refaulted_pages, 1000);
	assert_int_equal(r.class_size, 100663296);
	assert_int_equal(r.class_blocks, 820);
	assert_int_equal(r.class_live_peak, 2);
	assert_true(r.class_gap_ms == 1.25);
	assert_string_equal(r.site, "numpy.so:f+0x12");
	/* a second process that had less: added, but not the dearest */
	add_text(&r, "total blocks 5 refaulted_pages 7\n"
		     "class 8192 blocks 5 refaulted_pages 7\n"
		     "site 5 5 7 lesser a\nend\n");
	assert_int_equal(r.refaulted_pages, 1007);
	assert_int_equal(r.class_size, 100663296);
	assert_string_equal(r.site, "numpy.so:f+0x12");
}

static void a_cut_file_is_not_believed(void **state)
{
	struct recording r;
	size_t len;

	(void)state;
	for (len = 1; len < sizeof(whole) - 2; len++) {
		char *cut = strndup(whole, len);

		memset(&r, 0, sizeof(r));
		add_text(&r, cut);
		/* "end" without its newline is whole */
		assert_false(r.known && len < sizeof(whole) - 2);
		assert_int_equal(r.blocks, 0);
		free(cut);
	}
}

static int take(struct keys *k, int nr, const char *value)
{
	return keys_take(k, KEYS_FIRST + nr, value, "test");
}

static void keys_are_checked(void **state)
{
	static const struct {
		int nr;
		const char *value;
	} bad[] = {
		{ 0, "" },     { 0, "0" },	 { 0, "-1" },
		{ 0, "1KB" },  { 0, "K" },	 { 0, "1T" },
		{ 0, " 1" },   { 0, "1,2" },	 { 0, "99999999999999999999" },
		{ 1, "10m" },  { 1, "s" },	 { 1, "1.5s" },
		{ 2, "x" },    { 3, "madvise" }, { 4, "101" },
		{ 4, "5%" },   { 6, "0" },	 { 6, "17" },
		{ 0, "4095" }, { 0, "3K" },	 { 0, "1025G" },
		{ 2, "0" },    { 1, "86401s" },
	};
	struct keys k = { { NULL } };
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(take(&k, bad[i].nr, bad[i].value), 2);
	assert_int_equal(take(&k, -1, "1"), 1);
	assert_int_equal(take(&k, KEYS_NR, "1"), 1);
	text = keys_text(&k);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(take(&k, 0, "1M"), 0);
	assert_int_equal(take(&k, 0, "2M"), 0);
	assert_int_equal(take(&k, 1, "0"), 0);
	assert_int_equal(take(&k, 5, "64m"), 0);
	text = keys_text(&k);
	assert_string_equal(text, "threshold=2M,decay=0,thread_min=64m");
	free(text);
	keys_free(&k);
}

static void variables_are_extended(void **state)
{
	char a[] = "LD_PRELOAD=theirs.so",
	     b[] = "QUIRE_OPTIONS=", c[] = "LD_PRELOADED=1";
	char *env[] = { a, b, c, NULL };
	struct variables v;

	(void)state;
	variables_copy(&v, env);
	variables_add_preload(&v, "/ours.so");
	variables_add_options(&v, "decay=0");
	variables_add_options(&v, "keep=1");
	variables_add_tunables(&v, "x=1");
	variables_add_tunables(&v, "y=2");
	assert_string_equal(variables_get(&v, "LD_PRELOAD"),
			    "/ours.so:theirs.so");
	assert_string_equal(variables_get(&v, "QUIRE_OPTIONS"),
			    "decay=0,keep=1");
	assert_string_equal(variables_get(&v, "GLIBC_TUNABLES"), "x=1:y=2");
	assert_string_equal(variables_get(&v, "LD_PRELOADED"), "1");
	assert_null(variables_get(&v, "LD_PRE"));
	assert_int_equal(v.nr, 4);
	variables_free(&v);
}

static void spelling(void **state)
{
	(void)state;
	assert_string_equal(spell_bytes(0).s, "0 B");
	assert_string_equal(spell_bytes(1023).s, "1023 B");
	assert_string_equal(spell_bytes(100663296).s, "96 MiB");
	assert_string_equal(spell_bytes(1.5 * (1 << 30)).s, "1.5 GiB");
	assert_string_equal(spell_bytes(1048575).s, "1.0 MiB");
	assert_string_equal(spell_count(0).s, "0");
	assert_string_equal(spell_count(999).s, "999");
	assert_string_equal(spell_count(1234567).s, "1,234,567");
	assert_string_equal(spell_seconds(1.234).s, "1.23 s");
	assert_string_equal(spell_seconds(0.0123).s, "12.3 ms");
	assert_string_equal(spell_seconds(0.00035).s, "350 us");
}

static void commands_are_quoted(void **state)
{
	char a[] = "sh", b[] = "it's $a \"b\"", c[] = "", d[] = "-x=/a.b";
	char *argv[] = { a, b, c, d, NULL };
	struct command command = { .argv = argv };
	char *text = command_quoted(&command);

	(void)state;
	assert_string_equal(text, "sh 'it'\\''s $a \"b\"' '' '-x=/a.b'");
	free(text);
}

static int columns_of(const char *line)
{
	int n = 0;

	for (; *line && *line != '\n'; line++)
		n += ((unsigned char)*line & 0xc0) != 0x80;
	return n;
}

/* Every metric at @v, in as-is and quire. */
static void print_rows(double v, double against, char **text)
{
	struct rows rows = { .asked = {
				     [ROW_AS_IS] = true, [ROW_QUIRE] = true } };
	struct row *row = rows.row;
	size_t len;
	FILE *f = open_memstream(text, &len);
	int k;

	row[ROW_AS_IS].name = "as-is";
	row[ROW_QUIRE].id = ROW_QUIRE;
	row[ROW_QUIRE].name = "quire";
	for (k = 0; k < NR_METRICS; k++) {
		struct interval i = { against, against * 0.9, against * 1.1 };

		row[ROW_AS_IS].compared[k].median = v;
		row[ROW_QUIRE].compared[k].median = v;
		row[ROW_QUIRE].compared[k].against = i;
		row[ROW_QUIRE].compared[k].verdict = statistics_verdict(&i);
	}
	table_print(&rows, f);
	fclose(f);
}

static void the_table_fits(void **state)
{
	static const double values[] = { 0,	0.0004, 0.9996, 1.25, 99.97,
					 999.9, 12345,	98765,	NAN };
	static const double ratios[] = { 0.001,	 0.5, 1,	1.005,
					 9.9995, 250, INFINITY, NAN };
	size_t i, k;
	char *text, *line, *save;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(*values); i++) {
		for (k = 0; k < sizeof(ratios) / sizeof(*ratios); k++) {
			print_rows(values[i], ratios[k], &text);
			assert_null(strstr(text, "\033"));
			save = NULL;
			for (line = strtok_r(text, "\n", &save); line;
			     line = strtok_r(NULL, "\n", &save))
				assert_in_range(columns_of(line), 1, 100);
			free(text);
		}
	}
}

static void verdicts(void **state)
{
	struct comparison c = { .median = 1 };
	char text[64];

	(void)state;
	c.against = (struct interval){ 1.001, 0.995, 1.012 };
	c.verdict = statistics_verdict(&c.against);
	table_verdict(&c, text, sizeof(text));
	assert_string_equal(text, "no difference (±1.2 %)");
	c.against = (struct interval){ 0.84, 0.83, 0.85 };
	c.verdict = statistics_verdict(&c.against);
	table_verdict(&c, text, sizeof(text));
	assert_string_equal(text, "16 % less");
	c.against = (struct interval){ 1.05, 1.04, 1.06 };
	c.verdict = statistics_verdict(&c.against);
	table_verdict(&c, text, sizeof(text));
	assert_string_equal(text, "5.0 % more");
	c.against = (struct interval){ 2, NAN, NAN };
	c.verdict = statistics_verdict(&c.against);
	table_verdict(&c, text, sizeof(text));
	assert_string_equal(text, "too few runs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorder_file),
		cmocka_unit_test(a_cut_file_is_not_believed),
		cmocka_unit_test(keys_are_checked),
		cmocka_unit_test(variables_are_extended),
		cmocka_unit_test(spelling),
		cmocka_unit_test(commands_are_quoted),
		cmocka_unit_test(the_table_fits),
		cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
