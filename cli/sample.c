/* SPDX-License-Identifier: MIT */
/*
 * What is measured of one run.
 *
 * Peak: Linux starts ru_maxrss of a child at our own peak, so a value that is
 * not above it says nothing; then the record is asked.
 *
 * Exit time: from the last moment in which the process could do something to
 * the moment when it was reaped; taking a big address space down is work that
 * no profile of the program shows.
 */
#include "sample.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

const struct metric_info metric_info[NR_METRICS] = {
	[METRIC_WALL] = { "wall", "s" },
	[METRIC_USER] = { "user", "s" },
	[METRIC_SYSTEM] = { "system", "s" },
	[METRIC_FAULTS] = { "faults", "faults" },
	[METRIC_PEAK_RSS] = { "peak_rss", "bytes" },
	[METRIC_END_RSS] = { "end_rss", "bytes" },
	[METRIC_EXIT] = { "exit", "s" },
};

enum metric metric_find(const char *name, size_t len)
{
	int i;

	for (i = 0; i < NR_METRICS; i++)
		if (strlen(metric_info[i].name) == len &&
		    !memcmp(metric_info[i].name, name, len))
			break;
	return (enum metric)i;
}

double sample_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

uint64_t sample_own_peak(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss * 1024;
}

static double peak_of(const struct child_result *child, const struct tally *t,
		      uint64_t own_peak)
{
	uint64_t peak = (uint64_t)child->usage.ru_maxrss * 1024;

	if (peak <= own_peak)
		peak = 0;
	if (t->rss_peak > peak)
		peak = t->rss_peak;
	return peak ? (double)peak : NAN;
}

static double exit_of(const struct child_result *child, const struct tally *t)
{
	if (!t->has_main || !t->main.ended || !WIFEXITED(child->status) ||
	    t->main.last_user_ns < child->start_ns ||
	    t->main.last_user_ns > child->end_ns)
		return NAN;
	return (double)(child->end_ns - t->main.last_user_ns) * 1e-9;
}

void sample_take(struct sample *s, const struct child_result *child,
		 const struct tally *t, uint64_t own_peak)
{
	const struct rusage *u = &child->usage;

	s->v[METRIC_WALL] = (double)(child->end_ns - child->start_ns) * 1e-9;
	s->v[METRIC_USER] = sample_seconds(u->ru_utime);
	s->v[METRIC_SYSTEM] = sample_seconds(u->ru_stime);
	s->v[METRIC_FAULTS] = (double)u->ru_minflt + (double)u->ru_majflt;
	s->v[METRIC_PEAK_RSS] = peak_of(child, t, own_peak);
	s->v[METRIC_END_RSS] = t->rss_end ? (double)t->rss_end : NAN;
	s->v[METRIC_EXIT] = exit_of(child, t);
}
