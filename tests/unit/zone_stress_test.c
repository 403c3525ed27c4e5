/* SPDX-License-Identifier: MIT */
/*
 * Threads that allocate and free, migrate, and are interrupted by handlers that
 * do the same, while others drain, disable, isolate and shrink lists (P13, P14,
 * A4, A5, X5 to X7).  No page has two owners; at rest every page is accounted
 * for.  QUIRE_STRESS_SECONDS: for how long (5).
 */
#include "pages.h"

#include <time.h>

#include "page/fast.h"

#define WORKERS 4
#define HELD	600

static struct quire_zone *zone;
static uint32_t *owner; /* atomic; by page number: 0 is nobody */
static uint32_t stop;	/* atomic */

static void own(void *at, size_t nr, uint32_t who)
{
	uint64_t page = zone_page(zone, at);

	for (size_t i = 0; i < nr; i++)
		ASSERT(cas_acquire(&owner[page + i], 0, who));
}

static void disown(void *at, size_t nr, uint32_t who)
{
	uint64_t page = zone_page(zone, at);

	for (size_t i = 0; i < nr; i++) {
		ASSERT(load_relaxed(&owner[page + i]) == who);
		store_relaxed(&owner[page + i], 0);
	}
}

/* Handlers */

static __thread uint32_t me;
static __thread volatile sig_atomic_t in_handler;
static uint64_t handled;

static void on_signal(int signal)
{
	void *held[24];
	int saved = errno;

	(void)signal;
	if (!me || in_handler)
		return;
	in_handler = 1;
	for (int i = 0; i < 24; i++) {
		unsigned int order = i % 8 ? 0 : 2;

		held[i] = quire_block_alloc(zone, order, QUIRE_ATOMIC);
		if (held[i])
			own(held[i], (size_t)1 << order, me + 100);
	}
	for (int i = 0; i < 24; i++) {
		if (!held[i])
			continue;
		disown(held[i], i % 8 ? 1 : 4, me + 100);
		ASSERT(!quire_block_free_atomic(zone, held[i]));
	}
	add_relaxed(&handled, 1);
	in_handler = 0;
	errno = saved;
}

/* Workers */

struct held {
	void *at;
	size_t nr;
	bool is_range;
};

static void take(struct held *held, uint64_t *seed)
{
	size_t kind = random_below(seed, 40);
	unsigned int flags = (unsigned int)random_below(seed, 2);
	unsigned int order = kind < 30 ? 0 : (unsigned int)kind - 30;

	held->is_range = kind == 39;
	if (held->is_range) {
		held->nr = 1 + random_below(seed, 50);
		held->at = quire_range_alloc(zone, held->nr, 0, flags);
	} else {
		held->nr = (size_t)1 << order;
		held->at = quire_block_alloc(zone, order, flags);
	}
	if (held->at)
		own(held->at, held->nr, me);
}

static void give(struct held *held)
{
	disown(held->at, held->nr, me);
	ASSERT(!(held->is_range ? quire_range_free(zone, held->at, held->nr)
				: quire_block_free(zone, held->at)));
	held->at = NULL;
}

static void bulk(uint64_t *seed)
{
	void *blocks[100];
	size_t nr = quire_block_alloc_bulk(zone, 0, 0,
					   1 + random_below(seed, 100), blocks);

	for (size_t i = 0; i < nr; i++)
		own(blocks[i], 1, me);
	for (size_t i = 0; i < nr; i++)
		disown(blocks[i], 1, me);
	ASSERT(!quire_block_free_bulk(zone, nr, blocks));
}

static void migrate(uint64_t *seed)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)random_below(seed, os->nr_cpus()), &set);
	sched_setaffinity(0, sizeof(set), &set); /* or not */
}

static void *work(void *arg)
{
	static __thread struct held held[HELD];
	uint64_t seed = (uintptr_t)arg * 77;

	me = (uint32_t)(uintptr_t)arg;
	while (!load_relaxed(&stop)) {
		struct held *one = &held[random_below(&seed, HELD)];

		if (one->at)
			give(one);
		else
			take(one, &seed);
		if (!random_below(&seed, 64))
			bulk(&seed);
		if (!random_below(&seed, 512))
			migrate(&seed);
	}
	for (int i = 0; i < HELD; i++)
		if (held[i].at)
			give(&held[i]);
	me = 0;
	return NULL;
}

/* Who disturbs */

