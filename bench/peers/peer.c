/* SPDX-License-Identifier: MIT */
/*
 * One sample of each variant named: the child of `quire bench page_bench`.
 *
 *	PROGRAM VARIANT...
 *
 *	single		one page at a time
 *	outstanding:N	N pages are taken, then given back in that order
 *	threads2:N	the same by two threads at a time
 *	cross		one thread takes, another gives back
 *	bulk:N		N pages in one call
 *	order:N		blocks of 2^N pages, one at a time
 *	reserve:SIZE	outstanding:4096 of a pool of that size
 *
 * with -aged behind it: of a pool that was aged before (age.c), which is done
 * once for all variants that are named.  Answers for each with
 * `pair` (ns for one page or block taken and given back) and `cycles`: the
 * middle of several turns of some milliseconds each.  At the end nothing may be
 * missing from the pool.
 */
#include "meter.h"
#include "peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 5, TURN_NS = 8000000, WARM_NS = 2000000 };

#define POOL_BYTES ((size_t)1 << 30)

/* ---- what is asked for ---- */

static const struct {
	const char *name;
	enum plan_kind kind;
	unsigned int most; /* of the number; 0: it has none */
} kinds[] = {
	{ "single", PLAN_SINGLE, 0 },
	{ "outstanding", PLAN_OUTSTANDING, PEER_OUT_MAX },
	{ "threads2", PLAN_THREADS, PEER_OUT_MAX },
	{ "cross", PLAN_CROSS, 0 },
	{ "bulk", PLAN_BULK, PEER_OUT_MAX },
	{ "order", PLAN_ORDER, 10 },
};

static bool read_kind(const char *text, struct plan *plan)
{
	size_t i, len = strcspn(text, ":");
	const char *number = text[len] ? text + len + 1 : "";
	char *end;
	unsigned long n = strtoul(number, &end, 10);

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].name) == len &&
		    !memcmp(kinds[i].name, text, len))
			break;
	if (i == sizeof(kinds) / sizeof(*kinds) || *end ||
	    !*number != !kinds[i].most || n > kinds[i].most || (*number && !n))
		return false;
	plan->kind = kinds[i].kind;
	plan->nr = (unsigned int)n;
	plan->order = plan->kind == PLAN_ORDER ? plan->nr : 0;
	return true;
}

static bool read_reserve(const char *text, struct plan *plan)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (!n || n > 4096 || (strcmp(end, "G") && strcmp(end, "T")))
		return false;
	plan->kind = PLAN_RESERVE;
	plan->nr = 4096;
	plan->bytes = (size_t)n << (*end == 'G' ? 30 : 40);
	return plan->bytes <= (size_t)4 << 40;
}

static bool read_plan(const char *text, struct plan *plan)
{
	static const char aged[] = "-aged";
	char kind[64];
	size_t len = strlen(text), tail = sizeof(aged) - 1;

	*plan = (struct plan){ .bytes = POOL_BYTES };
	if (len >= sizeof(kind))
		return false;
	memcpy(kind, text, len + 1);
	plan->aged = len > tail && !strcmp(kind + len - tail, aged);
	if (plan->aged)
		kind[len - tail] = '\0';
	if (!strncmp(kind, "reserve:", 8))
		return !plan->aged && read_reserve(kind + 8, plan);
	return read_kind(kind, plan);
}

/* ---- threads ---- */

struct together {
	pthread_barrier_t begin;
	void (*run)(unsigned int nr, void *arg);
	void *arg;
};

struct member {
	struct together *t;
	unsigned int nr;
	pthread_t thread;
};

static void *run_member(void *arg)
{
	struct member *m = arg;

	meter_pin(m->nr);
	if (m->nr && peer.thread_begin)
		peer.thread_begin();
	pthread_barrier_wait(&m->t->begin);
	m->t->run(m->nr, m->t->arg);
	if (m->nr && peer.thread_end)
		peer.thread_end();
	return NULL;
}

void peer_together(unsigned int nr, void (*run)(unsigned int nr, void *arg),
		   void *arg)
{
	struct together t = { .run = run, .arg = arg };
	struct member m[PEER_THREADS];
	unsigned int i;

	pthread_barrier_init(&t.begin, NULL, nr);
	for (i = 0; i < nr; i++)
		m[i] = (struct member){ .t = &t, .nr = i };
	for (i = 1; i < nr; i++)
		if (pthread_create(&m[i].thread, NULL, run_member, &m[i]))
			meter_fail("no thread");
	run_member(&m[0]);
	for (i = 1; i < nr; i++)
		pthread_join(m[i].thread, NULL);
	pthread_barrier_destroy(&t.begin);
}

/* ---- one turn ---- */

struct turn {
	const struct plan *plan;
	uint64_t elements; /* of each thread */
	void *room[PEER_THREADS][PEER_OUT_MAX];
	struct meter took[PEER_THREADS];
	struct ring ring;
};

