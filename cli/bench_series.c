/* SPDX-License-Identifier: MIT */
/*
 * Samples of a bench, by case, variant and metric.
 *
 * A list that is searched from its start: a run has a hundred series, and one
 * sample for each takes seconds to make.
 */
#include "bench_series.h"
#include "table.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct bench_metric metrics[] = {
	{ "time", "s", "lower" },
	{ "blocked", "s", "lower" },
	{ "cpu", "s", "lower" },
	{ "workers", "threads", "lower" },
	{ "resident", "bytes", "higher" },
	{ "left", "bytes", "lower" },
	{ "huge", "bytes", "higher" },
	{ "fault_p50", "s", "lower" },
	{ "fault_p99", "s", "lower" },
	{ "fault_p999", "s", "lower" },
	{ "fault_rate", "faults/s", "higher" },
	{ "fault_nr", "faults", "higher" },
	{ "pages", "pages/s", "higher" },
	{ "task_min", "pages/s", "higher" },
	{ "task_max", "pages/s", "higher" },
	{ "zone_takes", "times/page", "lower" },
	{ "zone_contended", "times/page", "lower" },
	{ "zone_hold", "cycles/page", "lower" },
	{ "pair", "ns", "lower" },
	{ "elem", "ns", "lower" },
	{ "cycles", "cycles", "lower" },
	{ "tsc_interval", "cycles", "lower" },
	{ "time_interval", "ns", "lower" },
	{ "invoked", "times", "higher" },
	{ "step", "number", "higher" },
	{ "share", "1", "higher" },
	{ "rate", "touches/s", "higher" },
	{ "rate_least", "touches/s", "higher" },
	{ "rate_most", "touches/s", "higher" },
	{ "hits", "1", "higher" },
	{ "activated", "pages/touch", "higher" },
	{ "lock_takes", "times/touch", "lower" },
	{ "contended", "times/touch", "lower" },
	{ "lock_hold", "cycles/touch", "lower" },
	{ "op", "ns", "lower" },
	{ "hit_rate", "1", "higher" },
	{ "scanned", "times", "higher" },
	{ "metadata", "bytes/page", "lower" },
	{ "metadata_used", "bytes/page", "lower" },
	{ "other_load", "CPUs", "lower" },
	{ "steal", "CPUs", "lower" },
};

const struct bench_metric *bench_metric_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		if (!strcmp(metrics[i].name, name))
			return &metrics[i];
	return NULL;
}

static struct series *find(const struct series_set *set,
			   const struct series_key *key)
{
	size_t i;

	for (i = 0; i < set->nr; i++) {
		struct series *s = &set->list[i];

		if (!strcmp(s->bench, key->bench) &&
		    !strcmp(s->name, key->name) &&
		    !strcmp(s->variant, key->variant) &&
		    !strcmp(s->metric->name, key->metric))
			return s;
	}
	return NULL;
}

const struct series *series_find(const struct series_set *set,
				 const struct series_key *key)
{
	return find(set, key);
}

/* NULL: there is no such metric. */
static struct series *make(struct series_set *set, const struct series_key *key)
{
	const struct bench_metric *metric = bench_metric_find(key->metric);
	struct series *s = find(set, key);

	if (s || !metric)
		return s;
	set->list = xrealloc(set->list, set->nr + 1, sizeof(*set->list));
	s = &set->list[set->nr++];
	*s = (struct series){ .bench = key->bench,
			      .name = xstrdup(key->name),
			      .variant = xstrdup(key->variant),
			      .metric = metric };
	return s;
}

void series_declare(struct series_set *set, const struct series_key *key)
{
	make(set, key);
}

void series_add(struct series_set *set, const struct series_key *key, double v)
{
	struct series *s = make(set, key);

	if (!s)
		return;
	s->v = xrealloc(s->v, s->nr + 1, sizeof(*s->v));
	s->v[s->nr++] = v;
}

double series_median(const struct series *s)
{
	double *known, median;
	size_t i, nr = 0;

	if (!s)
		return NAN;
	known = xcalloc(s->nr, sizeof(*known));
	for (i = 0; i < s->nr; i++)
		if (!isnan(s->v[i]))
			known[nr++] = s->v[i];
	median = statistics_median(known, nr);
	free(known);
	return median;
}

void series_compare(const struct series *a, const struct series *b,
		    struct comparison *out)
{
	*out = (struct comparison){ .median = series_median(a) };
	statistics_ratio(a ? a->v : NULL, a ? a->nr : 0, b ? b->v : NULL,
			 b ? b->nr : 0, 1, &out->against);
	out->verdict = statistics_verdict(&out->against);
}

struct series *series_scaled(const struct series *s, double by)
{
	struct series *copy;
	size_t i;

	if (!s)
		return NULL;
	copy = xcalloc(1, sizeof(*copy));
	copy->v = xcalloc(s->nr, sizeof(*copy->v));
	copy->nr = s->nr;
	for (i = 0; i < s->nr; i++)
		copy->v[i] = s->v[i] * by;
	return copy;
}

void series_drop(struct series *s)
{
	if (s)
		free(s->v);
	free(s);
}

void series_free(struct series_set *set)
{
	size_t i;

	for (i = 0; i < set->nr; i++) {
		free(set->list[i].name);
		free(set->list[i].variant);
		free(set->list[i].v);
	}
	free(set->list);
	*set = (struct series_set){ 0 };
}

/* Characters of UTF-8 text: the bytes that do not continue one. */
static int missing(const char *s, int width)
{
	for (; *s; s++)
		width -= ((unsigned char)*s & 0xc0) != 0x80;
	return width > 0 ? width : 0;
}

void cell_left(FILE *f, const char *s, int width)
{
	fprintf(f, "%s%*s", s, missing(s, width), "");
}

void cell_right(FILE *f, const char *s, int width)
{
	fprintf(f, "%*s%s", missing(s, width), "", s);
}

static const char *ratio_text(double r, char *buf, size_t len)
{
	if (isfinite(r))
		snprintf(buf, len, "%.*f",
			 r < 9.995   ? 3
			 : r < 99.95 ? 2
				     : 1,
			 r);
	else
		snprintf(buf, len, "–");
	return buf;
}

static const char *colour_of(const struct comparison *c, const char *better)
{
	bool higher = !strcmp(better, "higher");

	if (c->verdict == VERDICT_UNKNOWN || c->verdict == VERDICT_SAME)
		return "\033[2m";
	return (c->verdict == VERDICT_MORE) == higher ? "\033[32m" : "\033[31m";
}

void cell_ratio(FILE *f, const struct comparison *c)
{
	const struct interval *i = &c->against;
	char low[16], high[16], text[64] = "–";

	cell_right(f, ratio_text(i->ratio, low, sizeof(low)), 7);
	if (isfinite(i->low) && isfinite(i->high))
		snprintf(text, sizeof(text), "%s–%s",
			 ratio_text(i->low, low, sizeof(low)),
			 ratio_text(i->high, high, sizeof(high)));
	cell_right(f, text, 14);
}

void cell_verdict(FILE *f, const struct comparison *c, const char *better)
{
	bool colour = table_colour(f);
	char text[64];

	table_verdict(c, text, sizeof(text));
	fprintf(f, "  %s", colour ? colour_of(c, better) : "");
	cell_left(f, text, 23);
	fputs(colour ? "\033[0m" : "", f);
}
