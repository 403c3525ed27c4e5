/* SPDX-License-Identifier: MIT */
/*
 * Medians, and how sure a ratio of medians is.
 */
#ifndef QUIRE_CLI_STATISTICS_H
#define QUIRE_CLI_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

enum {
	STATISTICS_RESAMPLES = 4000,
	STATISTICS_LEAST = 5, /* samples a side below which nothing is sure */
};

struct interval {
	double ratio;	  /* median of a / median of b */
	double low, high; /* 95 % bootstrap interval; NAN: too few samples */
};

enum verdict {
	VERDICT_UNKNOWN, /* too few samples, or a value is not known */
	VERDICT_SAME,	 /* the interval does not exclude 1 +- 1 % */
	VERDICT_LESS,
	VERDICT_MORE,
};

/* statistics_median - NAN for no samples; NAN samples must be left out */
double statistics_median(const double *v, size_t n);

/*
 * statistics_ratio - compare @a with @b, two unpaired sets of samples
 * NAN samples are left out.  The same input gives the same answer: @seed
 * starts the generator.  All of @out is NAN if there is nothing to compare.
 */
void statistics_ratio(const double *a, size_t nr_a, const double *b,
		      size_t nr_b, uint64_t seed, struct interval *out);

/*
 * statistics_ratio_among - the same for one of @nr comparisons made together
 * The intervals are wider, so that all of them hold at 95 %.
 */
void statistics_ratio_among(const double *a, size_t nr_a, const double *b,
			    size_t nr_b, unsigned int nr, struct interval *out);

enum verdict statistics_verdict(const struct interval *i);

/*
 * statistics_random - next number of the generator (splitmix64) below @bound
 * Also used to shuffle the order of runs.
 */
uint32_t statistics_random(uint64_t *state, uint32_t bound);

#endif /* QUIRE_CLI_STATISTICS_H */
