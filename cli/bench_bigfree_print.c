/* SPDX-License-Identifier: MIT */
/*
 * The tables of `quire bench bigfree`.
 *
 * One for each size and kind of pages: time against one munmap of all of it
 * (for malloc: against malloc as it is), and below it what the other thread
 * felt, against the same thread with nobody freeing.  With --scale one for
 * each kind of pages and case: what a page costs as the block grows.
 */
#include "bench.h"
#include "bench_memory.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct series *get(const struct bench *b, const char *name,
				const char *variant, const char *metric)
{
	struct series_key key = { "bigfree", name, variant, metric };

	return series_find(&b->series, &key);
}

static struct spelled spell_time(double s)
{
	struct spelled none = { "–" };

	if (isnan(s))
		return none;
	if (fabs(s) < 1e-3) {
		snprintf(none.s, sizeof(none.s), "%.*f us",
			 fabs(s) < 1e-5	  ? 2
			 : fabs(s) < 1e-4 ? 1
					  : 0,
			 s * 1e6);
		return none;
	}
	return spell_seconds(s);
}

static void put_time(FILE *f, const struct series *s, int width)
{
	cell_right(f, spell_time(series_median(s)).s, width);
}

static void put_speed_row(const struct bench *b, const struct series *time,
			  const char *base, FILE *f)
{
	const char *name = time->name, *variant = time->variant;
	struct comparison c;
	char left[32];

	cell_left(f, name, 13);
	put_time(f, time, 9);
	series_compare(time, get(b, base, variant, "time"), &c);
	if (strcmp(name, base)) {
		cell_ratio(f, &c);
		cell_verdict(f, &c, "lower");
	} else {
		fprintf(f, "%*s", 7 + 14 + 2 + 23, "");
	}
	put_time(f, get(b, name, variant, "blocked"), 9);
	put_time(f, get(b, name, variant, "cpu"), 9);
	snprintf(left, sizeof(left), "%.0f",
		 series_median(get(b, name, variant, "workers")));
	cell_right(f, left, 4);
	cell_right(f,
		   spell_bytes(series_median(get(b, name, variant, "left"))).s,
		   10);
	fputc('\n', f);
}

static void put_speed(const struct bench *b, const char *variant, FILE *f)
{
	bool malloced = !get(b, "munmap", variant, "time");
	size_t i;

	cell_left(f, variant, 13);
	cell_right(f, "time", 9);
	cell_right(f, "ratio", 7);
	cell_right(f, "95 %", 14);
	cell_left(f, "  verdict", 2 + 23);
	cell_right(f, "blocked", 9);
	cell_right(f, "cpu", 9);
	cell_right(f, "thr", 4);
	cell_right(f, "left", 10);
	fputc('\n', f);
	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (!strcmp(s->metric->name, "time") &&
		    !strcmp(s->variant, variant))
			put_speed_row(b, s, malloced ? "malloc" : "munmap", f);
	}
}

static void put_fault_row(const struct bench *b, const struct series *rate,
			  const char *idle, FILE *f)
{
	const char *name = rate->name, *variant = rate->variant;
	const struct series *tail = get(b, name, variant, "fault_p999");
	struct comparison c;
	char text[32];

	cell_left(f, name, 13);
	put_time(f, get(b, name, variant, "fault_p50"), 9);
	put_time(f, get(b, name, variant, "fault_p99"), 9);
	put_time(f, tail, 9);
	series_compare(tail, get(b, "idle", idle, "fault_p999"), &c);
	cell_ratio(f, &c);
	snprintf(text, sizeof(text), "%.0f k/s", series_median(rate) / 1e3);
	if (isnan(series_median(rate)))
		snprintf(text, sizeof(text), "–");
	cell_right(f, text, 10);
	series_compare(rate, get(b, "idle", idle, "fault_rate"), &c);
	cell_ratio(f, &c);
	fputc('\n', f);
}

/* malloc has no idle of its own: pages are the faulting thread's anyway. */
static const char *idle_of(const struct bench *b, const char *variant)
{
	size_t i;

	if (get(b, "idle", variant, "fault_rate"))
		return variant;
	for (i = 0; i < b->series.nr; i++)
		if (!strcmp(b->series.list[i].name, "idle"))
			return b->series.list[i].variant;
	return variant;
}

static void put_faults(const struct bench *b, const char *variant, FILE *f)
{
	const char *idle = idle_of(b, variant);
	bool heading = false;
	size_t i;

	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (strcmp(s->metric->name, "fault_rate") ||
		    strcmp(s->variant, variant))
			continue;
		if (!heading) {
			cell_left(f, "faults beside", 13);
			cell_right(f, "p50", 9);
			cell_right(f, "p99", 9);
			cell_right(f, "p99.9", 9);
			cell_right(f, "/idle", 7);
			cell_right(f, "95 %", 14);
			cell_right(f, "rate", 10);
			cell_right(f, "/idle", 7);
			cell_right(f, "95 %", 14);
			fputc('\n', f);
			heading = true;
		}
		put_fault_row(b, s, idle, f);
	}
}

