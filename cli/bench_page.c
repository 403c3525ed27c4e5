/* SPDX-License-Identifier: MIT */
/*
 * quire bench page_bench: what a page costs, allocated and freed, from quire
 * and from what else hands out pages.
 *
 * In every round each case runs once with each group of variants: the cases of
 * a group one after the other, so that they share the weather, in an order that
 * is new each time, as that of the groups is.  Fresh variants have a process,
 * and so a pool, of their own; ageing a pool takes a second, so that aged
 * variants share one.
 *
 * The six tests of the kernel's benchmark of that name run once a round, for
 * quire alone.
 */
#include "bench_page.h"
#include "bench_child.h"
#include "bench_peers.h"
#include "child.h"
#include "cli.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

#define TESTS_PROGRAM "bench-tests"

const struct page_group page_groups[] = {
	{ { "single" }, false, false },
	{ { "outstanding:64" }, false, false },
	{ { "outstanding:4096" }, false, false },
	{ { "threads2:4096" }, false, false },
	{ { "cross" }, false, false },
	{ { "bulk:32" }, false, false },
	{ { "order:9" }, false, false },
	{ { "single-aged", "outstanding:64-aged", "outstanding:4096-aged",
	    "threads2:4096-aged", "cross-aged", "bulk:32-aged" },
	  true,
	  false },
	{ { "order:9-aged" }, true, false },
	{ { "reserve:1G" }, false, true },
	{ { "reserve:16G" }, false, true },
	{ { "reserve:1T" }, false, true },
};
const size_t page_nr_groups = sizeof(page_groups) / sizeof(*page_groups);

bool page_listed(const char *list, const char *word)
{
	size_t len;

	if (!list)
		return true;
	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		if (strlen(word) == len && !memcmp(word, list, len))
			return true;
	}
	return false;
}

static bool is_variant(const char *word, size_t len)
{
	size_t i, k;

	for (i = 0; i < page_nr_groups; i++)
		for (k = 0; page_groups[i].variant[k]; k++)
			if (strlen(page_groups[i].variant[k]) == len &&
			    !memcmp(page_groups[i].variant[k], word, len))
				return true;
	return strlen(PAGE_TESTS) == len && !memcmp(PAGE_TESTS, word, len);
}

int page_check(const struct bench_options *o)
{
	const char *list = o->variants;
	int rc = peers_check_cases(o->cases);
	size_t len;

	if (rc)
		return rc;
	for (; list; list = list[len] ? list + len + 1 : NULL) {
		len = strcspn(list, ",");
		if (!is_variant(list, len))
			return usage_error(
				"bench: --variants: '%.*s' is none (see quire-bench(1))",
				(int)len, list);
	}
	return 0;
}

/* ---- the plan ---- */

struct job {
	const struct peer *peer; /* NULL: the six tests */
	const char *words[8];
};

struct plan {
	struct peer *peers;
	char *tests; /* program */
	size_t nr_groups, nr;
	struct {
		size_t nr;
		struct job job[NR_PEERS];
	} group[16];
};

static void declare(struct bench *b, const struct job *job)
{
	struct series_key key = { "page_bench", job->peer->name, NULL, "pair" };
	size_t i;

	for (i = 0; job->words[i]; i++) {
		key.variant = job->words[i];
		series_declare(&b->series, &key);
	}
}

static bool can(const struct bench_options *o, const struct page_group *g,
		const struct peer *p)
{
	return page_listed(o->cases, p->name) && !p->missing &&
	       (p->ages || !g->aged) && (p->ours || !g->ours);
}

static void add_group(struct bench *b, struct plan *plan,
		      const struct page_group *g)
{
	size_t to = plan->nr_groups, i, k, nr;
	struct job *job;

	for (i = 0; i < NR_PEERS; i++) {
		if (!can(b->options, g, &plan->peers[i]))
			continue;
		job = &plan->group[to].job[plan->group[to].nr];
		*job = (struct job){ .peer = &plan->peers[i] };
		for (k = nr = 0; g->variant[k]; k++)
			if (page_listed(b->options->variants, g->variant[k]))
				job->words[nr++] = g->variant[k];
		if (nr) {
			declare(b, job);
			plan->group[to].nr++;
		}
	}
	plan->nr += plan->group[to].nr;
	plan->nr_groups += plan->group[to].nr != 0;
}

