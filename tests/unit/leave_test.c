/* SPDX-License-Identifier: MIT */
/*
 * When kept memory goes back, who does it, and what shards, stores and
 * processes have to do with each other.
 */
#include "store_fixture.h"

#include <pthread.h>

#include "os/faulty.h"
#include "region/keeper.h"

static struct store other;

/* The build for one CPU has one shard and no helper thread. */
#define NEEDS_THREADS()                                                        \
	do {                                                                   \
		if (CONFIG_UP)                                                 \
			skip();                                                \
	} while (0)

/* Decay: a free is what looks, at most every 100 ms. */

static void look(void)
{
	sim_advance_ms(LOOK_EVERY_MS);
	keeper_after_keep(&store, &store.shards[0], 0, os->now_ms());
}

static void the_oldest_decays_first(void **state)
{
	struct store_options options = quiet_options();
	char *block[4];

	(void)state;
	options.decay_ms = 1000;
	reopen(options);
	apart(block, 8 * MIB, MIB, 4);
	for (int i = 0; i < 4; i++) {
		give(block[i]);
		sim_advance_ms(250);
	}
	for (int i = 0; i < 4; i++) {
		assert_true(is_mapped(block[i]));
		look();
		assert_false(is_mapped(block[i]));
		assert_true(i == 3 || is_mapped(block[i + 1]));
		sim_advance_ms(150);
	}
	assert_true(COUNT(&store, bytes_decayed) == 26 * MIB);
	check_all(&store, 4);
}

static void a_merged_span_has_the_older_age(void **state)
{
	struct store_options options = quiet_options();
	char *at[3];

	(void)state;
	options.decay_ms = 1000;
	reopen(options);
	three_in_a_row(at, MIB);
	give(at[0]);
	sim_advance_ms(900);
	give(at[1]);
	store_check(&store);
	look();
	assert_true(COUNT(&store, bytes_decayed) == 2 * MIB);
	assert_false(is_mapped(at[1]));
	assert_true(is_mapped(at[2]));
	check_all(&store, 1);
}

/* Two threads read the clock and take the lock in the other order. */
static void a_clock_read_too_early(void **state)
{
	struct shard *shard = &store.shards[0];
	char *a = alloc(MIB), *b;
	struct span *span;

	(void)state;
	alloc(128 * KIB);
	b = alloc(MIB);
	sim_advance_ms(1000);
	give(a);
	span = pagemap_at(&store.common.map, PAGES((uintptr_t)b));
	lock_take(&shard->lock);
	shard->count[QUIRE_COUNTER_span_free]++;
	shard_keep(shard, span, 900);
	lock_release(&shard->lock);
	check_all(&store, 1);
}

static void decay_over_a_wrap_of_the_clock(void **state)
{
	struct store_options options = quiet_options();
	char *block;

	(void)state;
	options.decay_ms = 1000;
	reopen(options);
	sim_advance_ms(UINT32_MAX - 100);
	block = alloc(MIB);
	give(block);
	sim_advance_ms(800);
	look();
	assert_true(is_mapped(block));
	look();
	assert_false(is_mapped(block));
	sim_advance_ms(UINT32_MAX);
}

static void decay_0_keeps_nothing(void **state)
{
	struct store_options options = quiet_options();
	char *block;

	(void)state;
	options.decay_ms = 0;
	reopen(options);
	block = alloc(200 * MIB); /* more than one slice */
	memset(block, 1, 200 * MIB);
	give(block);
	assert_false(is_mapped(block));
	assert_true(COUNT(&store, bytes_direct) == 200 * MIB);
	assert_true(COUNT(&store, bytes_kept_peak) == 0);
	check_all(&store, 0);
}

/* Cap, room, pressure */

static void the_cap_holds(void **state)
{
	char *block[10];

	(void)state;
	apart(block, 2 * MIB, 0, 10);
	store.cap_pages = PAGES(8 * MIB);
	for (int i = 0; i < 10; i++) {
		give(block[i]);
		assert_true(COUNT(&store, bytes_kept) <= 8 * MIB);
	}
	assert_true(COUNT(&store, bytes_kept) == 8 * MIB);
	assert_true(COUNT(&store, bytes_capped) == 12 * MIB);
	assert_false(is_mapped(block[5]));
	assert_true(is_mapped(block[6]));
	check_all(&store, 10);
}

static void *free_in_thread(void *block)
{
	give(block);
	return NULL;
}