static void isolate(uint64_t *seed)
{
	size_t nr = quire_zone_size(zone) / (2 * MIB);
	char *part = (char *)quire_zone_address(zone) +
		     random_below(seed, nr) * 2 * MIB;

	for (int i = 0; i < 5; i++) {
		long out = quire_zone_isolate(zone, part, 2 * MIB);

		ASSERT(out >= 0 && out <= 512);
	}
	ASSERT(!quire_zone_unisolate(zone, part, 2 * MIB));
}

static void *disturb(void *arg)
{
	uint64_t seed = 99;

	while (!load_relaxed(&stop)) {
		switch (random_below(&seed, 6)) {
		case 0:
			ASSERT(!quire_zone_pcp_disable(zone));
			usleep(300);
			ASSERT(!quire_zone_pcp_enable(zone));
			break;
		case 1:
			isolate(&seed);
			break;
		case 2:
			pcp_decay(zone);
			break;
		case 3:
			ASSERT(quire_zone_drain(
				       zone,
				       (int)random_below(&seed,
							 os->nr_cpus())) >= 0);
			break;
		case 4: /* P14 */
			ASSERT(zone_facts(zone).used_pages <=
			       zone->managed_pages);
			break;
		default:
			ASSERT(quire_zone_drain(zone, -1) >= 0);
		}
		usleep(500);
	}
	return arg;
}

static void *interrupt(void *arg)
{
	pthread_t *workers = arg;

	for (int i = 0; !load_relaxed(&stop); i++) {
		pthread_kill(workers[i % WORKERS], SIGUSR1);
		usleep(100); /* 10 kHz or so */
	}
	return NULL;
}

static void run(struct quire_zone_options options, unsigned int ms)
{
	pthread_t workers[WORKERS], others[2];

	zone = zone_with(options);
	owner = calloc(zone->end, sizeof(*owner));
	assert_non_null(owner);
	store_relaxed(&stop, 0);
	for (uintptr_t i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&workers[i], NULL, work,
						(void *)(i + 1)),
				 0);
	assert_int_equal(pthread_create(&others[0], NULL, disturb, NULL), 0);
	assert_int_equal(pthread_create(&others[1], NULL, interrupt, workers),
			 0);
	usleep(ms * 1000);
	store_relaxed(&stop, 1);
	pthread_join(others[1], NULL); /* before those that it signals */
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	pthread_join(others[0], NULL);
	quire_zone_check(zone);
	assert_int_equal(zone_facts(zone).used_pages, 0);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 0);
	assert_true(quire_zone_drain(zone, -1) >= 0);
	assert_int_equal(zone_facts(zone).free_pages, zone->managed_pages);
	zone_done(zone, 0);
	free(owner);
}

static unsigned int seconds(void)
{
	const char *text = getenv("QUIRE_STRESS_SECONDS");

	return text ? (unsigned int)atoi(text) : 5;
}

static void everything_at_once(void **state)
{
	static const struct {
		uint32_t pcp, drain, shards, high;
		size_t bytes;
	} configs[] = {
		{ QUIRE_PCP_RSEQ, QUIRE_DRAIN_SINGLE, 1, 0, 64 * MIB },
		{ QUIRE_PCP_RSEQ, QUIRE_DRAIN_PICK, 4, 50, 64 * MIB },
		{ QUIRE_PCP_RSEQ, QUIRE_DRAIN_PREFETCH, 2, 0, 8 * MIB },
		{ QUIRE_PCP_LOCK, QUIRE_DRAIN_SINGLE, 1, 0, 64 * MIB },
		{ QUIRE_PCP_LOCK, QUIRE_DRAIN_PICK, 4, 50, 8 * MIB },
		{ QUIRE_PCP_MASK, QUIRE_DRAIN_SINGLE, 2, 0, 64 * MIB },
		{ QUIRE_PCP_OFF, QUIRE_DRAIN_SINGLE, 4, 0, 64 * MIB },
		{ QUIRE_PCP_RSEQ, QUIRE_DRAIN_SINGLE, 1, 0, 4 * MIB },
	};
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_RESTART };
	unsigned int ms = seconds() * 1000 / ARRAY_SIZE(configs);

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct quire_zone_options options = zone_plain();

		options.pcp = configs[i].pcp;
		options.drain = configs[i].drain;
		options.nr_shards = configs[i].shards;
		options.high = configs[i].high;
		options.bytes = configs[i].bytes;
		run(options, ms);
	}
	assert_true(load_relaxed(&handled) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_at_once),
	};

	if (CONFIG_UP)
		return 77; /* no threads */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