static void add_tests(struct bench *b, struct plan *plan)
{
	struct job *job = &plan->group[plan->nr_groups].job[0];

	if (!page_listed(b->options->variants, PAGE_TESTS) ||
	    !page_listed(b->options->cases, "quire"))
		return;
	plan->tests = peers_program(TESTS_PROGRAM);
	if (!plan->tests) {
		bench_note(
			b, PAGE_TESTS,
			xstrdup(TESTS_PROGRAM " was not built or installed"));
		return;
	}
	*job = (struct job){ .words = { PAGE_TESTS } };
	plan->group[plan->nr_groups++].nr = 1;
	plan->nr++;
}

static void note_missing(struct bench *b, const struct peer *peers)
{
	int i;

	for (i = 0; i < NR_PEERS; i++)
		if (peers[i].missing &&
		    page_listed(b->options->cases, peers[i].name))
			bench_note(b, peers[i].name, xstrdup(peers[i].missing));
	if (page_listed(b->options->cases, peers[PEER_MMAP].name) &&
	    !peers[PEER_MMAP].missing)
		bench_note(b, "mmap, aged",
			   xstrdup("a process cannot have that many mappings"));
}

static void make_plan(struct bench *b, struct plan *plan)
{
	size_t i;

	plan->peers = peers_find();
	note_missing(b, plan->peers);
	for (i = 0; i < page_nr_groups; i++)
		add_group(b, plan, &page_groups[i]);
	add_tests(b, plan);
}

/* ---- rounds ---- */

static int run_tests(struct bench *b, const char *program)
{
	struct series_key key = { "page_bench", "quire", PAGE_TESTS, NULL };
	char *loops = xasprintf("%u", b->options->loops);
	const char *words[] = { loops, NULL };
	struct bench_run run = { .words = words, .program = program };
	int rc;

	bench_progress(b, "quire", PAGE_TESTS);
	rc = bench_child_of(b, &run, &key);
	bench_progress_clear(b);
	free(loops);
	return rc;
}

static int run_job(struct bench *b, const struct plan *plan,
		   const struct job *job)
{
	struct series_key key = { "page_bench", NULL, "", NULL };
	struct bench_run run = { .words = job->words };
	int rc;

	if (!job->peer)
		return run_tests(b, plan->tests);
	key.name = job->peer->name;
	run.program = job->peer->program;
	run.library = job->peer->library;
	run.settings = job->peer->settings;
	bench_progress(b, key.name, job->words[0]);
	rc = bench_child_of(b, &run, &key);
	bench_progress_clear(b);
	if (rc && !child_stopped())
		say("bench page_bench: that was %s %s", key.name,
		    job->words[0]);
	return rc;
}

static void shuffle(size_t *order, size_t nr, uint64_t *seed)
{
	size_t i, k, t;

	for (i = 0; i < nr; i++)
		order[i] = i;
	for (i = nr; i > 1; i--) {
		k = statistics_random(seed, (uint32_t)i);
		t = order[i - 1];
		order[i - 1] = order[k];
		order[k] = t;
	}
}

static int run_round(struct bench *b, const struct plan *plan, uint64_t *seed)
{
	size_t groups[sizeof(plan->group) / sizeof(*plan->group)];
	size_t jobs[NR_PEERS], i, k, g;
	int rc = 0;

	shuffle(groups, plan->nr_groups, seed);
	for (i = 0; i < plan->nr_groups && !rc; i++) {
		g = groups[i];
		shuffle(jobs, plan->group[g].nr, seed);
		for (k = 0; k < plan->group[g].nr && !rc; k++)
			rc = run_job(b, plan, &plan->group[g].job[jobs[k]]);
	}
	return rc;
}

int bench_page(struct bench *b)
{
	struct plan *plan = xcalloc(1, sizeof(*plan));
	uint64_t seed = 20170106;
	unsigned int i;
	int rc = 0;

	make_plan(b, plan);
	b->done = 0;
	b->planned = (unsigned int)plan->nr * b->options->rounds;
	if (!b->options->quiet)
		say("bench page_bench: %u processes", b->planned);
	for (i = 0; i < b->options->rounds && plan->nr && !rc; i++) {
		rc = run_round(b, plan, &seed);
		bench_note_load(b, "page_bench");
	}
	peers_free(plan->peers);
	free(plan->tests);
	free(plan);
	return rc;
}