static void run_loops(struct turn *t, unsigned int nr)
{
	const struct plan *p = t->plan;
	uint64_t n = t->elements;

	switch (p->kind) {
	case PLAN_SINGLE:
		peer.single(n);
		break;
	case PLAN_ORDER:
		peer.block(n);
		break;
	case PLAN_BULK:
		peer.bulk(t->room[nr], p->nr, n / p->nr);
		break;
	case PLAN_CROSS:
		if (nr == 0)
			peer.cross_get(&t->ring, n);
		else
			peer.cross_put(&t->ring, n);
		break;
	default:
		peer.outstanding(t->room[nr], p->nr, n / p->nr);
	}
}

static void run_turn(unsigned int nr, void *arg)
{
	struct turn *t = arg;

	meter_start(&t->took[nr]);
	run_loops(t, nr);
	meter_stop(&t->took[nr]);
}

/* The mean of the threads, as time_bench has it. */
static void turn(struct turn *t, double *ns, double *cycles)
{
	bool two = t->plan->kind == PLAN_THREADS || t->plan->kind == PLAN_CROSS;
	unsigned int i, nr = two ? PEER_THREADS : 1;

	t->ring.head = t->ring.tail = 0;
	if (two)
		peer_together(nr, run_turn, t);
	else
		run_turn(0, t);
	*ns = *cycles = 0;
	for (i = 0; i < nr; i++) {
		*ns += (double)t->took[i].ns / (double)t->elements / nr;
		*cycles += (double)t->took[i].cycles / (double)t->elements / nr;
	}
}

/* Whole rounds, as many as fill @want_ns at @ns each. */
static uint64_t elements_in(const struct plan *p, double want_ns, double ns)
{
	uint64_t n = (uint64_t)(want_ns / ns), step = p->nr > 1 ? p->nr : 1;

	if (p->kind == PLAN_ORDER || p->kind == PLAN_CROSS)
		step = 1;
	if (n < METER_LEAST)
		n = METER_LEAST;
	if (n >= METER_MOST - step)
		n = METER_MOST - 2 * step;
	return (n + step - 1) / step * step;
}

static void measure(const struct plan *plan, const char *variant)
{
	struct turn *t = aligned_alloc(64, sizeof(*t));
	double ns[TURNS], cycles[TURNS], one_ns, one_cycles;
	unsigned int i;

	if (!t)
		meter_fail("out of memory");
	memset(t, 0, sizeof(*t));
	t->plan = plan;
	t->elements = elements_in(plan, 1, 1);
	turn(t, &one_ns, &one_cycles);
	turn(t, &one_ns, &one_cycles);
	t->elements = elements_in(plan, WARM_NS, one_ns);
	turn(t, &one_ns, &one_cycles);
	t->elements = elements_in(plan, TURN_NS, one_ns);
	for (i = 0; i < TURNS; i++)
		turn(t, &ns[i], &cycles[i]);
	meter_answer(variant, "pair", meter_median(ns, TURNS));
	if (METER_CYCLES)
		meter_answer(variant, "cycles", meter_median(cycles, TURNS));
	free(t);
}

/* ---- and what our own data take ---- */

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	long whole, resident = 0;

	if (!f || fscanf(f, "%ld %ld", &whole, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident;
}

/* Pages are taken and not touched: what becomes resident is not theirs. */
static void measure_metadata(const char *variant)
{
	enum { NR = 32768 };
	void **page = calloc(NR, sizeof(*page));
	double bytes;
	long before;

	if (!page)
		meter_fail("out of memory");
	memset(page, 1, NR * sizeof(*page));
	peer.metadata(&bytes);
	before = resident_pages();
	peer.take(page, NR);
	meter_answer(variant, "metadata", bytes);
	meter_answer(variant, "metadata_used",
		     (double)(resident_pages() - before) * PEER_PAGE / NR);
	peer.give(page, NR);
	free(page);
}

static void check_nothing_lost(long kept)
{
	long out = peer.nr_out();

	if (out >= 0 && out != kept)
		meter_fail("pages were lost");
}

/* Variants that can share a pool: as the first one. */
static void run(const struct plan *plan, unsigned int nr, char **variant)
{
	const char *why = peer.open(plan);
	struct aged *a = NULL;
	unsigned int i;

	if (why)
		meter_fail(why);
	meter_pin(0);
	if (plan->kind == PLAN_RESERVE && peer.metadata)
		measure_metadata(variant[0]);
	if (plan->aged)
		a = age(plan);
	for (i = 0; i < nr; i++) {
		measure(&plan[i], variant[i]);
		check_nothing_lost(a ? (long)age_kept(a) : 0);
	}
	if (a)
		age_end(a);
	check_nothing_lost(0);
}

static bool read_plans(unsigned int nr, char **variant, struct plan *plan)
{
	unsigned int i;

	if (!nr || nr > PEER_VARIANTS)
		return false;
	for (i = 0; i < nr; i++)
		if (!read_plan(variant[i], &plan[i]) ||
		    plan[i].aged != plan[0].aged ||
		    plan[i].order != plan[0].order ||
		    plan[i].bytes != plan[0].bytes)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct plan plan[PEER_VARIANTS];
	unsigned int nr = (unsigned int)argc - 1;

	if (!read_plans(nr, argv + 1, plan)) {
		fprintf(stderr,
			"quire: bench: variants are wanted that can share a pool\n");
		return 2;
	}
	run(plan, nr, argv + 1);
	return 0;
}
