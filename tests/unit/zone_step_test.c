/* SPDX-License-Identifier: MIT */
/*
 * Races of the slow paths, one step at a time: a thread is stopped at a named
 * point, others run, and then it goes on (A.11-4, A4, C.9-1, C.9-2, X3, X5 to
 * X7).  Only in builds that have the points (-Dsteps=true).
 */
#include "pages.h"

#include "base/step.h"
#include "page/fast.h"
#include "page/slow.h"

#if CONFIG_STEP

static const char *stop_at;
static uint32_t stopped, go_on; /* atomic */

/* Whoever comes first waits there; all others pass. */
static void stop_there(const char *name)
{
	if (strcmp(name, stop_at) ||
	    __atomic_exchange_n(&stopped, 1, __ATOMIC_ACQ_REL))
		return;
	while (!load_acquire(&go_on))
		usleep(200);
}

static void stop_next(const char *name)
{
	stop_at = name;
	store_release(&stopped, 0);
	store_release(&go_on, 0);
	step_hook = stop_there;
}

static bool wait_for(uint32_t *word)
{
	for (int i = 0; i < 50000; i++) {
		if (load_acquire(word))
			return true;
		usleep(200);
	}
	return false;
}

static struct quire_zone *zone;
static char *start;
static pthread_t worker;

#define NR 8000
static void *page[NR];

static void open_with(uint32_t pcp, uint32_t drain, uint32_t high)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = 64 * MIB;
	options.pcp = pcp;
	options.drain = drain;
	options.high = high;
	zone = zone_with(options);
	start = quire_zone_address(zone);
}

static void done(void)
{
	step_hook = NULL;
	quire_zone_check(zone);
	assert_int_equal(zone_facts(zone).used_pages, 0);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 0);
	zone_done(zone, 0);
}

static void let_go(void)
{
	store_release(&go_on, 1);
	pthread_join(worker, NULL);
}

static void begin(void *(*body)(void *), const char *step)
{
	stop_next(step);
	assert_int_equal(pthread_create(&worker, NULL, body, NULL), 0);
	assert_true(wait_for(&stopped));
}

static void *free_all(void *arg)
{
	for (int i = 0; i < NR; i++)
		if (page[i])
			assert_int_equal(quire_block_free(zone, page[i]), 0);
	return arg;
}

static void take(int nr)
{
	memset(page, 0, sizeof(page));
	for (int i = 0; i < nr; i++)
		assert_non_null(page[i] = quire_page_alloc(zone, 0));
}

/* The 2 MiB that the first page of the worker lies in. */
static char *part(void)
{
	return (char *)((uintptr_t)page[0] & ~(uintptr_t)(2 * MIB - 1));
}

/*
 * X3, A.11-4: pages are picked, then their pageblock becomes isolated: all of
 * them land where they cannot be taken from, and the numbers know it.
 */
static void a_type_that_changes_after_the_pick(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	for (uint32_t drain = QUIRE_DRAIN_PICK; drain <= QUIRE_DRAIN_PREFETCH;
	     drain++) {
		long out;

		open_with(QUIRE_PCP_AUTO, drain, 40);
		take(200);
		begin(free_all, "pcp: picked, not locked");
		out = quire_zone_isolate(zone, part(), 2 * MIB);
		assert_true(out > 0);
		let_go();
		assert_int_equal(quire_zone_isolate(zone, part(), 2 * MIB), 0);
		assert_int_equal(zone_facts(zone).isolated_pages, 512);
		quire_zone_check(zone);
		assert_int_equal(quire_zone_unisolate(zone, part(), 2 * MIB),
				 0);
		done();
	}
}

static void *isolate_part(void *arg)
{
	long out = quire_zone_isolate(zone, part(), 2 * MIB);

	assert_true(out >= 0);
	store_release((uint32_t *)arg, 1);
	return NULL;
}

