/* SPDX-License-Identifier: MIT */
/*
 * The rows of `quire measure`.
 *
 * A row must never be a silent duplicate of as-is: whether the program uses
 * what the row sets is decided from the records of the warm-up (which object
 * serves its malloc), not from what ought to be.
 *
 * `env` is the setting of glibc that keeps memory.  mmap_max=0 takes big
 * blocks from the heap, trim_threshold keeps the top of the main heap, and
 * top_pad (64 MiB, the largest size of a thread's heap) keeps the heaps of
 * other threads, which trim_threshold alone does not: two threads that each
 * use two blocks of 40 MiB in a loop take 4.1 million page faults without it
 * and 41 thousand with it.  It costs address space only.
 */
#include "rows.h"
#include "cli.h"
#include "paths.h"
#include "scratch.h"
#include "text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_SEED = 20250101 };

static const struct row_kind {
	const char *name;
	enum row_price price;
	const char *tunables;
	const char *files[3]; /* the library, by likeliness */
} kinds[NR_ROWS] = {
	[ROW_AS_IS] = { .name = "as-is", .price = PRICE_NOTHING },
	[ROW_THP] = { .name = "thp",
		      .price = PRICE_SETTING,
		      .tunables = "glibc.malloc.hugetlb=1" },
	[ROW_ENV] = { .name = "env",
		      .price = PRICE_SETTING,
		      .tunables = "glibc.malloc.mmap_max=0:"
				  "glibc.malloc.trim_threshold=17179869184:"
				  "glibc.malloc.top_pad=67108864" },
	[ROW_JEMALLOC] = { .name = "jemalloc",
			   .price = PRICE_LIBRARY,
			   .files = { "libjemalloc.so.2", "libjemalloc.so" } },
	[ROW_MIMALLOC] = { .name = "mimalloc",
			   .price = PRICE_LIBRARY,
			   .files = { "libmimalloc.so.3", "libmimalloc.so.2",
				      "libmimalloc.so" } },
	[ROW_TCMALLOC] = { .name = "tcmalloc",
			   .price = PRICE_LIBRARY,
			   .files = { "libtcmalloc_minimal.so.4",
				      "libtcmalloc.so.4",
				      "libtcmalloc_minimal.so" } },
	[ROW_QUIRE] = { .name = "quire", .price = PRICE_QUIRE },
};

struct row *rows_find(struct rows *rows, const char *name, size_t len)
{
	int i;

	for (i = 0; i < NR_ROWS; i++)
		if (strlen(kinds[i].name) == len &&
		    !memcmp(kinds[i].name, name, len))
			return &rows->row[i];
	return NULL;
}

int rows_ask(struct rows *rows, const char *list)
{
	struct row *row;
	size_t len;
	int i;

	for (i = 0; i < NR_ROWS; i++)
		rows->asked[i] = !list || i == ROW_AS_IS;
	for (; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		row = rows_find(rows, list, len);
		if (!row)
			return usage_error(
				"measure: --rows: '%.*s' is none of as-is, thp, env, "
				"jemalloc, mimalloc, tcmalloc, quire",
				(int)len, list);
		rows->asked[row - rows->row] = true;
	}
	return 0;
}

static char *own_library(const char *file)
{
	char *path = paths_own_library(file);

	if (path)
		return scratch_preloadable(path);
	say("%s is not found; QUIRE_LIBDIR can name its directory", file);
	return NULL;
}

static void find_library(struct row *row, const struct row_kind *kind)
{
	size_t i;

	for (i = 0; !row->library && i < 3 && kind->files[i]; i++)
		row->library = paths_library(kind->files[i]);
	if (row->library)
		row->library = scratch_preloadable(row->library);
	if (row->library)
		return;
	row->missing = true;
	row->idle = xasprintf("%s is not installed", kind->files[0]);
}

static int open_row(struct rows *rows, enum row_id id, size_t nr_rounds)
{
	struct row *row = &rows->row[id];
	int i;

	row->id = id;
	row->name = kinds[id].name;
	row->price = kinds[id].price;
	row->tunables = kinds[id].tunables;
	for (i = 0; i < NR_METRICS; i++)
		row->samples[i] = xcalloc(nr_rounds, sizeof(double));
	if (!rows->asked[id])
		return 0;
	if (id == ROW_QUIRE) {
		row->library = own_library("libquire-preload.so");
		row->preload = row->library ? xstrdup(row->library) : NULL;
		return row->preload ? 0 : CLI_OWN;
	}
	if (kinds[id].files[0])
		find_library(row, &kinds[id]);
	row->preload = row->library
			       ? xasprintf("%s:%s", rows->stamp, row->library)
			       : xstrdup(rows->stamp);
	return 0;
}

int rows_open(struct rows *rows, size_t nr_rounds)
{
	int i, rc = 0;

	rows->stamp = own_library("libquire-stamp.so");
	if (!rows->stamp)
		return CLI_OWN;
	for (i = 0; i < NR_ROWS && !rc; i++)
		rc = open_row(rows, (enum row_id)i, nr_rounds);
	return rc;
}

