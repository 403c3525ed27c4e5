/* SPDX-License-Identifier: MIT */
/*
 * The tables of `quire bench page_bench`.
 *
 * One for each variant, every case against mempool, the fastest peer; then what
 * a reserve of more address space costs, and the lines of the six tests.
 */
#include "bench.h"
#include "bench_line.h"
#include "bench_page.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char base_case[] = "mempool";

static const struct series *get(const struct bench *b, const char *name,
				const char *variant, const char *metric)
{
	struct series_key key = { "page_bench", name, variant, metric };

	return series_find(&b->series, &key);
}

static void put_number(FILE *f, double v, int digits, int width)
{
	char text[32] = "–";

	if (isfinite(v))
		snprintf(text, sizeof(text), "%.*f", digits, v);
	cell_right(f, text, width);
}

static int digits_of(double ns)
{
	return ns < 99.95 ? 2 : 0;
}

static void put_spread(FILE *f, const struct series *s, int width)
{
	double low = INFINITY, high = -INFINITY;
	char text[64] = "–";
	size_t i;

	for (i = 0; i < s->nr; i++) {
		low = fmin(low, s->v[i]);
		high = fmax(high, s->v[i]);
	}
	if (s->nr)
		snprintf(text, sizeof(text), "%.*f–%.*f", digits_of(low), low,
			 digits_of(high), high);
	cell_right(f, text, width);
}

static void put_row(const struct bench *b, const struct series *pair, FILE *f)
{
	struct comparison c;

	cell_left(f, pair->name, 21);
	put_number(f, series_median(pair), digits_of(series_median(pair)), 8);
	put_spread(f, pair, 14);
	put_number(f,
		   series_median(get(b, pair->name, pair->variant, "cycles")),
		   0, 7);
	if (strcmp(pair->name, base_case)) {
		series_compare(pair, get(b, base_case, pair->variant, "pair"),
			       &c);
		cell_ratio(f, &c);
		cell_verdict(f, &c, "lower");
	}
	fputc('\n', f);
}

static void put_inline(const struct bench *b, const char *variant, FILE *f)
{
	struct comparison c;

	series_compare(get(b, "quire-lto", variant, "pair"),
		       get(b, "mempool-inline", variant, "pair"), &c);
	if (isnan(c.against.ratio))
		return;
	fprintf(f, "quire-lto is %.2f times mempool-inline", c.against.ratio);
	if (isfinite(c.against.low))
		fprintf(f, " (%.2f–%.2f)", c.against.low, c.against.high);
	fputc('\n', f);
}

static void put_variant(const struct bench *b, const char *variant, FILE *f)
{
	bool heading = false;
	size_t i;

	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (strcmp(s->metric->name, "pair") ||
		    strcmp(s->variant, variant))
			continue;
		if (!heading) {
			cell_left(f, variant, 21);
			cell_right(f, "ns", 8);
			cell_right(f, "from–to", 14);
			cell_right(f, "cycles", 7);
			cell_right(f, "ratio", 7);
			cell_right(f, "95 %", 14);
			fputs("  verdict\n", f);
			heading = true;
		}
		put_row(b, s, f);
	}
	if (heading) {
		put_inline(b, variant, f);
		fputc('\n', f);
	}
}

/* ---- how it goes with the size of what is reserved ---- */

static void put_reserve_row(const struct bench *b, const struct series *pair,
			    FILE *f)
{
	static const char first[] = "reserve:1G";
	struct comparison c;

	cell_left(f, pair->variant, 15);
	cell_left(f, pair->name, 10);
	put_number(f, series_median(pair), 2, 8);
	put_number(f,
		   series_median(get(b, pair->name, pair->variant, "metadata")),
		   1, 11);
	put_number(f,
		   series_median(
			   get(b, pair->name, pair->variant, "metadata_used")),
		   1, 10);
	if (strcmp(pair->variant, first)) {
		series_compare(pair, get(b, pair->name, first, "pair"), &c);
		cell_ratio(f, &c);
		cell_verdict(f, &c, "lower");
	}
	fputc('\n', f);
}

static void put_reserve(const struct bench *b, FILE *f)
{
	bool heading = false;
	size_t i;

	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (strcmp(s->metric->name, "pair") ||
		    strncmp(s->variant, "reserve:", 8))
			continue;
		if (!heading) {
			cell_left(f, "", 25);
			cell_right(f, "ns", 8);
			cell_right(f, "bytes/page", 11);
			cell_right(f, "resident", 10);
			cell_right(f, "ratio", 7);
			cell_right(f, "95 %", 14);
			fputs("  verdict\n", f);
			heading = true;
		}
		put_reserve_row(b, s, f);
	}
	if (heading)
		fputs("bytes/page: address space of quire's own data; resident: of it, for each page in use\n\n",
		      f);
}

/* ---- the six tests ---- */

static double sample(const struct bench *b, const struct series *elem,
		     const char *metric, size_t i)
{
	const struct series *s = get(b, elem->name, elem->variant, metric);

	return s && i < s->nr ? s->v[i] : 0;
}

/* All of a line comes from one round: that in the middle. */
static size_t middle(const struct series *s)
{
	double median = series_median(s);
	size_t i, best = 0;

	for (i = 1; i < s->nr; i++)
		if (fabs(s->v[i] - median) < fabs(s->v[best] - median))
			best = i;
	return best;
}

static void put_line(const struct bench *b, const struct series *elem, FILE *f)
{
	size_t i = middle(elem);
	struct bench_line l = {
		.name = elem->variant,
		.step = (uint64_t)sample(b, elem, "step", i),
		.ns = (uint64_t)sample(b, elem, "time_interval", i),
		.cycles = (uint64_t)sample(b, elem, "tsc_interval", i),
		.nr = (uint64_t)sample(b, elem, "invoked", i),
	};
	char text[512];

	if (!l.nr)
		return;
	bench_line(&l, text, sizeof(text));
	fprintf(f, "%s\n", text);
}

static void put_share(const struct series *s, FILE *f)
{
	fprintf(f, "%s got %.1f %%\n", s->variant, 100 * series_median(s));
}

void bench_page_print(const struct bench *b, FILE *f)
{
	size_t i, k;

	for (i = 0; i < page_nr_groups; i++)
		for (k = 0; page_groups[i].variant[k]; k++)
			if (!page_groups[i].ours)
				put_variant(b, page_groups[i].variant[k], f);
	put_reserve(b, f);
	for (i = 0; i < b->series.nr; i++) {
		const struct series *s = &b->series.list[i];

		if (strcmp(s->bench, "page_bench"))
			continue;
		if (!strcmp(s->metric->name, "elem") && s->nr)
			put_line(b, s, f);
		else if (!strcmp(s->metric->name, "share"))
			put_share(s, f);
	}
	fputs("ns: for a page (of order:N a block) allocated and freed; ratio: against mempool\n",
	      f);
}
