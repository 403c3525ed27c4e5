/* SPDX-License-Identifier: MIT */
/* Ranks, counters, and what a forked child does with locks. */
#include "region.h"

#include <pthread.h>

#include "base/atomic.h"
#include "os/lock.h"

static struct lock keeper, leave, shard[4], pagemap;

static int setup(void **state)
{
	(void)state;
	lock_init(&keeper, RANK_KEEPER);
	lock_init(&leave, RANK_LEAVE);
	for (int i = 0; i < 4; i++)
		lock_init(&shard[i], RANK_SHARD);
	lock_init(&pagemap, RANK_PAGEMAP);
	assert_false(lock_holds_any());
	return 0;
}

static void take_two(void *arg)
{
	struct lock **two = arg;

	lock_take(two[0]);
	lock_take(two[1]);
}

static bool order_panics(struct lock *first, struct lock *second)
{
	struct lock *two[] = { first, second };

	return panics(take_two, two);
}

static void the_order_is_the_rank(void **state)
{
	struct lock *all[] = { &keeper, &leave, &shard[0], &pagemap };

	(void)state;
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++)
			assert_int_equal(order_panics(all[i], all[j]), i >= j);
	assert_true(order_panics(&shard[0], &shard[1]));
	assert_true(order_panics(&shard[1], &shard[0]));
}

static void a_higher_rank_alone_forbids(void **state)
{
	(void)state;
	lock_take(&keeper);
	lock_take(&shard[0]);
	lock_release(&keeper);
	assert_true(lock_holds_any());
	/* the lower one was given back first, the higher still counts */
	struct lock *two[] = { &leave, &pagemap };
	assert_true(panics(take_two, two));
	lock_release(&shard[0]);
	assert_false(lock_holds_any());
	assert_false(panics(take_two, two));
}

static void try_may_be_out_of_order(void **state)
{
	(void)state;
	lock_take(&shard[0]);
	assert_true(lock_try(&keeper));
	assert_false(lock_try(&shard[0]));
	assert_false(lock_try(&shard[1])); /* a second of its rank */
	assert_false(lock_held(&shard[1]));
	lock_release(&keeper);
	lock_release(&shard[0]);
	assert_true(lock_try(&shard[1]));
	assert_true(lock_held(&shard[1]));
	lock_release(&shard[1]);
	assert_false(lock_held(&shard[1]));
}

static void many_in_address_order(void **state)
{
	struct lock *up[] = { &shard[0], &shard[1], &shard[2], &shard[3] };

	(void)state;
	lock_take(&leave);
	lock_take_many(up, 4);
	for (int i = 0; i < 4; i++)
		assert_true(lock_held(&shard[i]));
	lock_take(&pagemap);
	lock_release(&pagemap);
	lock_release_many(up, 4);
	for (int i = 0; i < 4; i++) {
		assert_false(lock_held(&shard[i]));
		assert_true(shard[i].takes == 1);
	}
	lock_release(&leave);
	lock_take_many(up, 0);
	lock_release_many(up, 0);
	assert_false(lock_holds_any());
}

static void take_many(void *arg)
{
	lock_take_many(arg, 2);
}

static void many_in_another_order_panics(void **state)
{
	struct lock *down[] = { &shard[1], &shard[0] };
	struct lock *same[] = { &shard[1], &shard[1] };
	struct lock *mixed[] = { &keeper, &shard[0] };

	(void)state;
	assert_true(panics(take_many, down));
	assert_true(panics(take_many, same));
	assert_true(panics(take_many, mixed));
}

/* Contention: the counters are exact. */

#define ROUNDS 20000

static uint64_t guarded;

static void *count_up(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		lock_take(&shard[0]);
		guarded++;
		lock_release(&shard[0]);
	}
	return NULL;
}

static void threads_exclude_each_other(void **state)
{
	pthread_t thread[4];

	(void)state;
	guarded = 0;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&thread[i], NULL, count_up, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	assert_true(guarded == 4 * ROUNDS);
	assert_true(shard[0].takes == 4 * ROUNDS);
	assert_true(shard[0].contended <= shard[0].takes);
	assert_false(lock_held(&shard[0]));
}

static uint32_t waiting;

static void *take_once(void *arg)
{
	(void)arg;
	store_relaxed(&waiting, 1);
	lock_take(&shard[0]);
	lock_release(&shard[0]);
	return NULL;
}

static void a_wait_is_counted(void **state)
{
	pthread_t thread;

	(void)state;
	waiting = 0;
	lock_take(&shard[0]);
	assert_int_equal(pthread_create(&thread, NULL, take_once, NULL), 0);
	/* 2: somebody sleeps */
	while (load_relaxed(&shard[0].word) != 2)
		usleep(1000);
	assert_true(load_relaxed(&waiting));
	lock_release(&shard[0]);
	pthread_join(thread, NULL);
	assert_true(shard[0].takes == 2);
	assert_true(shard[0].contended == 1);
#if defined(__x86_64__)
	assert_true(shard[0].hold_cycles > 0); /* the first take is sampled */
#endif
}

static void a_child_finds_them_free(void **state)
{
	struct lock *up[] = { &shard[0], &shard[1] };
	int status;
	pid_t child;

	(void)state;
	lock_take(&keeper);
	lock_take_many(up, 2);
	child = fork();
	if (!child) {
		for (int i = 0; i < 2; i++)
			lock_reset_in_child(up[i]);
		lock_reset_in_child(&keeper);
		ASSERT(!lock_holds_any());
		lock_take(&keeper);
		lock_take_many(up, 2);
		lock_release_many(up, 2);
		lock_release(&keeper);
		_exit(0);
	}
	lock_release_many(up, 2);
	lock_release(&keeper);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_order_is_the_rank),
		TEST(a_higher_rank_alone_forbids),
		TEST(try_may_be_out_of_order),
		TEST(many_in_address_order),
		TEST(many_in_another_order_panics),
		TEST(threads_exclude_each_other),
		TEST(a_wait_is_counted),
		TEST(a_child_finds_them_free),
	};

	if (CONFIG_UP)
		return 77; /* nobody ever waits there */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
