/* SPDX-License-Identifier: MIT */
/*
 * What one operation of groups costs: the child of `quire bench lru`.
 *
 *	quire bench .lru CASE VARIANT SECONDS
 *
 * One thread, and a zone of numbers without memory behind them, so that what is
 * measured is ours: no page is ever written.  A case is a step that is done
 * again and again until it has taken SECONDS in all, its clock read around
 * many; `scan` counts hits instead and does not look at the clock.
 *
 * [O1] Nothing that a case does to get ready is in its time.
 * [O2] Every page is back in the end, or the run fails.
 */
#include "bench_groups.h"
#include "bench_lru.h"
#include "cli.h"
#include "statistics.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	STEP = 1000,	  /* operations between two looks at the clock */
	LIMIT = 1024,	  /* of a group that churns */
	RING = 4 * LIMIT, /* places that it goes round */
	DROPPED = 1024,	  /* by one call of reclaim */
	MANY_GROUPS = 40,
};

/* Of tenants: A scans, B has a set that does not quite fit. */
enum {
	A, /* group numbers */
	B,
	A_LIMIT = 1024,
	A_SCAN = 10 * A_LIMIT,
	B_LIMIT = 4096,
	B_SET = B_LIMIT + B_LIMIT / 8,
	B_HOT = B_SET / 5, /* most looks go there */
	B_HOT_PERCENT = 80,
	B_WARM_UP = 40 * B_SET,
	B_LOOKS = 80 * B_SET,
};

static struct {
	struct pool pool;
	void **page;	 /* by key: what is there; NULL: not there */
	size_t nr_pages; /* room for them */
	uint64_t *gone;	 /* keys of what is not there, for `reclaim` */
	size_t nr_gone;
	uint64_t at;	 /* of a case that goes round */
	uint64_t nr, ns; /* operations, and what they took */
	int (*step)(void);
} lru;

static void drop(void *arg, void *page, uint64_t key)
{
	(void)arg, (void)page;
	lru.page[key] = NULL;
	if (lru.gone)
		lru.gone[lru.nr_gone++] = key;
}

/* The group whose turn it is. */
static struct quire_group *next_group(void)
{
	if (++lru.at >= lru.pool.nr_groups)
		lru.at = 0;
	return lru.pool.group[lru.at];
}

/* ---- steps: 0 or an errno; each says what it did to lru.nr and lru.ns ---- */

static int step_bare_page(void)
{
	uint64_t from = bench_now_ns();
	int i, rc = 0;
	void *page;

	for (i = 0; i < STEP && !rc; i++) {
		page = quire_page_alloc(lru.pool.zone, 0);
		if (!page)
			return errno;
		rc = quire_block_free(lru.pool.zone, page);
	}
	lru.ns += bench_now_ns() - from;
	lru.nr += STEP;
	return -rc;
}

static int step_page(void)
{
	struct quire_page_request request = { .size = sizeof(request) };
	uint64_t from = bench_now_ns();
	int i, rc = 0;
	void *page;

	for (i = 0; i < STEP && !rc; i++) {
		page = quire_group_page_alloc(next_group(), &request);
		if (!page)
			return errno;
		rc = quire_group_page_put(lru.pool.groups, page);
	}
	lru.ns += bench_now_ns() - from;
	lru.nr += STEP;
	return -rc;
}

static int step_charge(void)
{
	uint64_t from = bench_now_ns();
	struct quire_group *group;
	int i, rc = 0;

	for (i = 0; i < STEP && !rc; i++) {
		group = next_group();
		rc = quire_group_charge(group, 1);
		if (!rc)
			rc = quire_group_uncharge(group, 1);
	}
	lru.ns += bench_now_ns() - from;
	lru.nr += STEP;
	return -rc;
}

static int step_touch(void)
{
	uint64_t from = bench_now_ns();
	int i, rc = 0;

	for (i = 0; i < STEP && !rc; i++)
		rc = quire_group_page_touch(lru.pool.groups, lru.page[0]);
	lru.ns += bench_now_ns() - from;
	lru.nr += STEP;
	return -rc;
}

static int step_get(void)
{
	uint64_t from = bench_now_ns();
	int i, rc = 0;

	for (i = 0; i < STEP && !rc; i++) {
		rc = quire_group_page_get(lru.pool.groups, lru.page[0]);
		if (!rc)
			rc = quire_group_page_put(lru.pool.groups, lru.page[0]);
	}
	lru.ns += bench_now_ns() - from;
	lru.nr += STEP;
	return -rc;
}

/* A page comes; who brought it looks at it once. */
static int bring(unsigned int group, uint64_t key)
{
	void *page = pool_page(&lru.pool, group, key);

	if (!page)
		return errno;
	lru.page[key] = page;
	quire_group_page_touch(lru.pool.groups, page);
	return -quire_group_page_add(lru.pool.groups, page);
}

