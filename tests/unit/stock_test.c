/* SPDX-License-Identifier: MIT */
/*
 * Stocks of CPUs: what belongs to a key is taken and put by that key alone, in
 * all modes; and nothing is lost while threads wander from CPU to CPU and
 * another closes all of them and takes everything.
 */
#include "pages.h"

static const uint32_t entries[] = { 0, STOCK_ENTRIES };
static struct percpu percpu;
static uint32_t offset;

static void open_mode(enum percpu_mode mode)
{
	assert_int_equal(percpu_init(&percpu, 2, entries, mode), 0);
	offset = percpu.offset[1];
}

/* This thread stays where it is, so that "here" is one place. */
static void stay(void)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void wander(void)
{
	cpu_set_t set;

	memset(&set, 0xff, sizeof(set));
	sched_setaffinity(0, sizeof(set), &set);
}

#define TAKE(key, nr)	  percpu_stock_take(&percpu, offset, (key), (nr))
#define PUT(key, nr, max) percpu_stock_put(&percpu, offset, (key), (nr), (max))
#define SWAP(word, old)	  percpu_stock_swap(&percpu, offset, (word), (old))

static void rules(enum percpu_mode mode)
{
	uint64_t old = 1;

	open_mode(mode);
	if (percpu.mode == PERCPU_OFF) {
		assert_false(TAKE(5, 1) || PUT(5, 1, 64) || SWAP(5, &old));
		percpu_destroy(&percpu);
		return;
	}
	stay();
	assert_false(TAKE(5, 1));
	assert_false(PUT(5, 1, 64)); /* nobody's yet */
	assert_true(SWAP(STOCK(5, 10), &old));
	assert_int_equal(old, 0);
	assert_false(TAKE(5, 11));
	assert_true(TAKE(5, 10));
	assert_false(TAKE(5, 1));
	assert_true(PUT(5, 60, 64));
	assert_false(PUT(5, 5, 64));
	assert_false(PUT(5, UINT32_MAX, 64));
	assert_true(PUT(5, 4, 64));
	assert_false(TAKE(5 + STOCK_WORDS, 1)); /* the same word */
	assert_false(PUT(5 + STOCK_WORDS, 1, 64));
	assert_false(TAKE(6, 1));
	assert_true(SWAP(STOCK(5 + STOCK_WORDS, 7), &old));
	assert_int_equal(old, STOCK(5, 64));
	assert_false(TAKE(5, 1));
	assert_int_equal(percpu_close_all(&percpu), 0);
	assert_false(TAKE(5 + STOCK_WORDS, 1));
	assert_false(PUT(5 + STOCK_WORDS, 1, 64));
	assert_false(SWAP(STOCK(5, 1), &old));
	for (unsigned int cpu = 0; cpu < percpu.nr_cpus; cpu++)
		percpu_open(&percpu, cpu);
	assert_true(TAKE(5 + STOCK_WORDS, 7));
	percpu_check(&percpu);
	percpu_destroy(&percpu);
	wander();
}

static void test_rules(void **state)
{
	(void)state;
	rules(PERCPU_RSEQ);
	rules(PERCPU_LOCK);
	rules(PERCPU_MASK);
	rules(PERCPU_OFF);
}

/* ---- conservation ---- */

#define THREADS 4
#define KEYS	80u /* more than words */

static int64_t in_hand[KEYS]; /* atomic: what threads and the drainer have */
static uint32_t stop;

static void hand(uint32_t key, int64_t nr)
{
	add_relaxed(&in_hand[key], nr);
}

static void leave(uint32_t key, uint32_t nr)
{
	uint64_t old;

	if (PUT(key, nr, 1000)) {
		hand(key, -(int64_t)nr);
	} else if (SWAP(STOCK(key, nr), &old)) {
		hand(key, -(int64_t)nr);
		if (STOCK_NUMBER(old))
			hand(STOCK_KEY(old), STOCK_NUMBER(old));
	}
}

static void *work(void *arg)
{
	uint64_t random = 17 + (uintptr_t)arg;

	for (unsigned int i = 0; !load_acquire(&stop); i++) {
		uint32_t key = (uint32_t)random_below(&random, KEYS);
		uint32_t nr = 1 + (uint32_t)random_below(&random, 20);

		if (TAKE(key, nr))
			hand(key, nr);
		leave(key, nr);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void collect_cpu(unsigned int cpu)
{
	for (uint32_t i = 0; i < STOCK_WORDS; i++) {
		uint64_t *at = slot_stock(percpu_slot(&percpu, cpu, offset), i);
		uint64_t word = load_relaxed(at);

		store_relaxed(at, 0);
		if (STOCK_NUMBER(word))
			hand(STOCK_KEY(word), STOCK_NUMBER(word));
	}
	percpu_open(&percpu, cpu);
}

static void collect(void)
{
	if (percpu_close_all(&percpu))
		return;
	for (unsigned int cpu = 0; cpu < percpu.nr_cpus; cpu++)
		collect_cpu(cpu);
}

static void nothing_is_lost(enum percpu_mode mode)
{
	pthread_t thread[THREADS];

	open_mode(mode);
	memset(in_hand, 0, sizeof(in_hand));
	stop = 0;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, work,
						(void *)(uintptr_t)i),
				 0);
	for (int i = 0; i < 300; i++) {
		usleep(1000);
		collect();
	}
	store_release(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	collect();
	for (uint32_t key = 0; key < KEYS; key++)
		assert_int_equal(in_hand[key], 0);
	percpu_destroy(&percpu);
}

static void test_nothing_is_lost(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	nothing_is_lost(PERCPU_RSEQ);
	nothing_is_lost(PERCPU_LOCK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