/* Speed against the plain loop, for who wants to know what is lost. */
static void put_limit(const struct bench *b, const char *variant, FILE *f)
{
	const struct series *limit = get(b, "handmade:2", variant, "time");
	const struct series *base = get(b, "munmap", variant, "time");
	struct comparison of_limit, of_base;
	size_t i;

	for (i = 0; limit && i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (strcmp(s->metric->name, "time") ||
		    strcmp(s->variant, variant) ||
		    strncmp(s->name, "parallel", 8))
			continue;
		series_compare(limit, s, &of_limit);
		series_compare(base, s, &of_base);
		fprintf(f,
			"%s is %.2f times as fast as munmap, %.3f of handmade:2",
			s->name, of_base.against.ratio, of_limit.against.ratio);
		if (isfinite(of_limit.against.low))
			fprintf(f, " (%.3f–%.3f)", of_limit.against.low,
				of_limit.against.high);
		fputc('\n', f);
	}
}

/* Huge pages are a wish: where it was not granted, that is said. */
static void put_huge(const struct bench *b, const char *variant, FILE *f)
{
	size_t i;

	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];
		double there;

		if (strcmp(s->metric->name, "huge") ||
		    strcmp(s->variant, variant))
			continue;
		there = series_median(get(b, s->name, variant, "resident"));
		if (series_median(s) < 0.9 * there)
			fprintf(f, "%s: only %s of it were in huge pages\n",
				s->name, spell_bytes(series_median(s)).s);
	}
}

static const char *pages_part(const char *variant)
{
	return strchr(variant, ',') + 1;
}

/* The same case with the same pages, at the size that was measured first. */
static const struct series *smallest(const struct bench *b,
				     const struct series *like)
{
	size_t i;

	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (!strcmp(s->metric->name, "time") &&
		    !strcmp(s->name, like->name) &&
		    !strcmp(pages_part(s->variant), pages_part(like->variant)))
			return s;
	}
	return like;
}

/* Variants are "8G,4k". */
static double pages_of(const struct series *s)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	double bytes = strtod(s->variant, &end);

	unit = *end != ',' ? strchr(units, *end) : NULL;
	if (unit)
		bytes = ldexp(bytes, 10 * (int)(unit - units + 1));
	return bytes / MEMORY_PAGE;
}

static void put_scale_row(const struct bench *b, const struct series *s,
			  FILE *f)
{
	const struct series *first = smallest(b, s);
	struct series *each = series_scaled(s, 1e9 / pages_of(s));
	struct series *each_first = series_scaled(first, 1e9 / pages_of(first));
	struct comparison c;
	char text[32];

	series_compare(each, each_first, &c);
	cell_left(f, s->name, 13);
	cell_left(f, s->variant, 14);
	put_time(f, s, 9);
	snprintf(text, sizeof(text), "%.1f", c.median);
	cell_right(f, text, 13);
	if (s != first) {
		cell_ratio(f, &c);
		cell_verdict(f, &c, "lower");
	}
	fputc('\n', f);
	series_drop(each);
	series_drop(each_first);
}

static void put_scale(const struct bench *b, FILE *f)
{
	size_t i, k;

	cell_left(f, "", 13 + 14);
	cell_right(f, "time", 9);
	cell_right(f, "ns per 4 KiB", 13);
	cell_right(f, "ratio", 7);
	cell_right(f, "95 %", 14);
	fputs("  verdict\n", f);
	for (i = 0; i < b->series.nr; i++) {
		const struct series *first = &b->series.list[i];

		if (strcmp(first->metric->name, "time") ||
		    smallest(b, first) != first)
			continue;
		for (k = i; k < b->series.nr; k++) {
			const struct series *s = &b->series.list[k];

			if (!strcmp(s->metric->name, "time") &&
			    smallest(b, s) == first)
				put_scale_row(b, s, f);
		}
	}
}

/* Is it the first series of its variant? */
static bool is_new(const struct bench *b, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (!strcmp(b->series.list[k].bench, "bigfree") &&
		    !strcmp(b->series.list[k].variant,
			    b->series.list[i].variant))
			return false;
	return !strcmp(b->series.list[i].bench, "bigfree") &&
	       *b->series.list[i].variant;
}

void bench_bigfree_print(const struct bench *b, FILE *f)
{
	size_t i;

	if (b->options->scale) {
		put_scale(b, f);
		return;
	}
	for (i = 0; i < b->series.nr; i++) {
		const char *variant = b->series.list[i].variant;

		if (!is_new(b, i))
			continue;
		put_speed(b, variant, f);
		put_faults(b, variant, f);
		put_limit(b, variant, f);
		put_huge(b, variant, f);
		fputc('\n', f);
	}
	fputs("time: until the memory is free; blocked: until the caller can go on; cpu: of all threads;\n"
	      "thr: threads that worked; left: still resident on return\n",
	      f);
}
