/* SPDX-License-Identifier: MIT */
/*
 * quire bench readtwice: groups that read what is larger than their limit, each
 * with two readers, and either a lock for each group's lists or one for all.
 *
 * After case-lru-file-readtwice of vm-scalability in containers, which is what
 * such locks were measured with when they were proposed.  What a run does is in
 * bench_twice.c.  In every round each lock runs once with each number of
 * groups, in changing order.
 */
#include "bench_readtwice.h"
#include "bench_child.h"
#include "bench_memory.h"
#include "cli.h"
#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const readtwice_lock[READTWICE_LOCKS] = { "group", "node" };

enum { THOUSAND = 1000, CELL = 12 };

/* "groups:40" */
static struct spelled variant_of(const struct bench_options *o, size_t i)
{
	struct spelled out;

	snprintf(out.s, sizeof(out.s), "groups:%" PRIu64, o->groups.v[i]);
	return out;
}

static double duration(const struct bench_options *o)
{
	return o->duration > 0 ? o->duration : READTWICE_SECONDS;
}

static int run_one(struct bench *b, const char *lock, const char *variant)
{
	struct series_key key = { "readtwice", lock, variant, NULL };
	char *seconds = xasprintf("%.9g", duration(b->options));
	const char *words[] = { ".twice", lock, strchr(variant, ':') + 1,
				seconds, NULL };
	int rc;

	bench_progress(b, lock, variant);
	rc = bench_child(b, words, &key, false);
	bench_progress_clear(b);
	free(seconds);
	return rc;
}

static int run_round(struct bench *b, uint64_t *seed)
{
	const struct bench_options *o = b->options;
	size_t nr = o->locks.nr * o->groups.nr, i, k, t;
	size_t *order = xcalloc(nr, sizeof(*order));
	int rc = 0;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		k = statistics_random(seed, (uint32_t)i);
		t = order[i - 1];
		order[i - 1] = order[k];
		order[k] = t;
	}
	for (i = 0; i < nr && !rc; i++)
		rc = run_one(b,
			     readtwice_lock[o->locks.v[order[i] % o->locks.nr]],
			     variant_of(o, order[i] / o->locks.nr).s);
	free(order);
	return rc;
}

/* What the tables go by. */
static void declare(struct bench *b)
{
	const struct bench_options *o = b->options;
	struct series_key key = { "readtwice", NULL, NULL, "rate" };
	struct spelled variant;
	size_t i, k;

	for (i = 0; i < o->groups.nr; i++) {
		variant = variant_of(o, i);
		key.variant = variant.s;
		for (k = 0; k < o->locks.nr; k++) {
			key.name = readtwice_lock[o->locks.v[k]];
			series_declare(&b->series, &key);
		}
	}
}

static int check_room(const struct bench *b)
{
	const struct bench_list *l = &b->options->groups;
	uint64_t room = memory_available(), most = 0, need;
	size_t i;

	for (i = 0; i < l->nr; i++)
		most = l->v[i] > most ? l->v[i] : most;
	need = most * READTWICE_LIMIT * MEMORY_PAGE + MEMORY_SPARE;
	if (need <= room)
		return 0;
	return usage_error("bench readtwice: needs %s, and %s are available",
			   spell_bytes((double)need).s,
			   spell_bytes((double)room).s);
}

int bench_readtwice(struct bench *b)
{
	const struct bench_options *o = b->options;
	uint64_t seed = 20201105;
	unsigned int i;
	int rc = check_room(b);

	b->done = 0;
	b->planned = (unsigned int)(o->locks.nr * o->groups.nr) * o->rounds;
	if (!rc && !o->quiet)
		say("bench readtwice: %u runs of %.1f s", b->planned,
		    duration(o));
	if (!rc)
		declare(b);
	for (i = 0; i < o->rounds && !rc; i++) {
		rc = run_round(b, &seed);
		bench_note_load(b, "readtwice");
	}
	return rc;
}

/* ---- the tables ---- */

static const struct series *get(const struct bench *b, const char *lock,
				const char *variant, const char *metric)
{
	struct series_key key = { "readtwice", lock, variant, metric };

	return series_find(&b->series, &key);
}