static void *alloc_in_thread(void *bytes)
{
	return alloc((size_t)bytes);
}

static void *in_thread(void *(*body)(void *), void *arg)
{
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, body, arg), 0);
	pthread_join(thread, &result);
	return result;
}

/* Most of the sum in one shard, the free that goes past the cap in another. */
static void the_cap_holds_over_shards(void **state)
{
	struct store_options options = quiet_options();
	char *mine, *theirs;

	(void)state;
	options.keep_bytes = 32 * MIB;
	options.nr_shards = 4;
	reopen(options);
	mine = alloc(30 * MIB);
	theirs = in_thread(alloc_in_thread, (void *)(7 * MIB));
	assert_ptr_not_equal(
		pagemap_at(&store.common.map, PAGES((uintptr_t)mine)), NULL);
	give(mine);
	in_thread(free_in_thread, theirs);
	assert_true(COUNT(&store, bytes_kept) <= 32 * MIB);
	check_all(&store, 0);
}

static void live_and_kept_stay_near_the_peak(void **state)
{
	uint64_t peak = 0, seed = 5;
	char *block[8] = { NULL };

	(void)state;
	for (int round = 0; round < 500; round++) {
		int i = (int)random_below(&seed, 8);

		if (block[i])
			give(block[i]);
		block[i] = alloc((1 + random_below(&seed, 64)) * MIB);
		uint64_t live = COUNT(&store, bytes_live);

		peak = live > peak ? live : peak;
		assert_true(live + COUNT(&store, bytes_kept) <=
			    peak + peak / 16 + 4 * MIB);
	}
	assert_true(COUNT(&store, bytes_replaced) > 0);
	check_all(&store, 8);
}

static void v2_group(const char *max, const char *current, const char *stat)
{
	sim_file_set("/proc/meminfo", "MemTotal: 8388608 kB\n"
				      "MemAvailable: 6291456 kB\n");
	sim_file_set("/proc/self/cgroup", "0::/a\n");
	sim_file_set("/proc/self/mountinfo",
		     "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", max);
	sim_file_set("/sys/fs/cgroup/a/memory.current", current);
	sim_file_set("/sys/fs/cgroup/a/memory.stat", stat);
}

static void v1_group(const char *max, const char *current, const char *stat)
{
	sim_file_set("/proc/meminfo", "MemTotal: 8388608 kB\n"
				      "MemAvailable: 6291456 kB\n");
	sim_file_set("/proc/self/cgroup", "4:memory:/a\n");
	sim_file_set("/proc/self/mountinfo",
		     "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup "
		     "rw,memory\n");
	sim_file_set("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", max);
	sim_file_set("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", current);
	sim_file_set("/sys/fs/cgroup/memory/a/memory.stat", stat);
}

static void expect_pressed(bool pressed)
{
	char *block = alloc(16 * MIB);

	give(block);
	look();
	assert_int_equal(COUNT(&store, bytes_pressed) > 0, pressed);
	assert_int_equal(COUNT(&store, limit_near) > 0, pressed);
	assert_true(COUNT(&store, limit_looks) > 0);
	check_all(&store, 0);
}

static void pressure_v2(void **state)
{
	(void)state;
	v2_group("1000000000\n", "950000000\n",
		 "active_file 1000\ninactive_file 1000\n");
	expect_pressed(true);
}

static void pressure_v1(void **state)
{
	(void)state;
	v1_group("1000000000\n", "950000000\n",
		 "total_active_file 1000\ntotal_inactive_file 1000\n");
	expect_pressed(true);
}

/* L8 */
static void file_cache_is_no_pressure(void **state)
{
	(void)state;
	v2_group("1000000000\n", "999999488\n",
		 "active_file 400000000\ninactive_file 400000000\n");
	expect_pressed(false);
	sim_files_clear();
	v1_group("1000000000\n", "999999488\n",
		 "total_active_file 400000000\n"
		 "total_inactive_file 400000000\n");
	expect_pressed(false);
}

static void unknown_limits(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	options.keep_bytes = 0;
	reopen(options);
	expect_pressed(false);
	assert_true(COUNT(&store, limit_unknown) > 0);
	assert_true(COUNT(&store, bytes_kept) == 16 * MIB);
}