/* In one pass under the lock it cannot change between. */
static void a_type_that_cannot_change(void **state)
{
	uint32_t isolated = 0;
	pthread_t other;

	(void)state;
	if (CONFIG_UP)
		skip();
	open_with(QUIRE_PCP_AUTO, QUIRE_DRAIN_SINGLE, 40);
	take(200);
	begin(free_all, "pcp: locked, not picked");
	assert_int_equal(pthread_create(&other, NULL, isolate_part, &isolated),
			 0);
	usleep(50000);
	assert_int_equal(load_acquire(&isolated), 0);
	let_go();
	pthread_join(other, NULL);
	assert_int_equal(quire_zone_isolate(zone, part(), 2 * MIB), 0);
	assert_int_equal(quire_zone_unisolate(zone, part(), 2 * MIB), 0);
	done();
}

/* A4: a free that has read the old type puts its page into a list after the
 * drain; the next look finds it. */
static void *free_first(void *arg)
{
	assert_int_equal(quire_block_free(zone, page[0]), 0);
	return arg;
}

static void freed_after_the_drain(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	open_with(QUIRE_PCP_LOCK, QUIRE_DRAIN_SINGLE, 0);
	take(1);
	begin(free_first, "free: cached, not pushed");
	assert_int_equal(quire_zone_isolate(zone, part(), 2 * MIB), 1);
	let_go();
	assert_int_equal(quire_zone_isolate(zone, part(), 2 * MIB), 0);
	assert_int_equal(zone_facts(zone).isolated_pages, 512);
	assert_int_equal(quire_zone_unisolate(zone, part(), 2 * MIB), 0);
	done();
}

/* Lists are disabled while a thread has pages for them in its hands. */

static void nothing_in_lists(void)
{
	struct quire_zone_facts facts = zone_facts(zone);

	assert_int_equal(facts.pcp_pages, 0);
	assert_int_equal(facts.depot_pages, 0);
}

static void disabled_at(const char *step, void *(*body)(void *))
{
	begin(body, step);
	assert_int_equal(quire_zone_pcp_disable(zone), 0);
	nothing_in_lists();
	let_go();
	nothing_in_lists();
	quire_zone_check(zone);
	assert_int_equal(quire_zone_pcp_enable(zone), 0);
}

static void *take_and_free(void *arg)
{
	void *one = quire_page_alloc(zone, 0);

	assert_non_null(one);
	assert_int_equal(quire_block_free(zone, one), 0);
	return arg;
}

static void disabled_meanwhile(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	open_with(QUIRE_PCP_AUTO, QUIRE_DRAIN_PICK, 0);
	disabled_at("pcp: taken, not pushed", take_and_free);
	take(NR);
	disabled_at("pcp: magazines filled", free_all);
	take(NR);
	free_all(NULL);
	assert_true(zone_facts(zone).depot_pages > 0);
	/* all that is in lists, so that the depot is asked */
	while (zone_facts(zone).depot_pages == zone->depot.nr_pages &&
	       zone_facts(zone).pcp_pages > 0)
		assert_true(pcp_drain_cpu(zone, zone->percpu.nr_cpus) == 0 &&
			    pcp_drain_cpu(zone, 0) + pcp_drain_cpu(zone, 1) >=
				    0);
	disabled_at("pcp: magazines taken", take_and_free);
	done();
}

/* X7: moved to another CPU between two steps. */

static void move_worker(void)
{
	cpu_set_t set, one;
	static int last = -1;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	do
		last = (last + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(last, &set));
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	assert_int_equal(pthread_setaffinity_np(worker, sizeof(one), &one), 0);
}

static void *take_many_and_free(void *arg)
{
	for (int i = 0; i < NR; i++)
		assert_non_null(page[i] = quire_page_alloc(zone, i & 1));
	return free_all(arg);
}

static void moved_meanwhile(void **state)
{
	static const char *const steps[] = {
		"alloc: inside",
		"pcp: taken, not pushed",
		"free: inside",
		"pcp: magazines filled",
		"pcp: picked, not locked",
	};

	(void)state;
	if (CONFIG_UP)
		skip();
	for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_MASK; pcp++) {
		for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
			open_with(pcp, QUIRE_DRAIN_PICK, 0);
			if (zone->percpu.mode != PERCPU_RSEQ &&
			    !strcmp(steps[i], "free: inside")) {
				done(); /* what is full is drained before */
				continue;
			}
			stop_next(steps[i]);
			assert_int_equal(pthread_create(&worker, NULL,
							take_many_and_free,
							NULL),
					 0);
			assert_true(wait_for(&stopped));
			move_worker();
			let_go();
			done();
		}
	}
}

