/* SPDX-License-Identifier: MIT */
/*
 * page_bench01 … page_bench06: the tests of these names, for a zone.
 *
 *	bench-tests LOOPS
 *
 *	01  one page, and blocks of order 0 to 9, each allocated and freed; the
 *	    same with the free that never waits; and blocks of order 5 or, where
 *	    there is none, of the next smaller order, with what was got
 *	02  N pages outstanding, N from 1 to 8192
 *	03  one page, and 64 outstanding, on all CPUs at a time
 *	04  N pages in one call, N from 1 to 128, as an array and as the NULLs
 *	    of an array
 *	05  one CPU allocates into a ring, another frees from it: with pointers
 *	    that are none, with pages, and with pages that both count in
 *	06  a walk over everything that the zone knows of its pages
 *
 * Each measures itself the way that time_bench does and answers with
 * NAME/elem and what elem was made of.  `step` is the order, the number
 * outstanding or in one call, or the number of CPUs; in 05 it is 1 for the one
 * that allocates.  Any failure to allocate ends the program: figures would mean
 * nothing.  In the end nothing may be out.
 */
#include <quire/page.h>

#include "meter.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGES_OUT = 8192,
	BULK_MOST = 128,
	THREADS_MOST = 64,
	FALLBACK_ORDER = 5,
	ORDER_MOST = 9,
};

#define ZONE_BYTES ((size_t)1 << 30)
#define NO_PAGE	   "out of memory: the figures would mean nothing"

static struct quire_zone *zone;
static uint64_t loops;

/* ---- what one test says ---- */

static void answer(const char *name, uint64_t step, uint64_t nr,
		   const struct meter *m)
{
	if (nr < METER_LEAST || nr >= METER_MOST)
		meter_fail("too few or too many to be measured");
	meter_answer(name, "elem", (double)m->ns / (double)nr);
	if (METER_CYCLES) {
		meter_answer(name, "cycles", (double)(m->cycles / nr));
		meter_answer(name, "tsc_interval", (double)m->cycles);
	}
	meter_answer(name, "time_interval", (double)m->ns);
	meter_answer(name, "invoked", (double)nr);
	meter_answer(name, "step", (double)step);
}

static const char *name_of(const char *test, uint64_t number)
{
	static char name[64];

	snprintf(name, sizeof(name), "%s:%llu", test,
		 (unsigned long long)number);
	return name;
}

static void *checked(void *page)
{
	if (__builtin_expect(!page, 0))
		meter_fail(NO_PAGE);
	return page;
}

/* ---- 01 ---- */

static void test_page(void)
{
	uint64_t nr = loops * 10, i;
	struct meter m;

	meter_start(&m);
	for (i = 0; i < nr; i++)
		quire_block_free(zone, checked(quire_page_alloc(zone, 0)));
	meter_stop(&m);
	answer("page_bench01:page", 0, nr, &m);
}

/* The small orders, which CPUs' lists have, ten times as often. */
static uint64_t loops_of(unsigned int order)
{
	return order <= 3 ? loops * 10 : loops;
}

static void test_order(unsigned int order)
{
	uint64_t nr = loops_of(order), i;
	struct meter m;

	meter_start(&m);
	for (i = 0; i < nr; i++)
		quire_block_free(zone, checked(quire_block_alloc(
					       zone, order, QUIRE_ATOMIC)));
	meter_stop(&m);
	answer(name_of("page_bench01:order", order), order, nr, &m);
}

static void test_order_atomic(unsigned int order)
{
	uint64_t nr = loops_of(order), i;
	struct meter m;

	meter_start(&m);
	for (i = 0; i < nr; i++)
		quire_block_free_atomic(
			zone,
			checked(quire_block_alloc(zone, order, QUIRE_ATOMIC)));
	meter_stop(&m);
	answer(name_of("page_bench01:free_atomic", order), order, nr, &m);
}

static void *alloc_or_smaller(uint64_t *got)
{
	int order;
	void *block;

	for (order = FALLBACK_ORDER; order >= 0; order--) {
		block = quire_block_alloc(zone, (unsigned int)order,
					  QUIRE_ATOMIC);
		if (block) {
			got[order]++;
			return block;
		}
	}
	return NULL;
}

static void test_fallback(void)
{
	uint64_t got[FALLBACK_ORDER + 1] = { 0 }, i;
	struct meter m;
	int order;

	meter_start(&m);
	for (i = 0; i < loops; i++)
		quire_block_free(zone, checked(alloc_or_smaller(got)));
	meter_stop(&m);
	answer("page_bench01:fallback", FALLBACK_ORDER, loops, &m);
	for (order = FALLBACK_ORDER; order >= 0; order--)
		meter_answer(name_of("page_bench01:fallback", (uint64_t)order),
			     "share", (double)got[order] / (double)loops);
}