static void the_default_cap_is_a_quarter(void **state)
{
	struct store_options options = quiet_options();
	char *block[8];

	(void)state;
	options.keep_bytes = 0;
	reopen(options);
	apart(block, 5 * MIB, 0, 8);
	v2_group("83886080\n", "1000\n", "active_file 0\n");
	sim_advance_ms(LOOK_EVERY_MS);
	for (int i = 0; i < 8; i++)
		give(block[i]);
	assert_true(COUNT(&store, bytes_kept) == 20 * MIB);
	check_all(&store, 8);
}

/* Shards */

static void steal_from_another_shard(void **state)
{
	struct store_options options = quiet_options();
	char *block, *stolen;

	(void)state;
	NEEDS_THREADS();
	options.nr_shards = 4;
	reopen(options);
	block = alloc(8 * MIB);
	give(block);
	stolen = in_thread(alloc_in_thread, (void *)(2 * MIB));
	assert_ptr_equal(stolen, block);
	assert_true(COUNT(&store, span_stolen) == 1);
	assert_true(COUNT(&store, span_fresh) == 1);
	check_all(&store, 1);
	/* now it is the thief's, and does not merge with where it came from */
	give(stolen);
	check_all(&store, 0);
	assert_true(COUNT(&store, span_merge) == 0);
	stolen = alloc(2 * MIB);
	assert_ptr_equal(stolen, block + 2 * MIB);
	assert_ptr_equal(alloc(2 * MIB), block + 4 * MIB);
	check_all(&store, 2);
}

/* Two stores */

static void two_stores(void **state)
{
	struct store_options options = quiet_options();
	char *a, *b;

	(void)state;
	assert_int_equal(store_open(&other, &options), 0);
	a = alloc(MIB);
	b = store_alloc(&other, MIB, PAGE_SIZE, false);
	assert_int_equal(store_free(&other, a), -ENOENT);
	assert_int_equal(store_free(&store, b), -ENOENT);
	assert_int_equal(store_usable(&store, b), 0);
	give(a);
	assert_ptr_not_equal(store_alloc(&other, MIB, PAGE_SIZE, false), a);
	check_all(&other, 2);
	store_close(&other);
	assert_ptr_equal(alloc(MIB), a);
	check_all(&store, 1);
}

static void two_helper_threads(void **state)
{
	struct store_options options = quiet_options();
	char *b;

	(void)state;
	NEEDS_THREADS();
	options.thread_bytes = 0;
	options.decay_ms = 1000000;
	reopen(options);
	assert_int_equal(store_open(&other, &options), 0);
	b = store_alloc(&other, MIB, PAGE_SIZE, false);
	give(alloc(MIB));
	assert_int_equal(store_free(&other, b), 0);
	assert_true(COUNT(&store, thread_started) == 1);
	assert_true(COUNT(&other, thread_started) == 1);
	store_close(&other);
	check_all(&store, 0);
}

static void close_gives_everything_back(void **state)
{
	struct store_options options = quiet_options();
	size_t before;
	uint64_t seed = 3;

	(void)state;
	anonymous_bytes(); /* what stdio maps for itself */
	before = anonymous_bytes();
	options.nr_shards = 4;
	options.thp = THP_AUTO;
	assert_int_equal(store_open(&other, &options), 0);
	for (int i = 0; i < 200; i++) {
		char *block =
			store_alloc(&other, random_below(&seed, 8 * MIB) + 1,
				    i % 7 ? PAGE_SIZE : 4 * MIB, i % 3);
		assert_non_null(block);
		if (i % 2)
			assert_int_equal(store_free(&other, block), 0);
		if (i % 8 == 2)
			assert_non_null(store_resize(&other, block, 9 * MIB));
	}
	assert_true(anonymous_bytes() > before + 50 * MIB);
	store_close(&other);
	if (!UNDER_SANITIZER) /* its own memory grows */
		assert_true(anonymous_bytes() == before);
}

static void trim_gives_kept_memory_back(void **state)
{
	char *live = alloc(MIB), *kept = alloc(2 * MIB);

	(void)state;
	give(kept);
	assert_true(store_trim(&store) == 2 * MIB);
	assert_true(store_trim(&store) == 0);
	assert_false(is_mapped(kept));
	assert_true(is_mapped(live));
	assert_true(COUNT(&store, bytes_trimmed) == 2 * MIB);
	check_all(&store, 1);
}