/* X6: a CPU's owner is stopped with its lock; a remote drain waits for it, and
 * it waits for nobody. */

static uint32_t drained; /* atomic */

static void *drain_all(void *arg)
{
	assert_true(quire_zone_drain(zone, -1) >= 0);
	store_release(&drained, 1);
	return arg;
}

static void drained_while_the_owner_is_inside(void **state)
{
	struct percpu_lock *lock;
	pthread_t other;

	(void)state;
	if (CONFIG_UP)
		skip();
	step_hook = NULL;
	open_with(QUIRE_PCP_LOCK, QUIRE_DRAIN_SINGLE, 0);
	take(100);
	store_release(&drained, 0);
	for (uint32_t cpu = 0; cpu < zone->percpu.nr_cpus; cpu++) {
		lock = (struct percpu_lock *)percpu_slot(&zone->percpu, cpu, 0);
		store_release(&lock->word, 1);
	}
	assert_int_equal(pthread_create(&other, NULL, drain_all, NULL), 0);
	usleep(50000);
	assert_int_equal(load_acquire(&drained), 0);
	free_all(NULL);
	take(100);
	assert_int_equal(load_acquire(&drained), 0);
	for (uint32_t cpu = 0; cpu < zone->percpu.nr_cpus; cpu++) {
		lock = (struct percpu_lock *)percpu_slot(&zone->percpu, cpu, 0);
		if (exchange_release(&lock->word, 0) == 2)
			os->wake(&lock->word);
	}
	pthread_join(other, NULL);
	assert_int_equal(load_acquire(&drained), 1);
	free_all(NULL);
	done();
}

/* A.11-10: after some chunks of a drain the CPU's lock is taken by somebody
 * else: what was not freed is still in the list, and nothing is lost. */

static int chunks_left;

static void take_cpu_lock(const char *name)
{
	struct percpu_lock *lock;

	if (strcmp(name, "pcp: picked, not locked") || chunks_left-- > 0)
		return;
	for (uint32_t cpu = 0; cpu < zone->percpu.nr_cpus; cpu++) {
		lock = (struct percpu_lock *)percpu_slot(&zone->percpu, cpu, 0);
		store_release(&lock->word, 1);
	}
}

static void give_cpu_locks(void)
{
	for (uint32_t cpu = 0; cpu < zone->percpu.nr_cpus; cpu++)
		store_release(&((struct percpu_lock *)percpu_slot(&zone->percpu,
								  cpu, 0))
				       ->word,
			      0);
}

static void interrupted_between_chunks(void **state)
{
	size_t before, after;

	(void)state;
	if (CONFIG_UP)
		skip();
	for (int chunks = 0; chunks < 3; chunks++) {
		struct quire_zone_options options = zone_plain();

		options.bytes = 64 * MIB;
		options.pcp = QUIRE_PCP_LOCK;
		options.drain = QUIRE_DRAIN_PICK;
		options.high = 1000;
		options.flags = QUIRE_ZONE_NO_DEPOT;
		zone = zone_with(options);
		take(900);
		step_hook = NULL;
		free_all(NULL);
		before = zone_facts(zone).pcp_pages;
		assert_true(before >= 900);
		chunks_left = chunks;
		step_hook = take_cpu_lock;
		pcp_drain_own(zone, 0, 0, 900);
		step_hook = NULL;
		after = zone_facts(zone).pcp_pages;
		assert_int_equal(before - after,
				 (size_t)(chunks + 1) * plan_chunk(zone, 0));
		quire_zone_check(zone);
		take(10); /* by the zone */
		free_all(NULL);
		give_cpu_locks();
		done();
	}
}

/* X5, C.9-1: at every point a handler allocates and frees. */

