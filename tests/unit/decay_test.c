/* SPDX-License-Identifier: MIT */
/* Memory back to the kernel: by age, by request, never where it must not; the
 * helper thread; who waits for what.  Row E8; spec A11, Q8. */
#include "pages.h"

#include "os/sim.h"

#define MEBI(n) ((size_t)(n) << 20)

static struct blocks held;

/* A clock that the test sets, no thread, discards that it can hold. */
static int setup_sim(void **state)
{
	(void)state;
	sim_start();
	faulty_start(os);
	faulty_arm_from(1, FAULTY_THREAD);
	spy_start(os);
	return 0;
}

static int setup_threads(void **state)
{
	(void)state;
	spy_start(&os_kernel);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	os = &os_kernel;
	assert_false(thread_named("quire/decay"));
	return 0;
}

static void pass_ms(uint64_t ms)
{
	sim_advance_ms(ms);
	decay_look(os->now_ms());
}

static void old_memory_goes_back(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 800);
	char *base = quire_zone_address(zone);

	(void)state;
	blocks_take(zone, &held, 9, 16);
	decay_look(os->now_ms());
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	for (int i = 0; i < 7; i++)
		pass_ms(100);
	assert_true(resident_pages(base, MEBI(64)) >= 16 * 512);
	for (int i = 0; i < 4; i++)
		pass_ms(100);
	assert_int_equal(resident_pages(base, MEBI(64)), 0);
	assert_int_equal(zone_facts(zone).fresh_pages, MEBI(64) >> 12);
	assert_true(ZONE_COUNTER(zone, zone_discarded) >= 16 * 512);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* One block of half a gigabyte and more is no older than its pieces: all of it
 * goes in one look, however often it grows together meanwhile. */