/* No memory: what is kept goes, then it is tried once more. */
static void kept_memory_goes_before_failure(void **state)
{
	char *kept = alloc(MIB), *block;

	(void)state;
	give(kept);
	faulty_start(&os_sim);
	faulty_arm(1, FAULTY_MAP);
	block = alloc(64 * MIB);
	assert_int_equal(faulty_hits(), 1);
	assert_true(COUNT(&store, map_failed) == 1);
	assert_true(COUNT(&store, bytes_trimmed) == MIB);
	faulty_arm_from(1, FAULTY_MAP);
	assert_null(store_alloc(&store, 300 * MIB, PAGE_SIZE, false));
	faulty_stop();
	give(block);
	check_all(&store, 0);
}

/* The helper thread, with a clock that stands: it decays what sim says is due
 */

static bool wait_for_kept(size_t bytes)
{
	for (int i = 0; i < 500; i++) {
		if (COUNT(&store, bytes_kept) == bytes)
			return true;
		usleep(10000);
	}
	return false;
}

static void the_thread_gives_back(void **state)
{
	struct store_options options = quiet_options();
	char *block;

	(void)state;
	NEEDS_THREADS();
	options.decay_ms = 1000;
	options.thread_bytes = 8 * MIB;
	reopen(options);
	give(alloc(4 * MIB));
	assert_true(COUNT(&store, thread_started) == 0);
	store_trim(&store);
	give(alloc(8 * MIB));
	assert_true(COUNT(&store, thread_started) == 1);
	sim_advance_ms(1000);
	assert_true(wait_for_kept(0));
	usleep(50000); /* asleep by now, without a time limit */
	/* as little as this is the thread's affair too, now that it is there */
	block = alloc(MIB);
	give(block);
	sim_advance_ms(1000);
	assert_true(wait_for_kept(0));
	assert_false(is_mapped(block));
	check_all(&store, 0);
}

/* A realloc to less keeps memory as a free does. */
static void a_shrink_starts_the_thread(void **state)
{
	struct store_options options = quiet_options();
	char *block;

	(void)state;
	NEEDS_THREADS();
	options.decay_ms = 1000;
	options.thread_bytes = 8 * MIB;
	reopen(options);
	block = alloc(64 * MIB);
	assert_ptr_equal(store_resize(&store, block, MIB), block);
	sim_advance_ms(1000);
	assert_true(wait_for_kept(0));
	options.keep_bytes = 8 * MIB;
	reopen(options);
	block = alloc(64 * MIB);
	assert_ptr_equal(store_resize(&store, block, MIB), block);
	assert_true(COUNT(&store, bytes_capped) == 63 * MIB);
	check_all(&store, 1);
}

/* Most of it in a shard that no longer frees. */
static void the_thread_sees_all_shards(void **state)
{
	struct store_options options = quiet_options();
	char *theirs;

	(void)state;
	NEEDS_THREADS();
	options.nr_shards = 4;
	options.thread_bytes = 32 * MIB;
	reopen(options);
	theirs = in_thread(alloc_in_thread, (void *)(7 * MIB));
	give(alloc(30 * MIB));
	in_thread(free_in_thread, theirs);
	assert_true(COUNT(&store, thread_started) == 1);
}

static void a_refused_thread(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	NEEDS_THREADS();
	options.decay_ms = 1000;
	options.thread_bytes = 0;
	reopen(options);
	faulty_start(&os_sim);
	faulty_arm_from(1, FAULTY_THREAD);
	sim_advance_ms(1);
	give(alloc(8 * MIB));
	give(alloc(8 * MIB));
	assert_true(COUNT(&store, thread_refused) == 1);
	sim_advance_ms(1500);
	look();
	give(alloc(8 * MIB));
	assert_true(COUNT(&store, thread_refused) == 2);
	assert_true(COUNT(&store, bytes_decayed) == 8 * MIB);
	faulty_arm(0, FAULTY_ALL);
	sim_advance_ms(1500);
	give(alloc(8 * MIB));
	assert_true(COUNT(&store, thread_started) == 1);
	keeper_bar(&store);
	faulty_stop();
	check_all(&store, 0);
}

static void a_barred_thread(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	NEEDS_THREADS();
	options.thread_bytes = 0;
	reopen(options);
	give(alloc(MIB));
	assert_true(COUNT(&store, thread_started) == 1);
	keeper_bar(&store);
	keeper_bar(&store);
	give(alloc(MIB));
	keeper_unbar(&store);
	give(alloc(MIB));
	assert_true(COUNT(&store, thread_started) == 1);
	keeper_unbar(&store);
	give(alloc(MIB));
	assert_true(COUNT(&store, thread_started) == 2);
	check_all(&store, 0);
}

