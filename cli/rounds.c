/* SPDX-License-Identifier: MIT */
/*
 * Running the command of `quire measure`.
 *
 * In each round every row runs once, so slow changes of the machine meet all
 * rows alike.  A row that always ran after the same other row would inherit
 * its caches and clock: the order of a round is a shuffled one, turned by one
 * place each round, shuffled anew when every row has been at every place.
 * The generator starts from a fixed number: two measurements differ by the
 * machine, not by us.
 *
 * Each run has its own directory of records, emptied afterwards.
 */
#include "rounds.h"
#include "child.h"
#include "cli.h"
#include "paths.h"
#include "scratch.h"
#include "tally.h"
#include "text.h"
#include "variables.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_SEED = 1 };

/* What one run left. */
struct run_result {
	struct child_result child;
	struct tally tally;
	struct sample sample;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void clear_progress(const struct rounds *r)
{
	if (r->progress)
		fputs("\r\033[K", stderr);
}

static void show_progress(struct rounds *r, const char *row)
{
	uint64_t now = now_ns();
	double each, left;

	if (!r->progress)
		return;
	if (r->done < 2) {
		/* the first run warms caches up and tells nothing */
		r->started_ns = now;
		fprintf(stderr, "\r\033[Kquire: run %u of %u: %s", r->done + 1,
			r->planned, row);
		return;
	}
	each = (double)(now - r->started_ns) * 1e-9 / (r->done - 1);
	left = each * (r->planned - r->done);
	fprintf(stderr, "\r\033[Kquire: run %u of %u: %s, %s left", r->done + 1,
		r->planned, row, spell_seconds(left).s);
}

static void set_files(const struct rounds *r, bool show,
		      struct child_spec *spec)
{
	spec->fd[0] = r->spool.fd;
	spec->fd[1] = spec->fd[2] = r->fd_null;
	if (show) {
		spec->fd[1] = r->stdout_taken ? STDERR_FILENO : -1;
		spec->fd[2] = -1;
	}
	spool_rewind(&r->spool);
}

/* Run once; the records stay in @dir. */
static int run_in(struct rounds *r, const struct row *row, bool show,
		  const char *dir, struct child_result *child)
{
	struct child_spec spec = {
		.path = r->command->path,
		.argv = r->command->argv,
		.timeout_s = r->timeout_s,
	};
	char *options = xasprintf(
		"%s%sstat_dir=%s", row->id == ROW_QUIRE ? r->keys : "",
		row->id == ROW_QUIRE && *r->keys ? "," : "", dir);
	struct variables v;
	int rc;

	row_variables(row, !program_harmed(&r->command->program), options, &v);
	spec.envp = v.list;
	set_files(r, show, &spec);
	show_progress(r, row->name);
	if (show)
		clear_progress(r);
	rc = child_run(&spec, child);
	clear_progress(r);
	r->done++;
	variables_free(&v);
	free(options);
	if (rc)
		return command_failed(r->command, -rc);
	return child_stopped() ? CLI_SIGNAL + child_stopped() : 0;
}

static int run_once(struct rounds *r, const struct row *row, bool show,
		    struct run_result *out)
{
	uint64_t own_peak = sample_own_peak();
	char *dir = scratch_sub("run");
	int rc;