/* Of the runs, about their mean: what was printed for the proposal. */
static double mean_of(const struct series *s, double *deviation)
{
	double sum = 0, squares = 0, mean;
	size_t i;

	for (i = 0; i < s->nr; i++)
		sum += s->v[i];
	mean = sum / (double)s->nr;
	for (i = 0; i < s->nr; i++)
		squares += (s->v[i] - mean) * (s->v[i] - mean);
	*deviation = s->nr > 1 ? sqrt(squares / (double)(s->nr - 1)) : NAN;
	return mean;
}

static void put_number(FILE *f, double value, int digits)
{
	char text[64] = "–";

	if (isfinite(value))
		snprintf(text, sizeof(text), "%.*f", digits, value);
	cell_right(f, text, CELL);
}

static void put_row(const struct bench *b, const char *lock,
		    const char *variant, FILE *f)
{
	static const struct {
		const char *metric;
		double scale;
		int digits;
	} columns[] = {
		{ "hits", 1, 3 },
		{ "lock_takes", THOUSAND, 1 },
		{ "contended", THOUSAND, 3 },
		{ "lock_hold", 1, 1 },
	};
	const struct series *s = get(b, lock, variant, "rate");
	double deviation, mean;
	char text[64];
	size_t i;

	if (!s || !s->nr)
		return;
	mean = mean_of(s, &deviation);
	snprintf(text, sizeof(text), "%s %s", lock, variant);
	cell_left(f, text, 18);
	cell_right(f, spell_count(mean).s, CELL);
	put_number(f, deviation, 0);
	for (i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		put_number(f,
			   columns[i].scale *
				   series_median(get(b, lock, variant,
						     columns[i].metric)),
			   columns[i].digits);
	fputc('\n', f);
}

static void put_heads(FILE *f)
{
	static const char *const heads[] = { "touches/s",  "deviation",
					     "hits",	   "takes/1000",
					     "cont./1000", "cycles held" };
	size_t i;

	cell_left(f, "", 18);
	for (i = 0; i < sizeof(heads) / sizeof(*heads); i++)
		cell_right(f, heads[i], CELL);
	fputc('\n', f);
}

/* How the group's lock does against the node's, where both ran. */
static void put_against(const struct bench *b, const char *variant, FILE *f)
{
	double here = series_median(get(b, "group", variant, "contended"));
	double there = series_median(get(b, "node", variant, "contended"));
	struct comparison c;

	series_compare(get(b, "group", variant, "rate"),
		       get(b, "node", variant, "rate"), &c);
	if (isnan(c.against.ratio))
		return;
	cell_left(f, variant, 18);
	cell_ratio(f, &c);
	cell_verdict(f, &c, "higher");
	if (here > 0 && there >= here)
		fprintf(f, "  %.1f times fewer", there / here);
	else if (here > 0 && there > 0)
		fprintf(f, "  %.1f times more", here / there);
	else if (here > 0)
		fputs("  some, and none", f);
	else if (there > 0)
		fputs("  none, and some", f);
	else
		fputs("  none in either", f);
	fputc('\n', f);
}

static bool both_ran(const struct bench *b)
{
	return b->options->locks.nr == READTWICE_LOCKS;
}

void bench_readtwice_print(const struct bench *b, FILE *f)
{
	const struct bench_options *o = b->options;
	size_t i, k;

	put_heads(f);
	for (i = 0; i < o->groups.nr; i++)
		for (k = 0; k < o->locks.nr; k++)
			put_row(b, readtwice_lock[o->locks.v[k]],
				variant_of(o, i).s, f);
	if (both_ran(b)) {
		cell_left(f, "\ngroup / node", 19);
		cell_right(f, "rate", 7);
		cell_right(f, "95 %", 14);
		cell_left(f, "  verdict", 25);
		fputs("  contended takes of a touch\n", f);
	}
	for (i = 0; both_ran(b) && i < o->groups.nr; i++)
		put_against(b, variant_of(o, i).s, f);
	fputs("touches/s: of one reader; mean and deviation over the rounds; takes, contended takes and cycles: of a touch\n",
	      f);
}