/* The whole life of a page, with two looks at it. */
static int step_churn(void)
{
	uint64_t from = bench_now_ns();
	int i, error = 0;

	for (i = 0; i < STEP && !error; i++) {
		error = bring(0, lru.at);
		if (!error)
			error = -quire_group_page_touch(lru.pool.groups,
							lru.page[lru.at]);
		do
			lru.at = (lru.at + 1) % RING;
		while (lru.page[lru.at]); /* active ones may stay a round */
	}
	lru.ns += bench_now_ns() - from;
	lru.nr += STEP;
	return error;
}

static int fill(void)
{
	uint64_t key;
	void *page;
	int rc = 0;

	while (lru.nr_gone && !rc) {
		key = lru.gone[--lru.nr_gone];
		page = pool_page(&lru.pool, 0, key);
		if (!page)
			return errno;
		lru.page[key] = page;
		rc = quire_group_page_add(lru.pool.groups, page);
	}
	return -(rc ? rc : quire_groups_drain(lru.pool.groups));
}

static int step_reclaim(void)
{
	int error = fill(); /* [O1] */
	uint64_t from;
	long dropped;

	if (error)
		return error;
	from = bench_now_ns();
	dropped = quire_group_reclaim(lru.pool.group[0], DROPPED);
	lru.ns += bench_now_ns() - from;
	if (dropped < DROPPED / 2)
		return dropped < 0 ? (int)-dropped : EBUSY;
	lru.nr += (uint64_t)dropped;
	return 0;
}

/* ---- tenants ---- */

/* B's set has the first keys, A's file those behind. */
static int look(unsigned int group, uint64_t key, uint64_t *hits)
{
	if (!lru.page[key])
		return bring(group, key);
	++*hits;
	return -quire_group_page_touch(lru.pool.groups, lru.page[key]);
}

static uint64_t next_of_b(uint64_t *seed)
{
	bool hot = statistics_random(seed, 100) < B_HOT_PERCENT;

	return statistics_random(seed, hot ? B_HOT : B_SET);
}

static int run_tenants(bool beside)
{
	uint64_t hits = 0, scanned = 0, ignored = 0, seed = 20201105, i;
	int error = 0;

	for (i = 0; i < B_WARM_UP + B_LOOKS && !error; i++) {
		if (i == B_WARM_UP)
			hits = 0;
		error = look(B, next_of_b(&seed), &hits);
		if (!error && beside)
			error = look(A, B_SET + scanned++ % A_SCAN, &ignored);
	}
	if (error)
		return error;
	bench_answer("hit_rate", (double)hits / B_LOOKS);
	if (beside)
		bench_answer("scanned", (double)scanned / A_LIMIT);
	return 0;
}

/* Both groups below one that has a limit. */
static int put_below(uint64_t max)
{
	struct quire_group **g = lru.pool.group, *parent = g[0];
	int rc = quire_group_create(parent, &g[A]);

	if (!rc)
		rc = quire_group_create(parent, &g[B]);
	return rc ? rc : quire_group_set_limit(parent, QUIRE_GROUP_MAX, max);
}

/*
 * alone, beside: A, where it runs, has a limit of its own.  protected: it has
 * none, but both have one together, and B's pages are protected.
 */
static int run_scan(const char *variant)
{
	struct quire_group **g = lru.pool.group;
	bool protected = !strcmp(variant, "protected");
	int rc = protected ? put_below(A_LIMIT + B_LIMIT) : 0;

	if (!rc)
		rc = quire_group_set_limit(g[B], QUIRE_GROUP_MAX, B_LIMIT);
	if (!rc && protected)
		rc = quire_group_set_limit(g[B], QUIRE_GROUP_LOW, B_LIMIT);
	else if (!rc)
		rc = quire_group_set_limit(g[A], QUIRE_GROUP_MAX, A_LIMIT);
	return rc ? -rc : run_tenants(strcmp(variant, "alone") != 0);
}

/* ---- what a case is made of ---- */

/* "group:40", "held:4096": the number; 0: there is none */
static uint64_t number_of(const char *variant)
{
	const char *colon = strchr(variant, ':');
	uint64_t n;

	return colon && !text_number(colon + 1, &n) ? n : 0;
}

static void plan_page(const char *variant, struct pool_spec *spec)
{
	bool off = !strcmp(variant, "off");

	spec->bare = off;
	lru.step = off || !strcmp(variant, "open") ? step_bare_page : step_page;
	spec->nr_groups = (unsigned int)number_of(variant);
}

static void plan_charge(const char *variant, struct pool_spec *spec)
{
	spec->nr_groups = (unsigned int)number_of(variant);
	lru.step = step_charge;
}

