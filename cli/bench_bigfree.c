/* SPDX-License-Identifier: MIT */
/*
 * quire bench bigfree: what it costs to give back a big block, in the ways
 * there are, and what another thread feels meanwhile.
 *
 * A cell is one case at one size with one kind of pages.  In every round each
 * cell runs once, in changing order: quiet, and (without --scale) once more
 * with the faulting thread beside it.  Before the first round one run of the
 * largest cell warms the machine up: memory that a virtual machine never used
 * before has to be given to it first.
 */
#include "bench_bigfree.h"
#include "bench.h"
#include "bench_child.h"
#include "bench_memory.h"
#include "child.h"
#include "cli.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS_MAX = 1024, CELL_NAME = 24 };

struct cell {
	char name[CELL_NAME];
	char variant[32];
	enum bench_pages pages;
	uint64_t bytes;
	bool quiet, faults;
};

struct cells {
	size_t nr;
	struct cell list[CELLS_MAX];
};

static const char *const kinds[] = { "munmap",	     "handmade", "parallel",
				     "async",	     "split",	 "malloc",
				     "malloc-quire", "idle" };
enum { NR_KINDS = sizeof(kinds) / sizeof(*kinds) };

int bigfree_check(const struct bench_options *o)
{
	const char *list = o->cases;
	size_t len, i;

	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		for (i = 0; i < NR_KINDS; i++)
			if (strlen(kinds[i]) == len &&
			    !memcmp(kinds[i], list, len))
				break;
		if (i == NR_KINDS)
			return usage_error(
				"bench: --cases: '%.*s' is none of munmap, handmade, parallel, async, split, malloc, malloc-quire",
				(int)len, list);
	}
	return 0;
}

/* What the others are compared with always runs. */
static bool asked(const struct bench_options *o, const char *kind)
{
	const char *list = o->cases;
	size_t len;

	if (o->scale && (!strcmp(kind, "idle") || !strncmp(kind, "malloc", 6)))
		return false;
	if (!list || !strcmp(kind, "munmap") || !strcmp(kind, "idle"))
		return true;
	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		if (strlen(kind) == len && !memcmp(kind, list, len))
			return true;
	}
	return false;
}