static void large_blocks_go_at_once(void **state)
{
	struct quire_region *region = region_of(MEBI(1024));
	struct quire_zone *zone = zone_over(region, 80);

	(void)state;
	blocks_take(zone, &held, 9, 512);
	decay_look(os->now_ms());
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	for (int i = 0; i < 11; i++)
		pass_ms(10);
	assert_int_equal(resident_pages(quire_zone_address(zone), MEBI(1024)),
			 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* What is used meanwhile stays, and a small hole keeps its neighbours. */
static void only_whole_free_steps(void **state)
{
	struct quire_region *region = region_of(MEBI(16));
	struct quire_zone *zone = zone_over(region, 80);
	char *base = quire_zone_address(zone);
	void *page = quire_page_alloc(zone, 0);

	(void)state;
	memset(page, 1, 4096);
	blocks_take(zone, &held, 9, 4);
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	for (int i = 0; i < 12; i++)
		pass_ms(10);
	assert_true(resident_pages(base, MEBI(16)) >= 1);
	assert_true(resident_pages(base, MEBI(16)) <= 512);
	assert_int_equal(*(char *)page, 1);
	zone_done(zone, 1);
	assert_int_equal(quire_region_close(region), 0);
}

static void never(void **state)
{
	struct quire_region *region = region_of(MEBI(16));
	struct quire_zone *zone = zone_over(region, UINT32_MAX);
	char *base = quire_zone_address(zone);

	(void)state;
	blocks_take(zone, &held, 9, 4);
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	for (int i = 0; i < 40; i++)
		pass_ms(10000);
	assert_true(resident_pages(base, MEBI(16)) >= 4 * 512);
	assert_int_equal(quire_zone_trim(zone, 0), 4 * MEBI(2));
	assert_int_equal(resident_pages(base, MEBI(16)), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* The caller's memory: only where it said so. */
static void memory_of_the_caller(void **state)
{
	struct quire_zone_options options = zone_plain();
	size_t bytes = MEBI(16);
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	for (uint32_t decay_ms = 0; decay_ms <= 80; decay_ms += 80) {
		struct quire_zone *zone;

		memset(memory, 1, bytes);
		options.memory = memory;
		options.bytes = bytes;
		options.decay_ms = decay_ms;
		zone = zone_with(options);
		blocks_take(zone, &held, 0, 4000);
		blocks_give(zone, &held);
		quire_zone_drain(zone, -1);
		for (int i = 0; i < 12; i++)
			pass_ms(10);
		if (!decay_ms) {
			assert_int_equal(quire_zone_trim(zone, 0), 0);
			assert_int_equal(resident_pages(memory, bytes),
					 bytes >> 12);
		} else {
			assert_true(resident_pages(memory, bytes) <= 2 * 512);
		}
		zone_done(zone, 0);
	}
	munmap(memory, bytes);
}

static void registered_memory_stays(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 80);
	char *base = quire_zone_address(zone);

	(void)state;
	assert_int_equal(quire_region_register(region, MEBI(8), 4096), 0);
	memset(base, 1, MEBI(64)); /* as a device would */
	blocks_take(zone, &held, 9, 32);
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	for (int i = 0; i < 12; i++)
		pass_ms(10);
	assert_int_equal(resident_pages(base, MEBI(64)), 512);
	assert_int_equal(resident_pages(base + MEBI(8), MEBI(2)), 512);
	quire_zone_check(zone);
	assert_int_equal(quire_region_unregister(region, MEBI(8), 4096), 0);
	for (int i = 0; i < 12; i++)
		pass_ms(10);
	assert_int_equal(resident_pages(base, MEBI(64)), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void refused_memory_stays(void **state)
{
	struct quire_region *region = region_of(MEBI(16));
	struct quire_zone *zone = zone_over(region, 80);

	(void)state;
	blocks_take(zone, &held, 9, 8);
	blocks_give(zone, &held);
	faulty_arm_from(1, FAULTY_ADVISE);
	assert_int_equal(quire_zone_trim(zone, 0), 0);
	assert_true(ZONE_COUNTER(zone, zone_discard_failed) > 0);
	assert_int_equal(zone_facts(zone).fresh_pages, 0);
	faulty_arm(0, FAULTY_ALL);
	assert_int_equal(quire_zone_trim(zone, 0), MEBI(16));
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void trim_keeps(void **state)
{
	struct quire_region *region = region_of(MEBI(256));
	struct quire_zone *zone = zone_over(region, 0);
	size_t left;

	(void)state;
	blocks_take(zone, &held, 9, 128);
	blocks_give(zone, &held);
	quire_zone_trim(zone, MEBI(100));
	left = resident_pages(quire_zone_address(zone), MEBI(256)) << 12;
	assert_true(left >= MEBI(100) && left < MEBI(104));
	assert_int_equal(quire_zone_trim(zone, MEBI(100)), 0);
	assert_int_equal(quire_trim(), left);
	assert_int_equal(quire_trim(), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void *trim_in_thread(void *zone)
{
	quire_zone_trim(zone, 0);
	return NULL;
}

static void *alloc_in_thread(void *zone)
{
	return quire_block_alloc(zone, 13, 0);
}

/* All blocks of an order but the last. */
static size_t take_all_but_one(struct quire_zone *zone, unsigned int order)
{
	void *last = NULL, *block;

	held.nr = 0;
	while ((block = quire_block_alloc(zone, order, QUIRE_ATOMIC))) {
		if (last)
			held.at[held.nr++] = last;
		last = block;
	}
	assert_non_null(last);
	memset(last, 1, PAGE_SIZE << order);
	assert_int_equal(quire_block_free(zone, last), 0);
	return held.nr << order;
}

/* All that would fit is on its way: wait for it, do not fail.  2 MiB more than
 * blocks, wherever the region begins: the reserve. */
static void allocation_waits_for_what_is_lent(void **state)
{
	struct quire_region *region = region_of(MEBI(130));
	struct quire_zone *zone = zone_over(region, 0);
	size_t used = take_all_but_one(zone, 13);
	pthread_t trimmer, user;
	void *block;

	(void)state;
	gate_close();
	pthread_create(&trimmer, NULL, trim_in_thread, zone);
	gate_wait(1);
	assert_int_equal(zone_facts(zone).used_pages, used);
	pthread_create(&user, NULL, alloc_in_thread, zone);
	sleep_ms(20);
	gate_open();
	pthread_join(user, &block);
	pthread_join(trimmer, NULL);
	assert_non_null(block);
	assert_int_equal(*(char *)block, 0);
	zone_done(zone, (long)used + 8192);
	assert_int_equal(quire_region_close(region), 0);
}

static void check_in_child(void *arg)
{
	struct quire_zone *zone = arg;
	struct quire_zone_facts facts = { .size = sizeof(facts) };

	quire_zone_check(zone);
	CHILD_CHECK(!quire_zone_describe(zone, &facts));
	CHILD_CHECK(facts.free_pages + facts.pcp_pages + facts.depot_pages ==
		    facts.managed_pages);
	CHILD_CHECK(!facts.used_pages);
	CHILD_CHECK(quire_zone_close(zone) == 0);
}

/* fork does not wait for the kernel, and the child has what was lent. */
static void fork_while_lent(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 0);
	pthread_t trimmer;

	(void)state;
	blocks_take(zone, &held, 9, 32);
	blocks_give(zone, &held);
	gate_close();
	pthread_create(&trimmer, NULL, trim_in_thread, zone);
	gate_wait(1);
	assert_int_equal(in_child_of(check_in_child, zone), 0);
	gate_open();
	pthread_join(trimmer, NULL);
	assert_int_equal(resident_pages(quire_zone_address(zone), MEBI(64)), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* The helper thread */

static void wait_resident_below(const void *address, size_t bytes, size_t pages)
{
	while (resident_pages(address, bytes) > pages)
		sleep_ms(5);
}

/* It gives itself its name. */
static void wait_helper(void)
{
	while (!thread_named("quire/decay"))
		sleep_ms(1);
}

/* Row E8: without any further call. */
static void helper_does_it(void **state)
{
	size_t bytes = getenv("QUIRE_STRESS_SECONDS") ? MEBI(4096) : MEBI(512);
	struct quire_region *region = region_of(bytes);
	struct quire_zone *zone = zone_over(region, 200);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		blocks_take(zone, &held, 9, bytes / MEBI(2));
		blocks_give(zone, &held);
		wait_helper();
		wait_resident_below(quire_zone_address(zone), bytes,
				    bytes / 4096 / 20);
	}
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
	assert_false(thread_named("quire/decay"));
}

static void *close_in_thread(void *zone)
{
	return (void *)quire_zone_close(zone);
}

static void closing_waits_for_the_helper(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 8);
	pthread_t closer;
	void *result;

	(void)state;
	gate_close();
	blocks_take(zone, &held, 9, 32);
	blocks_give(zone, &held);
	gate_wait(1);
	pthread_create(&closer, NULL, close_in_thread, zone);
	sleep_ms(20);
	gate_open();
	pthread_join(closer, &result);
	assert_int_equal((long)result, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void use_in_child(void *arg)
{
	struct quire_zone *zone = arg;
	size_t bytes = quire_zone_size(zone);

	CHILD_CHECK(!thread_named("quire/decay"));
	blocks_take(zone, &held, 9, 32);
	blocks_give(zone, &held);
	wait_resident_below(quire_zone_address(zone), bytes, bytes >> 14);
	wait_helper();
	CHILD_CHECK(quire_zone_close(zone) == 0);
	CHILD_CHECK(!thread_named("quire/decay"));
}

static void child_has_its_own_helper(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 50);

	(void)state;
	blocks_take(zone, &held, 9, 32);
	blocks_give(zone, &held);
	assert_int_equal(in_child_of(use_in_child, zone), 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

/* Later calls do it, by the clock. */
static void without_a_helper(void **state)
{
	struct quire_region *region = region_of(MEBI(64));
	struct quire_zone *zone = zone_over(region, 80);
	char *base = quire_zone_address(zone);
	void *block;

	(void)state;
	blocks_take(zone, &held, 9, 32);
	blocks_give(zone, &held);
	quire_zone_drain(zone, -1);
	for (int i = 0; i < 300 && resident_pages(base, MEBI(64)) > 1024; i++) {
		sim_advance_ms(10);
		block = quire_block_alloc(zone, 10, 0); /* no list has these */
		assert_int_equal(quire_block_free(zone, block), 0);
	}
	assert_true(resident_pages(base, MEBI(64)) <= 1024);
	assert_true(CONFIG_UP || ZONE_COUNTER(zone, thread_refused) > 0);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

#define SIM(f)	   cmocka_unit_test_setup_teardown(f, setup_sim, teardown)
#define THREADS(f) cmocka_unit_test_setup_teardown(f, setup_threads, teardown)

int main(void)
{
	const struct CMUnitTest sim[] = {
		SIM(large_blocks_go_at_once), SIM(old_memory_goes_back),
		SIM(only_whole_free_steps),   SIM(never),
		SIM(memory_of_the_caller),    SIM(registered_memory_stays),
		SIM(refused_memory_stays),    SIM(trim_keeps),
		SIM(without_a_helper),
	};
	const struct CMUnitTest threads[] = {
		THREADS(allocation_waits_for_what_is_lent),
		THREADS(helper_does_it),
		THREADS(closing_waits_for_the_helper),
	};
	/* A child of many threads that starts one is not for TSan. */
	const struct CMUnitTest children[] = {
		THREADS(fork_while_lent),
		THREADS(child_has_its_own_helper),
	};
	int failed = cmocka_run_group_tests(sim, NULL, NULL);

	if (!CONFIG_UP)
		failed += cmocka_run_group_tests(threads, NULL, NULL);
	if (!CONFIG_UP && !UNDER_TSAN)
		failed += cmocka_run_group_tests(children, NULL, NULL);
	return failed;
}
