/* SPDX-License-Identifier: MIT */
/* The result of `quire run` as JSON: one sample of each metric, counters. */
#include "run_result.h"
#include "result.h"
#include "run_report.h"
#include "sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void add_row(struct result *r, const char *metric, const char *unit,
		    double value)
{
	struct result_key key = { "run", "quire", metric, unit, "lower" };

	result_row(r, &key, &value, 1);
}

static void add_rows(struct result *r, const struct tally *t,
		     const struct child_result *child)
{
	const struct rusage *u = &child->usage;

	add_row(r, "wall", "s",
		(double)(child->end_ns - child->start_ns) * 1e-9);
	add_row(r, "user", "s", sample_seconds(u->ru_utime));
	add_row(r, "system", "s", sample_seconds(u->ru_stime));
	add_row(r, "faults", "faults",
		(double)u->ru_minflt + (double)u->ru_majflt);
	add_row(r, "peak_rss", "bytes", t->nr ? (double)t->rss_peak : NAN);
	add_row(r, "end_rss", "bytes", t->nr ? (double)t->rss_end : NAN);
}

int run_result(FILE *f, const struct command *command, const struct tally *t,
	       const struct child_result *child)
{
	struct quire_process sum;
	char *reason = run_report_reason(t, child, &command->program);
	struct machine machine;
	struct result *r;
	int rc;

	tally_sum(t, &sum);
	machine_look(&machine);
	r = result_new(&machine);
	result_words(r, "command", command->argv);
	result_number(r, "exit_code", child_exit_code(child->status));
	result_number(r, "nr_processes", t->nr);
	if (reason)
		result_note(r, "no_effect", "quire", reason);
	if (t->nr)
		result_process(r, &sum);
	add_rows(r, t, child);
	errno = 0;
	rc = result_write(r, f);
	if (fclose(f) && !rc)
		rc = -errno;
	result_free(r);
	free(reason);
	return rc;
}