static const char *const points[] = {
	"alloc: inside",
	"free: inside",
	"free: cached, not pushed",
	"pcp: taken, not pushed",
	"pcp: magazines taken",
	"pcp: magazines filled",
	"pcp: picked, not locked",
	"pcp: locked, not picked",
	"closed: taken, not given",
	"closed: one CPU",
	"closed: all CPUs",
	"isolate: lists are closed",
	"range: lent, not given",
};
static unsigned int hits[ARRAY_SIZE(points)];
static volatile sig_atomic_t inside;
static volatile sig_atomic_t handler_failed;

static void on_signal(int signal)
{
	void *held[3];

	(void)signal;
	for (int i = 0; i < 3; i++)
		held[i] = quire_block_alloc(zone, i ? 0 : 1, QUIRE_ATOMIC);
	for (int i = 0; i < 3; i++)
		if (held[i] && quire_block_free_atomic(zone, held[i]))
			handler_failed++;
}

static void interrupt_there(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(points); i++)
		if (!strcmp(name, points[i]))
			hits[i]++;
	if (inside)
		return;
	inside = 1;
	raise(SIGUSR1);
	inside = 0;
}

/* Every road through the slow paths. */
static void workload(void)
{
	void *range;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < NR; i++)
			page[i] = quire_page_alloc(zone, (unsigned int)i & 1);
		free_all(NULL);
	}
	for (int i = 0; i < NR; i++)
		page[i] = NULL;
	for (int i = 0; i < 100; i++)
		page[i] = quire_block_alloc(zone, (unsigned int)i % 11, 0);
	free_all(NULL);
	range = quire_range_alloc(zone, 777, 0, 0);
	assert_non_null(range);
	assert_int_equal(quire_range_free(zone, range, 777), 0);
	for (int cpu = 0; cpu < (int)zone->percpu.nr_cpus; cpu++)
		assert_true(quire_zone_drain(zone, cpu) >= 0);
	for (int i = 0; i < NR; i++)
		page[i] = quire_page_alloc(zone, 0);
	free_all(NULL);
	assert_true(quire_zone_drain(zone, -1) >= 0);
	assert_true(quire_zone_isolate(zone, start, 2 * MIB) >= 0);
	assert_int_equal(quire_zone_unisolate(zone, start, 2 * MIB), 0);
}

static void handlers_at_every_point(void **state)
{
	(void)state;
	signal(SIGUSR1, on_signal);
	for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_OFF; pcp++)
		for (uint32_t drain = 0; drain < 3; drain++) {
			open_with(pcp, drain, pcp % 2 ? 0 : 300);
			step_hook = interrupt_there;
			workload();
			step_hook = NULL;
			assert_int_equal(handler_failed, 0);
			done();
		}
	for (size_t i = 0; i < ARRAY_SIZE(points) && !CONFIG_UP; i++) {
		if (!hits[i])
			print_message("never at: %s\n", points[i]);
		assert_true(hits[i] > 0);
	}
	signal(SIGUSR1, SIG_DFL);
}

/* The deferred list: one thread is stopped between reading its head and
 * changing it, another changes it, a third empties it. */
static void *free_where_there_is_no_room(void *arg)
{
	assert_int_equal(quire_block_free_atomic(zone, page[0]), 0);
	return arg;
}

static void deferred_at_once(void **state)
{
	(void)state;
	open_with(QUIRE_PCP_OFF, QUIRE_DRAIN_SINGLE, 0);
	take(4);
	lock_take(&zone->buddies[0].lock);
	begin(free_where_there_is_no_room, "deferred: linked, not pushed");
	assert_int_equal(quire_block_free_atomic(zone, page[1]), 0);
	assert_int_equal(quire_block_free_atomic(zone, page[2]), 0);
	lock_release(&zone->buddies[0].lock);
	assert_int_equal(quire_block_free(zone, page[3]), 0); /* empties it */
	let_go();
	assert_int_equal(zone_facts(zone).depot_pages, 1);
	take_and_free(NULL);
	assert_int_equal(zone_facts(zone).depot_pages, 0);
	done();
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_type_that_changes_after_the_pick),
		TEST(a_type_that_cannot_change),
		TEST(freed_after_the_drain),
		TEST(disabled_meanwhile),
		TEST(moved_meanwhile),
		TEST(drained_while_the_owner_is_inside),
		TEST(interrupted_between_chunks),
		TEST(handlers_at_every_point),
		TEST(deferred_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
