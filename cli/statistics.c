/* SPDX-License-Identifier: MIT */
/*
 * Medians, and how sure a ratio of medians is.
 *
 * Runs of a program have a floor and a long tail upward, so medians rather
 * than means, and a bootstrap rather than a formula that wants a bell.  The
 * two sides are resampled independently: rounds are interleaved to share the
 * weather of the machine, but a run has no partner.
 *
 * With fewer than five samples a side, the median of resamples cannot leave
 * the range of the samples and that range is too narrow an interval; nothing
 * is claimed then.
 */
#include "statistics.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts @v. */
static double median_of(double *v, size_t n)
{
	if (!n)
		return NAN;
	qsort(v, n, sizeof(*v), ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double statistics_median(const double *v, size_t n)
{
	double *copy = xcalloc(n, sizeof(*copy));
	double m;

	if (n)
		memcpy(copy, v, n * sizeof(*v));
	m = median_of(copy, n);
	free(copy);
	return m;
}

uint32_t statistics_random(uint64_t *state, uint32_t bound)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (uint32_t)(((z >> 32) * bound) >> 32);
}

/* One resample of @from, its median. */
static double resample(const double *from, size_t n, double *room,
		       uint64_t *state)
{
	size_t i;

	for (i = 0; i < n; i++)
		room[i] = from[statistics_random(state, (uint32_t)n)];
	return median_of(room, n);
}

/* Two times nothing is the same; something against nothing has no ratio. */
static double ratio_of(double a, double b)
{
	if (a == b)
		return 1;
	return b == 0 ? INFINITY : a / b;
}

static size_t drop_unknown(const double *from, size_t n, double *to)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (!isnan(from[i]))
			to[kept++] = from[i];
	return kept;
}

/* One set of samples against another, and how to compare them. */
struct sides {
	double *a, *b; /* without NAN */
	size_t nr_a, nr_b;
	uint64_t seed;
	unsigned int nr; /* of comparisons that must hold together */
};

/* Bonferroni: each of @nr intervals misses a twentieth divided by @nr. */
static void bootstrap(const struct sides *s, struct interval *out)
{
	double *room =
		xcalloc(s->nr_a > s->nr_b ? s->nr_a : s->nr_b, sizeof(*room));
	double *ratio = xcalloc(STATISTICS_RESAMPLES, sizeof(*ratio));
	size_t i, outside = STATISTICS_RESAMPLES / (40 * s->nr);
	uint64_t seed = s->seed;

	for (i = 0; i < STATISTICS_RESAMPLES; i++) {
		double x = resample(s->a, s->nr_a, room, &seed);
		double y = resample(s->b, s->nr_b, room, &seed);

		ratio[i] = ratio_of(x, y);
	}
	qsort(ratio, STATISTICS_RESAMPLES, sizeof(*ratio), ascending);
	out->low = ratio[outside];
	out->high = ratio[STATISTICS_RESAMPLES - 1 - outside];
	free(ratio);
	free(room);
}

static void compare(const double *a, const double *b, struct sides *s,
		    struct interval *out)
{
	s->a = xcalloc(s->nr_a, sizeof(*s->a));
	s->b = xcalloc(s->nr_b, sizeof(*s->b));
	out->ratio = out->low = out->high = NAN;
	s->nr_a = drop_unknown(a, s->nr_a, s->a);
	s->nr_b = drop_unknown(b, s->nr_b, s->b);
	if (s->nr_a && s->nr_b)
		out->ratio = ratio_of(statistics_median(s->a, s->nr_a),
				      statistics_median(s->b, s->nr_b));
	if (s->nr_a >= STATISTICS_LEAST && s->nr_b >= STATISTICS_LEAST)
		bootstrap(s, out);
	free(s->a);
	free(s->b);
}

void statistics_ratio(const double *a, size_t nr_a, const double *b,
		      size_t nr_b, uint64_t seed, struct interval *out)
{
	struct sides s = { .nr_a = nr_a, .nr_b = nr_b, .seed = seed, .nr = 1 };

	compare(a, b, &s, out);
}

void statistics_ratio_among(const double *a, size_t nr_a, const double *b,
			    size_t nr_b, unsigned int nr, struct interval *out)
{
	struct sides s = {
		.nr_a = nr_a, .nr_b = nr_b, .seed = nr, .nr = nr ? nr : 1
	};

	compare(a, b, &s, out);
}

enum verdict statistics_verdict(const struct interval *i)
{
	if (isnan(i->low) || isnan(i->high))
		return VERDICT_UNKNOWN;
	if (i->high < 0.99)
		return VERDICT_LESS;
	if (i->low > 1.01)
		return VERDICT_MORE;
	return VERDICT_SAME;
}
