/* SPDX-License-Identifier: MIT */
/*
 * The prescription: the cheapest thing that gets the gain.
 *
 *   nothing < a setting of glibc < another malloc library < quire
 *
 * Of the rows that beat as-is beyond noise the fastest sets the mark; a row
 * with a better median that noise may have given it does not.  If there is
 * none, nothing is prescribed.  Otherwise the cheapest of them is taken that
 * is not shown to be more than 1 % slower than the mark; among equally cheap
 * ones the faster.  Rows that ended otherwise
 * than as-is do not count, however fast they were.
 *
 * With six rows one in four measurements would find a 95 % interval that
 * excludes 1 by chance alone: to be prescribed, a row must beat as-is at the
 * level that holds for all rows together.
 *
 * "Not memory": of the processor time of as-is, all but the faulting of pages
 * that the program had before.  Their number comes from the recorder, their
 * cost from a probe (machine.c); it is an estimate, and its parts are printed.
 */
#include "prescribe.h"
#include "table.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PRESCRIBE_SEED = 7,
	PRESCRIBE_NOISY = 5,  /* percent */
	PRESCRIBE_HUGE = 512, /* pages in a huge one */
	PRESCRIBE_MEMORY = 5, /* percent of the time that is worth a word */
};

static bool counts(const struct rows *rows, enum row_id id)
{
	return row_runs(rows, id) && !row_failed(rows, id) &&
	       isfinite(rows->row[id].compared[METRIC_WALL].median);
}

/* Not shown to be more than 1 % slower than @best? */
static bool is_as_good(const struct row *row, const struct row *best)
{
	struct interval i;

	if (row == best)
		return true;
	statistics_ratio(row->samples[METRIC_WALL], row->nr,
			 best->samples[METRIC_WALL], best->nr, PRESCRIBE_SEED,
			 &i);
	return i.low <= 1.01;
}

static bool beats_as_is(const struct rows *rows, enum row_id id)
{
	const struct row *row = &rows->row[id];
	const struct row *as_is = &rows->row[ROW_AS_IS];
	struct interval among;
	unsigned int nr = 0;
	int i;

	for (i = ROW_AS_IS + 1; i < NR_ROWS; i++)
		nr += counts(rows, (enum row_id)i);
	statistics_ratio_among(row->samples[METRIC_WALL], row->nr,
			       as_is->samples[METRIC_WALL], as_is->nr, nr,
			       &among);
	return statistics_verdict(&among) == VERDICT_LESS;
}

/* Of those that beat as-is; as-is itself if none does. */
static enum row_id fastest(const struct rows *rows)
{
	enum row_id best = ROW_AS_IS;
	int i;

	for (i = ROW_AS_IS + 1; i < NR_ROWS; i++)
		if (counts(rows, (enum row_id)i) &&
		    rows->row[i].compared[METRIC_WALL].median <
			    rows->row[best].compared[METRIC_WALL].median &&
		    beats_as_is(rows, (enum row_id)i))
			best = (enum row_id)i;
	return best;
}

static enum row_id choose(const struct rows *rows, enum row_id best)
{
	enum row_id choice = best;
	int i;

	if (best == ROW_AS_IS)
		return ROW_AS_IS;
	for (i = ROW_AS_IS + 1; i < NR_ROWS; i++) {
		const struct row *row = &rows->row[i];
		const struct row *now = &rows->row[choice];

		if (!counts(rows, (enum row_id)i) ||
		    !beats_as_is(rows, (enum row_id)i) ||
		    !is_as_good(row, &rows->row[best]))
			continue;
		if (row->price < now->price ||
		    (row->price == now->price &&
		     row->compared[METRIC_WALL].median <
			     now->compared[METRIC_WALL].median))
			choice = (enum row_id)i;
	}
	return choice;
}

/*
 * Of @pages, those that came in huge ones: with fewer faults than pages, each
 * fault that brought 512 saved 511.
 */
static double pages_in_huge(double pages, double faults)
{
	double huge = (pages - faults) / (PRESCRIBE_HUGE - 1) * PRESCRIBE_HUGE;

	return fmin(fmax(huge, 0), pages);
}