void rows_close(struct rows *rows)
{
	int i, k;

	for (i = 0; i < NR_ROWS; i++) {
		free(rows->row[i].library);
		free(rows->row[i].preload);
		free(rows->row[i].idle);
		for (k = 0; k < NR_METRICS; k++)
			free(rows->row[i].samples[k]);
	}
	free(rows->stamp);
}

bool row_runs(const struct rows *rows, enum row_id id)
{
	return rows->asked[id] && !rows->row[id].idle;
}

void row_variables(const struct row *row, bool preload, const char *options,
		   struct variables *v)
{
	variables_copy(v, environ);
	if (row->preload && preload)
		variables_add_preload(v, row->preload);
	if (row->tunables)
		variables_add_tunables(v, row->tunables);
	variables_add_options(v, options);
}

static bool is_glibc(const struct tally *t)
{
	return tally_malloc_is(t, "libc.so.6");
}

/* Why a setting of glibc would do nothing; NULL if it may. */
static char *why_setting_idle(const struct tally *as_is,
			      const struct program *program)
{
	if (as_is->nr)
		return is_glibc(as_is)
			       ? NULL
			       : xasprintf(
					 "malloc comes from %s, not from glibc",
					 as_is->nr_mallocs
						 ? text_base(as_is->malloc_from
								     [0])
						 : "elsewhere");
	if (program->kind == PROGRAM_STATIC && program_reads_tunables(program))
		return NULL;
	return xasprintf(
		"%s",
		program_refused(program)
			? program_reason(program)
			: "it does not use glibc's malloc, as far as can be seen");
}

/* Why a preloaded library would do nothing; NULL if it may. */
static char *why_library_idle(const struct row *row, const struct tally *as_is,
			      const struct program *program)
{
	if (!as_is->nr && program_refused(program))
		return xstrdup(program_reason(program));
	if (!as_is->nr)
		return xstrdup("preloaded libraries do not reach the program");
	if (row->price == PRICE_LIBRARY &&
	    tally_malloc_is(as_is, text_base(row->library)))
		return xstrdup("the program uses it already");
	return NULL;
}

static char *why_thp_idle(const struct machine *m)
{
	if (!strcmp(m->thp, "madvise"))
		return NULL;
	if (!strcmp(m->thp, "always"))
		return xstrdup("huge pages are on for all memory already");
	return xstrdup("huge pages are switched off on this machine");
}

void rows_forecast(struct rows *rows, const struct tally *as_is,
		   const struct program *program, const struct machine *m)
{
	struct row *row;
	int i;

	for (i = ROW_AS_IS + 1; i < NR_ROWS; i++) {
		row = &rows->row[i];
		if (!row_runs(rows, (enum row_id)i))
			continue;
		if (i == ROW_THP)
			row->idle = why_thp_idle(m);
		if (row->price == PRICE_SETTING && !row->idle)
			row->idle = why_setting_idle(as_is, program);
		if (row->price > PRICE_SETTING)
			row->idle = why_library_idle(row, as_is, program);
	}
}

void row_judge(struct row *row, const struct tally *t)
{
	const char *from =
		t->nr_mallocs ? text_base(t->malloc_from[0]) : "elsewhere";

	if (row->price < PRICE_LIBRARY)
		return;
	if (!tally_malloc_is(t, text_base(row->library)))
		row->idle = xasprintf("malloc comes from %s instead", from);
	else if (row->id == ROW_QUIRE && !t->counter[QUIRE_COUNTER_span_alloc])
		row->idle = xstrdup("no block is as big as the threshold");
}

void row_add(struct row *row, const struct sample *s)
{
	int i;

	for (i = 0; i < NR_METRICS; i++)
		row->samples[i][row->nr] = s->v[i];
	row->nr++;
}

/* Median of the samples that are known. */
static double known_median(const double *v, size_t n)
{
	double *known = xcalloc(n, sizeof(*known));
	size_t i, nr = 0;
	double m;

	for (i = 0; i < n; i++)
		if (!isnan(v[i]))
			known[nr++] = v[i];
	m = statistics_median(known, nr);
	free(known);
	return m;
}

void rows_compare(struct rows *rows)
{
	const struct row *as_is = &rows->row[ROW_AS_IS];
	int i, k;

	for (i = 0; i < NR_ROWS; i++) {
		for (k = 0; k < NR_METRICS; k++) {
			struct row *row = &rows->row[i];
			struct comparison *c = &row->compared[k];

			c->median = known_median(row->samples[k], row->nr);
			statistics_ratio(row->samples[k], row->nr,
					 as_is->samples[k], as_is->nr,
					 ROWS_SEED, &c->against);
			c->verdict = statistics_verdict(&c->against);
		}
	}
}

bool row_failed(const struct rows *rows, enum row_id id)
{
	const struct row *row = &rows->row[id];

	return row->exit_code != rows->row[ROW_AS_IS].exit_code ||
	       row->nr_strange || row->nr_timed_out;
}

bool row_broke(const struct rows *rows, enum row_id id)
{
	const struct row *row = &rows->row[id];
	const struct row *as_is = &rows->row[ROW_AS_IS];

	if (!row->ran || as_is->nr_strange || as_is->nr_timed_out)
		return false;
	return row_failed(rows, id);
}