	if (!dir)
		return CLI_OWN;
	rc = run_in(r, row, show || r->show, dir, &out->child);
	if (!rc) {
		tally_read(&out->tally, dir, out->child.pid);
		sample_take(&out->sample, &out->child, &out->tally, own_peak);
	}
	scratch_remove(dir);
	free(dir);
	return rc;
}

/* Rows from @first on that run. */
static unsigned int nr_running(const struct rounds *r, int first)
{
	unsigned int n = 0;
	int i;

	for (i = first; i < NR_ROWS; i++)
		n += row_runs(r->rows, (enum row_id)i);
	return n;
}

/* Plan anew; the rows from @next on are still to be warmed up. */
static void replan(struct rounds *r, unsigned int nr_recorded, int next)
{
	r->planned = r->done + r->warm_ups * nr_running(r, next) +
		     r->nr * nr_running(r, 0) + nr_recorded;
}

static void note_end(struct row *row, const struct child_result *child,
		     bool first)
{
	int code = child_exit_code(child->status);

	row->ran = true;
	if (child->timed_out)
		row->nr_timed_out++;
	else if (first)
		row->exit_code = code;
	else if (code != row->exit_code)
		row->nr_strange++;
}

/* A wrapper that does not find its program: no use to go on. */
static int check_first(const struct rounds *r, const struct row *row)
{
	if (row->id != ROW_AS_IS || (row->exit_code != CLI_NOT_FOUND &&
				     row->exit_code != CLI_NOT_EXECUTABLE))
		return 0;
	say("'%s' ends with %d: its command is not found or not executable",
	    r->command->argv[0], row->exit_code);
	return row->exit_code;
}

/* All warm-ups of one row; its first decides whether it has an effect. */
static int warm_up(struct rounds *r, struct row *row)
{
	struct run_result result;
	unsigned int i;
	int rc;

	for (i = 0; i < r->warm_ups && !row->idle; i++) {
		rc = run_once(r, row, row->id == ROW_AS_IS && i == 0, &result);
		if (rc)
			return rc;
		note_end(row, &result.child, i == 0);
		rc = check_first(r, row);
		if (rc)
			return rc;
		if (row->id == ROW_AS_IS && i == 0)
			rows_forecast(r->rows, &result.tally,
				      &r->command->program, r->machine);
		else if (i == 0)
			row_judge(row, &result.tally);
	}
	return 0;
}

static int warm_up_all(struct rounds *r, unsigned int nr_recorded)
{
	int i, rc = 0;

	for (i = 0; i < NR_ROWS && !rc; i++) {
		if (!row_runs(r->rows, (enum row_id)i))
			continue;
		rc = warm_up(r, &r->rows->row[i]);
		replan(r, nr_recorded, i + 1);
	}
	return rc;
}

static void shuffle(enum row_id *order, unsigned int n, uint64_t *state)
{
	unsigned int i, k;

	for (i = n; i > 1; i--) {
		enum row_id swap = order[i - 1];

		k = statistics_random(state, i);
		order[i - 1] = order[k];
		order[k] = swap;
	}
}

static int one_round(struct rounds *r, const enum row_id *order, unsigned int n,
		     unsigned int turn)
{
	struct run_result result;
	struct row *row;
	unsigned int i;
	int rc;

	for (i = 0; i < n; i++) {
		row = &r->rows->row[order[(i + turn) % n]];
		rc = run_once(r, row, false, &result);
		if (rc)
			return rc;
		note_end(row, &result.child, false);
		row_add(row, &result.sample);
	}
	return 0;
}

unsigned int rounds_planned(struct rounds *r, unsigned int nr_recorded)
{
	replan(r, nr_recorded, 0);
	return r->planned;
}

int rounds_run(struct rounds *r, unsigned int nr_recorded)
{
	unsigned int n = 0, round;
	enum row_id order[NR_ROWS];
	uint64_t state = ROUNDS_SEED;
	int i, rc;

	replan(r, nr_recorded, 0);
	rc = warm_up_all(r, nr_recorded);
	if (rc)
		return rc;
	for (i = 0; i < NR_ROWS; i++)
		if (row_runs(r->rows, (enum row_id)i))
			order[n++] = (enum row_id)i;
	for (round = 0; round < r->nr && !rc; round++) {
		if (round % n == 0)
			shuffle(order, n, &state);
		rc = one_round(r, order, n, round % n);
	}
	return rc;
}

int rounds_record(struct rounds *r, char **dir)
{
	struct row recorder = { .id = ROW_AS_IS, .name = "recorder" };
	struct child_result child;
	int rc;

	*dir = scratch_sub("record");
	recorder.preload = paths_own_library("libquire-record.so");
	if (recorder.preload)
		recorder.preload = scratch_preloadable(recorder.preload);
	if (!*dir || !recorder.preload) {
		say("libquire-record.so is not found; QUIRE_LIBDIR can name its directory");
		free(*dir);
		*dir = NULL;
		return CLI_OWN;
	}
	rc = run_in(r, &recorder, r->show, *dir, &child);
	free(recorder.preload);
	return rc;
}