/*
 * The kernel divides processor time into user and system by what it met at its
 * ticks, of 4 ms or so; of a short run the sum is right, the division is luck.
 */
static const double system_known_from = 0.02;

/* Seconds that as-is spends on buying pages again; NAN: not known. */
static double refault_seconds(const struct rows *rows,
			      const struct recording *rec,
			      const struct fault_cost *fault)
{
	const struct comparison *c = rows->row[ROW_AS_IS].compared;
	double again = (double)rec->refaulted_pages;
	double all = again + (double)rec->first_pages, ns;
	double most = c[METRIC_SYSTEM].median;

	if (!rec->known || !isfinite(c[METRIC_SYSTEM].median))
		return NAN;
	if (!rec->refaulted_pages)
		return 0;
	if (fault->page <= 0)
		return NAN;
	ns = fault->page + (fault->huge - fault->page) *
				   pages_in_huge(all, c[METRIC_FAULTS].median) /
				   all;
	if (most < system_known_from)
		most += c[METRIC_USER].median;
	return fmin(most, again * ns * 1e-9);
}

/* Half the width of the widest interval of wall time, as-is against itself too.
 */
static double widest(const struct rows *rows)
{
	double most = 0;
	int i;

	for (i = 0; i < NR_ROWS; i++) {
		const struct interval *w =
			&rows->row[i].compared[METRIC_WALL].against;

		if (row_runs(rows, (enum row_id)i) && w->ratio > 0)
			most = fmax(most, (w->high - w->low) / (2 * w->ratio));
	}
	return most;
}

void prescribe(const struct rows *rows, const struct recording *recording,
	       const struct fault_cost *fault, struct prescription *out)
{
	const struct comparison *as_is = rows->row[ROW_AS_IS].compared;
	double again = refault_seconds(rows, recording, fault);
	double system = as_is[METRIC_SYSTEM].median;
	double all = as_is[METRIC_USER].median + system;

	out->again = again;
	out->best = fastest(rows);
	out->choice = choose(rows, out->best);
	out->noise = widest(rows);
	if (system < system_known_from)
		out->refault = again > 0 ? NAN : again;
	else
		out->refault = again / system;
	out->not_memory = all > 0 ? 1 - again / all : NAN;
}

char *prescribe_line(const struct prescription *p,
		     const struct prescribe_view *view)
{
	const struct row *row = &view->rows->row[p->choice];
	char *cmd = command_quoted(view->command);
	char *line = NULL;

	switch (row->price) {
	case PRICE_NOTHING:
		line = xstrdup(cmd);
		break;
	case PRICE_SETTING:
		line = xasprintf("GLIBC_TUNABLES=%s %s", row->tunables, cmd);
		break;
	case PRICE_LIBRARY:
		line = xasprintf("LD_PRELOAD=%s %s", row->library, cmd);
		break;
	case PRICE_QUIRE:
		line = xasprintf("quire run -- %s", cmd);
		break;
	}
	free(cmd);
	return line;
}

/* "830 blocks of 96 MiB; 62 % of system time …; site: …" */
static void print_seen(const struct prescription *p,
		       const struct prescribe_view *view, FILE *f)
{
	const struct recording *rec = view->recording;

	if (!rec->known)
		return;
	if (!rec->blocks) {
		fprintf(f, "seen: no block of %s or more\n",
			spell_bytes((double)rec->threshold).s);
		return;
	}
	fprintf(f, "seen: %s blocks of %s",
		spell_count((double)rec->class_blocks).s,
		spell_bytes((double)rec->class_size).s);
	if (rec->blocks > rec->class_blocks)
		fprintf(f, " (of %s big blocks)",
			spell_count((double)rec->blocks).s);
	if (isfinite(p->refault))
		fprintf(f, "; %.0f %% of system time is faulting them again",
			100 * p->refault);
	if (rec->site[0] && rec->class_refaulted)
		fprintf(f, "; site: %s", rec->site);
	fputc('\n', f);
}

