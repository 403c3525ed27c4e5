/* SPDX-License-Identifier: MIT */
/*
 * Samples of a bench, by case, variant and metric.
 */
#ifndef QUIRE_CLI_BENCH_SERIES_H
#define QUIRE_CLI_BENCH_SERIES_H

#include "rows.h"

#include <stddef.h>
#include <stdio.h>

struct bench_metric {
	const char *name;
	const char *unit;
	const char *better; /* "lower" or "higher" */
};

/* bench_metric_find - the metric of that name; NULL if there is none */
const struct bench_metric *bench_metric_find(const char *name);

struct series {
	const char *bench; /* constant */
	char *name;	   /* of the case */
	char *variant;
	const struct bench_metric *metric;
	size_t nr;
	double *v;
};

struct series_set {
	size_t nr;
	struct series *list;
};

/* Which series: constant while the call lasts. */
struct series_key {
	const char *bench, *name, *variant, *metric;
};

/* series_declare - make it, without samples: tables keep this order */
void series_declare(struct series_set *set, const struct series_key *key);

void series_add(struct series_set *set, const struct series_key *key, double v);

/* series_find - NULL if there is none */
const struct series *series_find(const struct series_set *set,
				 const struct series_key *key);

/* series_median - NAN without samples; @s may be NULL */
double series_median(const struct series *s);

/* series_compare - @a against @b, either may be NULL */
void series_compare(const struct series *a, const struct series *b,
		    struct comparison *out);

/* series_scaled - a copy, each sample times @by; series_drop() ends it */
struct series *series_scaled(const struct series *s, double by);
void series_drop(struct series *s);

void series_free(struct series_set *set);

/* Cells of tables: text padded by what is seen. */
void cell_left(FILE *f, const char *s, int width);
void cell_right(FILE *f, const char *s, int width);

/* cell_ratio - ratio and interval: 7 + 14 columns */
void cell_ratio(FILE *f, const struct comparison *c);
/* cell_verdict - 2 + 23 columns */
void cell_verdict(FILE *f, const struct comparison *c, const char *better);

#endif /* QUIRE_CLI_BENCH_SERIES_H */
