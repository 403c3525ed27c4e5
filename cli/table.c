/* SPDX-License-Identifier: MIT */
/*
 * The table of `quire measure`.
 *
 * Wall time comes first and in full: median, ratio, interval, verdict.  The
 * other columns show medians, with + or - behind those that differ from as-is
 * beyond noise; -v prints them in full too.
 *
 * The text has two characters of more than one byte, so columns are padded by
 * what is seen, not by what printf() counts.
 */
#include "table.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_GREEN "\033[32m"
#define TABLE_RED   "\033[31m"
#define TABLE_DIM   "\033[2m"
#define TABLE_PLAIN "\033[0m"

bool table_colour(FILE *f)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return !(no && *no) && isatty(fileno(f)) &&
	       !(term && !strcmp(term, "dumb"));
}

/* Characters of UTF-8 text: the bytes that do not continue one. */
static int width_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void put_left(FILE *f, const char *s, int width)
{
	fprintf(f, "%s%*s", s, width > width_of(s) ? width - width_of(s) : 0,
		"");
}

static void put_right(FILE *f, const char *s, int width)
{
	fprintf(f, "%*s%s", width > width_of(s) ? width - width_of(s) : 0, "",
		s);
}

/* Seconds, bytes and counts in at most six characters. */
static struct spelled compact_seconds(double s)
{
	struct spelled out;

	if (s >= 99999)
		snprintf(out.s, sizeof(out.s), "%.0fk", s / 1e3);
	else
		snprintf(out.s, sizeof(out.s), "%.*f",
			 s < 10	    ? 3
			 : s < 100  ? 2
			 : s < 1000 ? 1
				    : 0,
			 s);
	return out;
}

static struct spelled compact_scaled(double v, double step, const char *units)
{
	struct spelled out;

	while (v >= step * 0.9995 && units[1]) {
		v /= step;
		units++;
	}
	snprintf(out.s, sizeof(out.s), "%.*f%.1s",
		 *units != ' ' && v < 99.95 ? 1 : 0, v,
		 *units == ' ' ? "" : units);
	return out;
}

static struct spelled compact_ms(double s)
{
	struct spelled out;

	if (s >= 99)
		snprintf(out.s, sizeof(out.s), "%.0fs", s);
	else
		snprintf(out.s, sizeof(out.s), "%.*f",
			 s < 0.01  ? 2
			 : s < 0.1 ? 1
				   : 0,
			 s * 1e3);
	return out;
}

static struct spelled compact(enum metric metric, double v)
{
	struct spelled none = { "–" };

	if (!isfinite(v))
		return none;
	switch (metric) {
	case METRIC_FAULTS:
		return compact_scaled(v, 1000, " kMGT");
	case METRIC_PEAK_RSS:
	case METRIC_END_RSS:
		return compact_scaled(v, 1024, " KMGT");
	case METRIC_EXIT:
		return compact_ms(v);
	default:
		return compact_seconds(v);
	}
}

/* A ratio in five characters. */
static struct spelled compact_ratio(double r)
{
	struct spelled out = { "–" };

	if (isfinite(r))
		snprintf(out.s, sizeof(out.s), "%.*f",
			 r < 10	   ? 3
			 : r < 100 ? 2
				   : 0,
			 r);
	return out;
}

static struct spelled compact_interval(const struct interval *i)
{
	struct spelled out = { "–" };

	if (isfinite(i->low) && isfinite(i->high))
		snprintf(out.s, sizeof(out.s), "%.10s–%.10s",
			 compact_ratio(i->low).s, compact_ratio(i->high).s);
	return out;
}

static int digits_of(double percent)
{
	return fabs(percent) < 9.95 ? 1 : 0;
}

void table_verdict(const struct comparison *c, char *buf, size_t len)
{
	const struct interval *i = &c->against;
	double wide = 100 * fmax(fabs(i->low - 1), fabs(i->high - 1));
	double gain = 100 * fabs(i->ratio - 1);

	switch (c->verdict) {
	case VERDICT_UNKNOWN:
		snprintf(buf, len, "%s",
			 isnan(c->median) ? "–" : "too few runs");
		break;
	case VERDICT_SAME:
		snprintf(buf, len, "no difference (±%.*f %%)", digits_of(wide),
			 wide);
		break;
	case VERDICT_LESS:
		snprintf(buf, len, "%.*f %% less", digits_of(gain), gain);
		break;
	case VERDICT_MORE:
		if (isfinite(gain) && gain < 1000)
			snprintf(buf, len, "%.*f %% more", digits_of(gain),
				 gain);
		else
			snprintf(buf, len, "%.3g times as much", i->ratio);
		break;
	}
}

