/* SPDX-License-Identifier: MIT */
/*
 * quire bench time_bench: what the primitives cost that can protect a list, a
 * page in each of the modes that are made of them, and how far the difference
 * of two modes is what the primitives foretell.
 */
#include "bench.h"
#include "bench_child.h"
#include "bench_peers.h"
#include "cli.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "bench-primitives"

static const struct item {
	const char *name;
	const char *text;
	const char *there; /* its counterpart in a kernel */
} items[] = {
	{ "empty_loop", "empty loop", "empty loop" },
	{ "function_call", "function call", "function call" },
	{ "function_pointer", "call by pointer", "call by pointer" },
	{ "rseq_cpu_id", "CPU by rseq", "preemption off and on" },
	{ "getcpu", "sched_getcpu", "" },
	{ "lock_cmpxchg", "lock cmpxchg", "" },
	{ "trylock", "cmpxchg and store", "spin lock, unlock" },
	{ "spin", "pthread spin pair", "spin lock, unlock" },
	{ "mutex", "pthread mutex pair", "" },
	{ "signals", "signals block, restore", "irq save, restore" },
	{ "signals_block", "signals block", "irq disable" },
	{ "signals_spin", "the same around spin", "irq save around spin" },
	{ "system_call", "system call", "" },
	{ "page_rseq", "page, pcp=rseq", "page, no irq masked" },
	{ "page_lock", "page, pcp=lock", "" },
	{ "page_mask", "page, pcp=mask", "page, irqs masked" },
	{ "page_off", "page, pcp=off", "page, zone lock" },
};
enum { NR_ITEMS = sizeof(items) / sizeof(*items) };

/*
 * A page allocated and freed is two operations, each of which is protected.
 * What a mode costs more than another is what it does more:
 */
static const struct saving {
	const char *text;
	const char *dear, *cheap; /* pages */
	const char *pieces[2];	  /* primitives, each twice; NULL: none */
} savings[] = {
	{ "mask − lock", "page_mask", "page_lock", { "signals", NULL } },
	{ "lock − rseq", "page_lock", "page_rseq", { "trylock", NULL } },
	{ "mask − rseq", "page_mask", "page_rseq", { "signals", "trylock" } },
};
enum { NR_SAVINGS = sizeof(savings) / sizeof(*savings) };

static const struct series *get(const struct bench *b, const char *name,
				const char *metric)
{
	struct series_key key = { "time_bench", name, "", metric };

	return series_find(&b->series, &key);
}

/* The case is in the place of the variant: series are by case. */
static void rename_cases(struct bench *b)
{
	size_t i;

	for (i = 0; i < b->series.nr; i++) {
		struct series *s = &b->series.list[i];

		if (strcmp(s->bench, "time_bench") || strcmp(s->name, "item"))
			continue;
		free(s->name);
		s->name = s->variant;
		s->variant = xstrdup("");
	}
}

static void note_missing(struct bench *b)
{
	int i;

	for (i = 0; i < NR_ITEMS; i++)
		if (!get(b, items[i].name, "elem"))
			bench_note(b, items[i].name,
				   xstrdup("this machine does not have it"));
}

int bench_time(struct bench *b)
{
	struct series_key key = { "time_bench", "item", "", NULL };
	const char *words[] = { NULL };
	struct bench_run run = { .words = words };
	char *program = peers_program(PROGRAM);
	unsigned int i;
	int rc = 0;

	if (!program) {
		bench_note(b, "time_bench",
			   xstrdup(PROGRAM " was not built or installed"));
		return 0;
	}
	run.program = program;
	b->done = 0;
	b->planned = b->options->rounds;
	for (i = 0; i < b->options->rounds && !rc; i++) {
		bench_progress(b, "time_bench", "");
		rc = bench_child_of(b, &run, &key);
		bench_progress_clear(b);
		bench_note_load(b, "time_bench");
	}
	rename_cases(b);
	if (!rc)
		note_missing(b);
	free(program);
	return rc;
}

/* ---- the tables ---- */

static double ns_of(const struct bench *b, const char *name)
{
	return name ? series_median(get(b, name, "elem")) : 0;
}

static void put_item(const struct bench *b, const struct item *item, FILE *f)
{
	const struct series *s = get(b, item->name, "elem");
	double low = INFINITY, high = -INFINITY;
	char text[64];
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr; i++) {
		low = fmin(low, s->v[i]);
		high = fmax(high, s->v[i]);
	}
	cell_left(f, item->text, 25);
	snprintf(text, sizeof(text), "%.2f", series_median(s));
	cell_right(f, text, 10);
	snprintf(text, sizeof(text), "%.2f–%.2f", low, high);
	cell_right(f, text, 18);
	snprintf(text, sizeof(text), "%.0f",
		 series_median(get(b, item->name, "cycles")));
	cell_right(f, text, 8);
	fprintf(f, "  %s\n", item->there);
}

static void put_saving(const struct bench *b, const struct saving *s, FILE *f)
{
	double is = ns_of(b, s->dear) - ns_of(b, s->cheap);
	double told = 2 * (ns_of(b, s->pieces[0]) + ns_of(b, s->pieces[1]));
	char text[64];

	if (isnan(is) || isnan(told))
		return;
	cell_left(f, s->text, 25);
	snprintf(text, sizeof(text), "%.2f", is);
	cell_right(f, text, 10);
	snprintf(text, sizeof(text), "%.2f", told);
	cell_right(f, text, 10);
	snprintf(text, sizeof(text), "%+.0f %%", 100 * (is / told - 1));
	cell_right(f, text, 8);
	fputc('\n', f);
}

static void put_ratio(const struct bench *b, const char *dear, FILE *f)
{
	struct comparison c;

	series_compare(get(b, dear, "elem"), get(b, "page_rseq", "elem"), &c);
	if (isnan(c.against.ratio))
		return;
	fprintf(f, "%s takes %.1f times as long as page_rseq", dear,
		c.against.ratio);
	if (isfinite(c.against.low))
		fprintf(f, " (%.1f–%.1f)", c.against.low, c.against.high);
	fputc('\n', f);
}

void bench_time_print(const struct bench *b, FILE *f)
{
	int i;

	cell_left(f, "", 25);
	cell_right(f, "ns", 10);
	cell_right(f, "from–to", 18);
	cell_right(f, "cycles", 8);
	fputs("  in a kernel\n", f);
	for (i = 0; i < NR_ITEMS; i++)
		put_item(b, &items[i], f);
	cell_left(f, "\nsaved, of a page", 25);
	cell_right(f, "ns", 11);
	cell_right(f, "foretold", 10);
	cell_right(f, "off by", 8);
	fputc('\n', f);
	for (i = 0; i < NR_SAVINGS; i++)
		put_saving(b, &savings[i], f);
	put_ratio(b, "page_lock", f);
	put_ratio(b, "page_mask", f);
	put_ratio(b, "page_off", f);
	fputs("a page: allocated and freed, two operations; foretold: twice the pieces that one mode has more\n",
	      f);
}