static void page_bench01(void)
{
	unsigned int order;

	test_page();
	for (order = 0; order <= ORDER_MOST; order++)
		test_order(order);
	for (order = 0; order <= 4; order++)
		test_order_atomic(order);
	test_fallback();
}

/* ---- 02, 03 ---- */

static void hold(void **page, uint64_t nr, uint64_t rounds)
{
	uint64_t i;

	while (rounds--) {
		for (i = 0; i < nr; i++)
			page[i] = checked(quire_page_alloc(zone, 0));
		for (i = 0; i < nr; i++)
			quire_block_free(zone, page[i]);
	}
}

static void page_bench02(void **page)
{
	struct meter m;
	uint64_t nr, rounds;

	for (nr = 1; nr <= PAGES_OUT; nr *= 2) {
		rounds = (loops + nr - 1) / nr;
		meter_start(&m);
		hold(page, nr, rounds);
		meter_stop(&m);
		answer(name_of("page_bench02:outstanding", nr), nr, nr * rounds,
		       &m);
	}
}

struct parallel {
	pthread_barrier_t begin;
	uint64_t nr, rounds;
};

struct one_cpu {
	struct parallel *p;
	unsigned int nr;
	pthread_t thread;
	struct meter took;
};

static void *run_on_cpu(void *arg)
{
	struct one_cpu *c = arg;
	void **page = calloc(c->p->nr, sizeof(*page));

	if (!page)
		meter_fail("out of memory");
	meter_pin(c->nr);
	pthread_barrier_wait(&c->p->begin);
	meter_start(&c->took);
	hold(page, c->p->nr, c->p->rounds);
	meter_stop(&c->took);
	free(page);
	return NULL;
}

/* Each times itself; said is the mean. */
static void test_parallel(uint64_t out, unsigned int cpus)
{
	struct parallel p = { .nr = out, .rounds = (loops + out - 1) / out };
	struct one_cpu cpu[THREADS_MOST];
	struct meter mean = { 0, 0 };
	unsigned int i;

	pthread_barrier_init(&p.begin, NULL, cpus);
	for (i = 0; i < cpus; i++) {
		cpu[i] = (struct one_cpu){ .p = &p, .nr = i };
		if (pthread_create(&cpu[i].thread, NULL, run_on_cpu, &cpu[i]))
			meter_fail("no thread");
	}
	for (i = 0; i < cpus; i++) {
		pthread_join(cpu[i].thread, NULL);
		mean.ns += cpu[i].took.ns / cpus;
		mean.cycles += cpu[i].took.cycles / cpus;
	}
	pthread_barrier_destroy(&p.begin);
	answer(name_of("page_bench03:outstanding", out), cpus, out * p.rounds,
	       &mean);
}

static void page_bench03(void)
{
	unsigned int cpus = meter_nr_cpus();

	if (cpus > THREADS_MOST)
		cpus = THREADS_MOST;
	test_parallel(1, cpus);
	test_parallel(64, cpus);
}

/* ---- 04 ---- */

static void test_array(void **page, uint64_t nr)
{
	uint64_t rounds = (loops + nr - 1) / nr, i;
	struct meter m;

	meter_start(&m);
	for (i = 0; i < rounds; i++) {
		if (quire_block_alloc_bulk(zone, 0, 0, nr, page) != nr)
			meter_fail(NO_PAGE);
		quire_block_free_bulk(zone, nr, page);
	}
	meter_stop(&m);
	answer(name_of("page_bench04:array", nr), nr, nr * rounds, &m);
}

/* The array is cleared between two rounds, which is part of it. */
static void test_fill(void **page, uint64_t nr)
{
	uint64_t rounds = (loops + nr - 1) / nr, i;
	struct meter m;

	meter_start(&m);
	for (i = 0; i < rounds; i++) {
		memset(page, 0, nr * sizeof(*page));
		if (quire_block_fill(zone, 0, 0, nr, page) != nr)
			meter_fail(NO_PAGE);
		quire_block_free_bulk(zone, nr, page);
	}
	meter_stop(&m);
	answer(name_of("page_bench04:fill", nr), nr, nr * rounds, &m);
}

static void page_bench04(void **page)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 8, 16, 32, 64, 128 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		test_array(page, sizes[i]);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		test_fill(page, sizes[i]);
}

/* ---- 05: a ring whose entries say themselves whether they are there ---- */

enum { RING_FAKE, RING_PAGES, RING_COUNTED };

struct pointers {
	pthread_barrier_t begin;
	void **entry;
	uint64_t size, prefill, most;
	int kind;
	uint64_t put, got;
	struct meter put_took, got_took;
};