static void plan_one(const char *variant, struct pool_spec *spec)
{
	(void)variant;
	spec->nr_groups = 1;
	spec->drop = drop;
	lru.nr_pages = 1;
	lru.step = step_touch;
}

static void plan_get(const char *variant, struct pool_spec *spec)
{
	plan_one(variant, spec);
	lru.step = step_get;
}

static void plan_churn(const char *variant, struct pool_spec *spec)
{
	spec->nr_groups = 1;
	spec->max = LIMIT;
	spec->drop = drop;
	if (!strcmp(variant, "node"))
		spec->lru_lock = QUIRE_LRU_LOCK_NODE;
	lru.nr_pages = RING;
	lru.step = step_churn;
}

static void plan_reclaim(const char *variant, struct pool_spec *spec)
{
	spec->nr_groups = 1;
	spec->drop = drop;
	lru.nr_pages = number_of(variant);
	lru.gone = xcalloc(lru.nr_pages, sizeof(*lru.gone));
	for (; lru.nr_gone < lru.nr_pages; lru.nr_gone++)
		lru.gone[lru.nr_gone] = lru.nr_gone;
	lru.step = step_reclaim;
}

static void plan_scan(const char *variant, struct pool_spec *spec)
{
	spec->nr_groups = strcmp(variant, "protected") ? 2 : 1;
	spec->drop = drop;
	lru.nr_pages = B_SET + A_SCAN;
}

/* Each with the variants of bench_lru.c. */
static const struct plan {
	const char *name;
	void (*plan)(const char *variant, struct pool_spec *spec);
} plans[] = {
	{ "page", plan_page },	 { "charge", plan_charge },
	{ "touch", plan_one },	 { "get", plan_get },
	{ "churn", plan_churn }, { "reclaim", plan_reclaim },
	{ "scan", plan_scan },
};

static const struct plan *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(plans) / sizeof(*plans); i++)
		if (!strcmp(plans[i].name, name))
			return &plans[i];
	return NULL;
}

/* ---- the run ---- */

/* The root in the place of a group; a page that is in use. */
static int get_ready(const char *name, const char *variant)
{
	int error = 0;

	if (!strcmp(variant, "root")) {
		lru.pool.group[0] = quire_groups_root(lru.pool.groups);
		lru.pool.nr_groups = 1;
	}
	if (strcmp(name, "touch") && strcmp(name, "get"))
		return 0;
	error = bring(0, 0);
	if (!error)
		error = -quire_groups_drain(lru.pool.groups);
	if (!error)
		error = -quire_group_page_touch(lru.pool.groups, lru.page[0]);
	return error ? error : -quire_groups_drain(lru.pool.groups);
}

static int run_steps(double seconds)
{
	uint64_t enough = (uint64_t)(seconds * 1e9);
	int error = 0;

	/* warm, then for real */
	while (lru.ns < enough / 4 && !error)
		error = lru.step();
	lru.ns = lru.nr = 0;
	while (lru.ns < enough && !error)
		error = lru.step();
	if (!error)
		bench_answer("op", (double)lru.ns / (double)lru.nr);
	return error;
}

static int put_pages(void)
{
	size_t i;
	int rc = 0;

	if (!lru.pool.groups)
		return 0;
	rc = quire_groups_drain(lru.pool.groups);
	quire_groups_check(lru.pool.groups);
	for (i = 0; i < lru.nr_pages && !rc; i++)
		if (lru.page[i])
			rc = quire_group_page_put(lru.pool.groups, lru.page[i]);
	return -rc;
}

static int run(const char *name, const char *variant, double seconds)
{
	struct pool_spec spec = { 0 };
	int error, late;

	find(name)->plan(variant, &spec);
	spec.pages = lru.nr_pages;
	lru.page = xcalloc(lru.nr_pages + 1, sizeof(*lru.page));
	error = pool_open(&lru.pool, &spec);
	if (!error)
		error = get_ready(name, variant);
	if (!error)
		error = lru.step ? run_steps(seconds) : run_scan(variant);
	if (!error)
		error = put_pages(); /* [O2] */
	late = pool_close(&lru.pool);
	free(lru.page);
	free(lru.gone);
	return error ? error : late;
}

int bench_lru_ops(int argc, char **argv)
{
	double seconds = 0;
	char *end;
	int error;

	if (argc == 4)
		seconds = strtod(argv[3], &end);
	if (argc != 4 || *end || !(seconds > 0 && seconds < 1e6) ||
	    !lru_is_variant(argv[1], argv[2]))
		return usage_error("bench: .lru CASE VARIANT SECONDS");
	error = run(argv[1], argv[2], seconds);
	if (error)
		say("bench lru: %s %s: %s", argv[1], argv[2],
		    pool_error(error));
	return error ? CLI_OWN : 0;
}