static void print_memory(const char *what, const struct row *row,
			 const struct row *as_is, enum metric metric, FILE *f)
{
	double now = row->compared[metric].median;
	double before = as_is->compared[metric].median;

	if (isfinite(now) && isfinite(before))
		fprintf(f, "%s %s (as it is: %s)", what, spell_bytes(now).s,
			spell_bytes(before).s);
}

static void print_costs(const struct row *row, const struct row *as_is, FILE *f)
{
	fputs("  costs:  ", f);
	print_memory("peak", row, as_is, METRIC_PEAK_RSS, f);
	print_memory(", at the end", row, as_is, METRIC_END_RSS, f);
	if (row->id == ROW_ENV)
		fputs("; gives nothing back while it runs", f);
	fputc('\n', f);
}

static void print_only_quire(const struct prescribe_view *view, FILE *f)
{
	const struct row *quire = &view->rows->row[ROW_QUIRE];

	if (!counts(view->rows, ROW_QUIRE))
		return;
	fprintf(f,
		"  quire (%.3f) adds: unused memory goes back after the decay time and before\n"
		"          a memory limit is reached, for all threads, on top of any malloc\n",
		quire->compared[METRIC_WALL].against.ratio);
}

static void print_choice(const struct prescription *p,
			 const struct prescribe_view *view, FILE *f)
{
	const struct row *row = &view->rows->row[p->choice];
	const struct row *best = &view->rows->row[p->best];
	char *line = prescribe_line(p, view);
	char gain[64];

	table_verdict(&row->compared[METRIC_WALL], gain, sizeof(gain));
	fprintf(f, "prescription: %s, %s wall time", row->name, gain);
	if (row != best)
		fprintf(f, "; %s is no better beyond noise (%.3f against %.3f)",
			best->name, best->compared[METRIC_WALL].against.ratio,
			row->compared[METRIC_WALL].against.ratio);
	fprintf(f, "\n  paste:  %s\n", line);
	print_costs(row, &view->rows->row[ROW_AS_IS], f);
	if (p->choice != ROW_QUIRE)
		print_only_quire(view, f);
	free(line);
}

static void print_nothing(const struct prescription *p,
			  const struct prescribe_view *view, FILE *f)
{
	const struct recording *rec = view->recording;
	const struct comparison *c = view->rows->row[ROW_AS_IS].compared;

	if (!isfinite(p->not_memory)) {
		fputs("prescription: nothing to gain here\n", f);
		return;
	}
	if (100 * (1 - p->not_memory) < PRESCRIBE_MEMORY)
		fprintf(f,
			"prescription: nothing to gain here: %.1f %% of the time is not memory at all\n",
			100 * p->not_memory);
	else
		fprintf(f,
			"prescription: none, no row is faster beyond noise, though only %.0f %% of the time "
			"is not memory\n",
			100 * p->not_memory);
	fprintf(f,
		"  (processor time %s, %s of it system; %s pages bought again, about %s: a page\n"
		"   costs %.2f us here, %.2f us in a huge page, measured before the runs)\n",
		spell_seconds(c[METRIC_USER].median + c[METRIC_SYSTEM].median)
			.s,
		spell_seconds(c[METRIC_SYSTEM].median).s,
		spell_count((double)rec->refaulted_pages).s,
		spell_seconds(p->again).s, view->fault.page * 1e-3,
		view->fault.huge * 1e-3);
}

void prescribe_print(const struct prescription *p,
		     const struct prescribe_view *view, FILE *f)
{
	const struct comparison *wall =
		&view->rows->row[ROW_AS_IS].compared[METRIC_WALL];

	print_seen(p, view, f);
	if (wall->verdict == VERDICT_UNKNOWN)
		fprintf(f,
			"prescription: none, too few runs to tell (-n %d at least)\n",
			STATISTICS_LEAST);
	else if (p->choice == ROW_AS_IS)
		print_nothing(p, view, f);
	else
		print_choice(p, view, f);
	if (100 * p->noise > PRESCRIBE_NOISY)
		fprintf(f,
			"noisy: wall times are known to ±%.0f %% only; a quieter machine "
			"or more runs (-n) would tell more\n",
			100 * p->noise);
}
