/* SPDX-License-Identifier: MIT */
/*
 * What is measured of one run.
 */
#ifndef QUIRE_CLI_SAMPLE_H
#define QUIRE_CLI_SAMPLE_H

#include "child.h"
#include "tally.h"

#include <stdint.h>

enum metric {
	METRIC_WALL,
	METRIC_USER,
	METRIC_SYSTEM,
	METRIC_FAULTS,
	METRIC_PEAK_RSS,
	METRIC_END_RSS,
	METRIC_EXIT,
	NR_METRICS
};

struct metric_info {
	const char *name; /* as in --fail-if and JSON */
	const char *unit;
};

extern const struct metric_info metric_info[NR_METRICS];

/* metric_find - the number of a name of @len bytes, NR_METRICS if none */
enum metric metric_find(const char *name, size_t len);

struct sample {
	double v[NR_METRICS]; /* NAN: not known */
};

/*
 * sample_take - from what wait4() and the records say
 * @own_peak: our own peak resident size before the run, in bytes
 */
void sample_take(struct sample *s, const struct child_result *child,
		 const struct tally *t, uint64_t own_peak);

/* sample_seconds - a time of getrusage() */
double sample_seconds(struct timeval t);

/* sample_own_peak - what to give to it */
uint64_t sample_own_peak(void);

#endif /* QUIRE_CLI_SAMPLE_H */