static char *size_text(uint64_t bytes)
{
	static const char units[] = "\0KMG";
	int u = 0;

	while (u < 3 && bytes && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	return u ? xasprintf("%" PRIu64 "%c", bytes, units[u])
		 : xasprintf("%" PRIu64, bytes);
}

static char *variant_text(uint64_t bytes, enum bench_pages pages)
{
	char *size = size_text(bytes);
	char *text = xasprintf("%s,%s", size, bench_pages_name[pages]);

	free(size);
	return text;
}

/* What the tables go by, in the order of the plan. */
static void declare(struct bench *b, const struct cell *cell)
{
	struct series_key key = { "bigfree", cell->name, cell->variant,
				  cell->quiet ? "time" : "fault_rate" };

	series_declare(&b->series, &key);
	key.metric = "fault_rate";
	if (cell->faults)
		series_declare(&b->series, &key);
}

static void add(struct bench *b, struct cells *c, const char *kind,
		unsigned int nr, const struct cell *like)
{
	const struct bench_options *o = b->options;
	struct cell *cell = &c->list[c->nr];

	if (c->nr == CELLS_MAX || !asked(o, kind))
		return;
	*cell = *like;
	if (nr)
		snprintf(cell->name, sizeof(cell->name), "%s:%u", kind, nr);
	else
		snprintf(cell->name, sizeof(cell->name), "%s", kind);
	cell->quiet = strcmp(kind, "idle") != 0;
	cell->faults = !o->scale;
	declare(b, cell);
	c->nr++;
}

static void add_cases(struct bench *b, struct cells *c, const struct cell *like)
{
	const struct bench_options *o = b->options;
	size_t i;

	if (like->pages == BENCH_ANY) {
		add(b, c, "malloc", 0, like);
		add(b, c, "malloc-quire", 0, like);
		return;
	}
	add(b, c, "idle", 0, like);
	add(b, c, "munmap", 0, like);
	add(b, c, "handmade", 2, like);
	for (i = 0; i < o->workers.nr; i++)
		add(b, c, "parallel", (unsigned int)o->workers.v[i], like);
	add(b, c, "async", 0, like);
	for (i = 0; i < o->workers.nr; i++)
		if (o->workers.v[i] > 1)
			add(b, c, "split", (unsigned int)o->workers.v[i], like);
}

/* Why pages of that kind cannot be had; NULL: they can. */
static char *why_not(const struct bench *b, const struct cell *like)
{
	uint64_t pool = memory_pool_pages();

	if (like->pages == BENCH_THP && (!strcmp(b->machine.thp, "never") ||
					 !strcmp(b->machine.thp, "unknown")))
		return xstrdup("transparent huge pages are switched off");
	if (like->pages == BENCH_HUGETLB &&
	    pool < (like->bytes + MEMORY_HUGE - 1) / MEMORY_HUGE)
		return xasprintf(
			"not available: %" PRIu64
			" free pages in the pool, %" PRIu64 " are needed",
			pool, (like->bytes + MEMORY_HUGE - 1) / MEMORY_HUGE);
	return NULL;
}

static void add_variant(struct bench *b, struct cells *c, uint64_t bytes,
			enum bench_pages pages)
{
	struct cell like = { .pages = pages, .bytes = bytes };
	char *variant = variant_text(bytes, pages);
	char *why = why_not(b, &like);

	snprintf(like.variant, sizeof(like.variant), "%s", variant);
	if (why)
		bench_note(b, variant, why);
	else
		add_cases(b, c, &like);
	free(variant);
}

/* The largest power of two that fits, for who did not say a size. */
static uint64_t fitting(uint64_t bytes)
{
	uint64_t room = memory_available();

	while (bytes > MEMORY_HUGE && bytes + bytes / 20 + MEMORY_SPARE > room)
		bytes /= 2;
	return bytes;
}

static int check_room(const struct bench_options *o, uint64_t bytes)
{
	uint64_t need = bytes + bytes / 20 + MEMORY_SPARE;
	uint64_t room = memory_available();

	/* pages of the pool alone were set aside before */
	if (need <= room ||
	    (o->pages.nr == 1 && o->pages.v[0] == BENCH_HUGETLB))
		return 0;
	return usage_error(
		"bench bigfree: a block of %s needs %s, and %s are available%s",
		spell_bytes((double)bytes).s, spell_bytes((double)need).s,
		spell_bytes((double)room).s,
		fitting(bytes) == bytes ? "" : " (see --size)");
}

static int plan(struct bench *b, struct cells *c)
{
	const struct bench_options *o = b->options;
	uint64_t bytes;
	size_t i, k;
	int rc;

	for (i = 0; i < o->sizes.nr; i++) {
		bytes = o->size_given ? o->sizes.v[i] : fitting(o->sizes.v[i]);
		if (bytes != o->sizes.v[i] && !o->quiet)
			say("bench bigfree: with a block of %s; there is no room for %s",
			    spell_bytes((double)bytes).s,
			    spell_bytes((double)o->sizes.v[i]).s);
		rc = check_room(o, bytes);
		if (rc)
			return rc;
		for (k = 0; k < o->pages.nr; k++)
			add_variant(b, c, bytes,
				    (enum bench_pages)o->pages.v[k]);
		if (asked(o, "malloc") || asked(o, "malloc-quire"))
			add_variant(b, c, bytes, BENCH_ANY);
	}
	return 0;
}

static int run_cell(struct bench *b, const struct cell *cell, bool faults,
		    bool warm_up)
{
	struct series_key key = { "bigfree", cell->name, cell->variant, NULL };
	char *bytes = xasprintf("%" PRIu64, cell->bytes);
	const char *words[] = { ".free",
				cell->name,
				bench_pages_name[cell->pages],
				bytes,
				faults ? "faults" : "quiet",
				NULL };
	int rc;

	bench_progress(b, cell->name, cell->variant);
	rc = bench_child(b, words, warm_up ? NULL : &key,
			 !strcmp(cell->name, "malloc-quire"));
	bench_progress_clear(b);
	free(bytes);
	return rc;
}

static void shuffle(size_t *order, size_t nr, uint64_t *seed)
{
	size_t i, k, t;

	for (i = nr; i > 1; i--) {
		k = statistics_random(seed, (uint32_t)i);
		t = order[i - 1];
		order[i - 1] = order[k];
		order[k] = t;
	}
}

/* Everything once; the order is new each time. */
static int run_round(struct bench *b, const struct cells *c, uint64_t *seed)
{
	size_t *order = xcalloc(2 * c->nr, sizeof(*order)), i, nr = 0;
	const struct cell *cell;
	int rc = 0;

	for (i = 0; i < 2 * c->nr; i++) {
		cell = &c->list[i / 2];
		if (i % 2 ? cell->faults : cell->quiet)
			order[nr++] = i;
	}
	shuffle(order, nr, seed);
	for (i = 0; i < nr && !rc; i++)
		rc = run_cell(b, &c->list[order[i] / 2], order[i] % 2, false);
	free(order);
	return rc;
}

static const struct cell *largest(const struct cells *c)
{
	const struct cell *best = &c->list[0];
	size_t i;

	for (i = 1; i < c->nr; i++)
		if (c->list[i].bytes > best->bytes && c->list[i].quiet)
			best = &c->list[i];
	return best;
}

static int run_rounds(struct bench *b, const struct cells *c)
{
	uint64_t seed = 20170315;
	unsigned int i;
	int rc;

	for (i = 0; i < c->nr; i++)
		b->planned += c->list[i].quiet + c->list[i].faults;
	b->planned = b->planned * b->options->rounds + 1;
	if (!b->options->quiet)
		say("bench bigfree: %u processes, each fills and frees a block of up to %s",
		    b->planned, spell_bytes((double)largest(c)->bytes).s);
	rc = run_cell(b, largest(c), false, true);
	for (i = 0; i < b->options->rounds && !rc; i++) {
		rc = run_round(b, c, &seed);
		bench_note_load(b, "bigfree");
	}
	return rc;
}

int bench_bigfree(struct bench *b)
{
	struct cells *c = xcalloc(1, sizeof(*c));
	int rc = plan(b, c);

	if (!rc)
		rc = load_spin(&b->load, b->options->busy);
	if (!rc && c->nr)
		rc = run_rounds(b, c);
	load_spin_end(&b->load);
	free(c);
	return rc;
}