static void *make_entry(int kind)
{
	static char fake;
	void *page;

	if (kind == RING_FAKE)
		return &fake;
	page = checked(quire_page_alloc(zone, 0));
	if (kind == RING_COUNTED)
		__atomic_store_n((uint32_t *)page, 2, __ATOMIC_RELAXED);
	return page;
}

static void end_entry(int kind, void *page)
{
	if (kind == RING_FAKE)
		return;
	if (kind == RING_COUNTED)
		__atomic_sub_fetch((uint32_t *)page, 2, __ATOMIC_ACQ_REL);
	quire_block_free(zone, page);
}

/* Until it is full: then it would measure the other one. */
static void *run_enqueue(void *arg)
{
	struct pointers *r = arg;
	uint64_t at = r->prefill % r->size;

	meter_pin(0);
	pthread_barrier_wait(&r->begin);
	meter_start(&r->put_took);
	while (r->put < r->most &&
	       !__atomic_load_n(&r->entry[at], __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&r->entry[at], make_entry(r->kind),
				 __ATOMIC_RELEASE);
		at = at + 1 == r->size ? 0 : at + 1;
		r->put++;
	}
	meter_stop(&r->put_took);
	return NULL;
}

static void dequeue(struct pointers *r)
{
	uint64_t at = 0;
	void *page;

	while (r->got < r->most) {
		page = __atomic_load_n(&r->entry[at], __ATOMIC_ACQUIRE);
		if (!page)
			break;
		__atomic_store_n(&r->entry[at], NULL, __ATOMIC_RELEASE);
		end_entry(r->kind, page);
		at = at + 1 == r->size ? 0 : at + 1;
		r->got++;
	}
}

static void *run_dequeue(void *arg)
{
	struct pointers *r = arg;

	meter_pin(1);
	pthread_barrier_wait(&r->begin);
	meter_start(&r->got_took);
	dequeue(r);
	meter_stop(&r->got_took);
	return NULL;
}

static void test_ring(const char *name, int kind, uint64_t size)
{
	struct pointers r = {
		.size = size, .prefill = size / 2, .kind = kind, .most = loops
	};
	pthread_t one, other;
	uint64_t i;

	if (kind == RING_FAKE)
		r.prefill = size / 4;
	r.entry = calloc(size, sizeof(*r.entry));
	for (i = 0; r.entry && i < r.prefill; i++)
		r.entry[i] = make_entry(kind);
	pthread_barrier_init(&r.begin, NULL, 2);
	if (!r.entry || pthread_create(&one, NULL, run_enqueue, &r) ||
	    pthread_create(&other, NULL, run_dequeue, &r))
		meter_fail("no thread");
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	for (i = 0; i < size; i++)
		if (r.entry[i])
			end_entry(kind, r.entry[i]);
	free(r.entry);
	pthread_barrier_destroy(&r.begin);
	answer(name_of(name, 1), 1, r.put, &r.put_took);
	answer(name_of(name, 0), 0, r.got, &r.got_took);
}

static void page_bench05(void)
{
	test_ring("page_bench05:fake", RING_FAKE, 64000);
	test_ring("page_bench05:pages", RING_PAGES, 64000);
	test_ring("page_bench05:counted", RING_COUNTED, 6400);
}

/* ---- 06 ---- */

static void page_bench06(void)
{
	struct meter m;

	meter_start(&m);
	quire_zone_check(zone);
	meter_stop(&m);
	answer("page_bench06:walk", 0, ZONE_BYTES / 4096, &m);
}

static void check_nothing_out(void)
{
	struct quire_zone_facts f = { .size = sizeof(f) };

	if (quire_zone_describe(zone, &f) || f.used_pages)
		meter_fail("pages were lost");
}

static void open_zone(void)
{
	struct quire_zone_options o = { .size = sizeof(o) };

	if (quire_region_open(ZONE_BYTES, NULL, &o.region) ||
	    quire_zone_open(&o, &zone))
		meter_fail("the zone cannot be opened");
}

int main(int argc, char **argv)
{
	void **page = calloc(PAGES_OUT, sizeof(*page));
	char *end = NULL;

	loops = argc == 2 ? strtoull(argv[1], &end, 10) : 0;
	if (!page || loops < METER_LEAST || *end || loops > METER_MOST / 16) {
		fprintf(stderr, "quire: bench: bench-tests LOOPS\n");
		return 2;
	}
	open_zone();
	meter_pin(0);
	page_bench01();
	page_bench02(page);
	page_bench03();
	page_bench04(page);
	page_bench05();
	page_bench06();
	check_nothing_out();
	free(page);
	return 0;
}