static const char *colour_of(enum verdict v)
{
	static const char *const colour[] = {
		[VERDICT_UNKNOWN] = TABLE_DIM,
		[VERDICT_SAME] = TABLE_DIM,
		[VERDICT_LESS] = TABLE_GREEN,
		[VERDICT_MORE] = TABLE_RED,
	};

	return colour[v];
}

static void put_metric(FILE *f, const struct row *row, enum metric metric,
		       bool colour)
{
	const struct comparison *c = &row->compared[metric];
	bool marked = row->id != ROW_AS_IS && c->verdict >= VERDICT_LESS;

	put_right(f, compact(metric, c->median).s, 6);
	if (marked && colour)
		fputs(colour_of(c->verdict), f);
	fputc(!marked ? ' ' : c->verdict == VERDICT_LESS ? '-' : '+', f);
	if (marked && colour)
		fputs(TABLE_PLAIN, f);
}

static void put_wall(FILE *f, const struct row *row, bool colour)
{
	const struct comparison *wall = &row->compared[METRIC_WALL];
	char verdict[64] = "";

	put_right(f, compact_seconds(wall->median).s, 7);
	if (row->id == ROW_AS_IS) {
		fprintf(f, "%*s", 6 + 12 + 24, "");
		return;
	}
	put_right(f, compact_ratio(wall->against.ratio).s, 6);
	put_right(f, compact_interval(&wall->against).s, 12);
	table_verdict(wall, verdict, sizeof(verdict));
	fputs("  ", f);
	if (colour)
		fputs(colour_of(wall->verdict), f);
	put_left(f, verdict, 22);
	if (colour)
		fputs(TABLE_PLAIN, f);
}

static void put_row(FILE *f, const struct row *row, bool colour)
{
	int i;

	put_left(f, row->name, 9);
	put_wall(f, row, colour);
	for (i = METRIC_USER; i < NR_METRICS; i++)
		put_metric(f, row, (enum metric)i, colour);
	fputc('\n', f);
}

static void put_heading(FILE *f)
{
	static const char *const heading[] = { "user", "system", "faults",
					       "peak", "at end", "exit" };
	size_t i;

	put_left(f, "", 9);
	put_right(f, "wall s", 7);
	put_right(f, "ratio", 6);
	put_right(f, "95 %", 12);
	fputs("  ", f);
	put_left(f, "verdict", 22);
	for (i = 0; i < sizeof(heading) / sizeof(*heading); i++) {
		put_right(f, heading[i], 6);
		fputc(' ', f);
	}
	fputc('\n', f);
}

static void put_idle(FILE *f, const struct rows *rows, bool colour)
{
	int i;

	for (i = 0; i < NR_ROWS; i++) {
		const struct row *row = &rows->row[i];

		if (!rows->asked[i] || !row->idle)
			continue;
		put_left(f, row->name, 9);
		fprintf(f, "%s%s: %s%s\n", colour ? TABLE_DIM : "",
			row->missing ? "not run" : "no effect", row->idle,
			colour ? TABLE_PLAIN : "");
	}
}

void table_print(const struct rows *rows, FILE *f)
{
	bool colour = table_colour(f);
	int i;

	put_heading(f);
	for (i = 0; i < NR_ROWS; i++)
		if (row_runs(rows, (enum row_id)i))
			put_row(f, &rows->row[i], colour);
	put_idle(f, rows, colour);
	fputs("user, system in s; exit in ms; peak and at end: resident memory; "
	      "+ more, - less beyond noise\n",
	      f);
}

static void put_detail(FILE *f, const struct row *row, enum metric metric)
{
	const struct comparison *c = &row->compared[metric];
	char verdict[64];

	put_left(f, row->name, 9);
	put_left(f, metric_info[metric].name, 9);
	put_right(f, compact(metric, c->median).s, 8);
	put_right(f, compact_ratio(c->against.ratio).s, 8);
	put_right(f, compact_interval(&c->against).s, 15);
	table_verdict(c, verdict, sizeof(verdict));
	fprintf(f, "  %s\n", verdict);
}

void table_print_details(const struct rows *rows, FILE *f)
{
	int i, k;

	for (i = ROW_AS_IS + 1; i < NR_ROWS; i++)
		for (k = 0; k < NR_METRICS && row_runs(rows, (enum row_id)i);
		     k++)
			put_detail(f, &rows->row[i], (enum metric)k);
}