/* Fork */

static void a_child_drops_what_it_inherits(void **state)
{
	char *kept = alloc(4 * MIB), *live = alloc(MIB);
	int status;
	pid_t child;

	(void)state;
	fill(live, MIB);
	give(kept);
	store_fork_prepare(&store);
	child = fork();
	if (!child) {
		store_fork_child(&store);
		check_all(&store, 1);
		ASSERT(is_mapped(kept));
		ASSERT(store_alloc(&store, MIB, PAGE_SIZE, false));
		ASSERT(COUNT(&store, bytes_direct) == 4 * MIB);
		ASSERT(COUNT(&store, fork_child) == 1);
		ASSERT(!store_free(&store, live));
		check_all(&store, 1);
		_exit(0);
	}
	store_fork_parent(&store);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	expect_filled(live, MIB);
	assert_ptr_equal(alloc(4 * MIB), kept);
	check_all(&store, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* [S5] What is big is left to the helper thread; what is small is not. */
static void big_spans_are_left_to_the_keeper(void **state)
{
	struct store_options options = quiet_options();
	char *big, *small;

	(void)state;
	if (CONFIG_UP)
		skip();
	options.thread_bytes = MIB;
	reopen(options);
	big = alloc(200 * MIB);
	small = alloc(32 * MIB);
	memset(big, 1, 200 * MIB);
	give(big);
	assert_true(load_relaxed(&store.keeper_runs));
	lock_take(&store.leave_lock); /* so that it does not get far */
	assert_true(store_trim(&store) == 200 * MIB);
	assert_true(is_mapped(big));
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_true(COUNT(&store, bytes_trimmed) == 0);
	lock_release(&store.leave_lock);
	for (int i = 0; i < 5000 && COUNT(&store, bytes_trimmed) == 0; i++)
		usleep(1000);
	assert_false(is_mapped(big));
	assert_true(COUNT(&store, bytes_trimmed) == 200 * MIB);
	give(small);
	store_trim(&store);
	assert_false(is_mapped(small));
	/* and what is waiting when the thread is joined goes at once */
	big = alloc(100 * MIB);
	give(big);
	store_trim(&store);
	keeper_bar(&store);
	assert_false(is_mapped(big));
	keeper_unbar(&store);
	check_all(&store, 0);
}

static void a_child_finds_what_was_on_its_way(void **state)
{
	struct store_options options = quiet_options();
	char *big;
	int status;
	pid_t child;

	(void)state;
	if (CONFIG_UP || UNDER_TSAN)
		skip();
	options.thread_bytes = MIB;
	reopen(options);
	big = alloc(300 * MIB);
	give(big);
	store_trim(&store);
	store_fork_prepare(&store);
	child = fork();
	if (!child) {
		store_fork_child(&store);
		store_free(&store, store_alloc(&store, MIB, PAGE_SIZE, false));
		_exit(is_mapped(big) || COUNT(&store, bytes_leaving) != 0);
	}
	store_fork_parent(&store);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	keeper_bar(&store);
	assert_false(is_mapped(big));
	keeper_unbar(&store);
	check_all(&store, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_oldest_decays_first),
		TEST(a_merged_span_has_the_older_age),
		TEST(a_clock_read_too_early),
		TEST(decay_over_a_wrap_of_the_clock),
		TEST(decay_0_keeps_nothing),
		TEST(the_cap_holds),
		TEST(the_cap_holds_over_shards),
		TEST(live_and_kept_stay_near_the_peak),
		TEST(pressure_v2),
		TEST(pressure_v1),
		TEST(file_cache_is_no_pressure),
		TEST(unknown_limits),
		TEST(the_default_cap_is_a_quarter),
		TEST(steal_from_another_shard),
		TEST(two_stores),
		TEST(two_helper_threads),
		TEST(close_gives_everything_back),
		TEST(trim_gives_kept_memory_back),
		TEST(kept_memory_goes_before_failure),
		TEST(the_thread_gives_back),
		TEST(a_shrink_starts_the_thread),
		TEST(the_thread_sees_all_shards),
		TEST(a_refused_thread),
		TEST(a_barred_thread),
		TEST(a_child_drops_what_it_inherits),
		TEST(big_spans_are_left_to_the_keeper),
		TEST(a_child_finds_what_was_on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
