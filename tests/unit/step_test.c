/* SPDX-License-Identifier: MIT */
/*
 * Races, one step at a time: a thread is stopped at a named point between two
 * shared actions, others run, and then it goes on.  Only in builds that have
 * the points (-Dsteps=true).
 */
#include "store_fixture.h"

#include <pthread.h>

#include "base/atomic.h"
#include "base/step.h"

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

static int steps_setup(void **state)
{
	stop_next("nowhere");
	return setup(state);
}

static int steps_teardown(void **state)
{
	store_release(&go_on, 1);
	return teardown(state);
}

/* A fork must wait for a thread that has memory in its hands. */

static uint32_t forked; /* atomic */
static void (*child_looks)(void);

static void *fork_now(void *arg)
{
	int status;
	pid_t child;

	store_fork_prepare(&store);
	child = fork();
	if (!child) {
		store_fork_child(&store);
		child_looks();
		_exit(0);
	}
	store_fork_parent(&store);
	store_release(&forked, 1);
	ASSERT(waitpid(child, &status, 0) == child);
	ASSERT(status == 0);
	return arg;
}

static char *the_block, *moved_block;

static void *trim_now(void *arg)
{
	store_trim(&store);
	return arg;
}

static void *grow_now(void *arg)
{
	moved_block = store_resize(&store, the_block, 8 * MIB);
	return arg;
}

static void fork_waits_for(void *(*other)(void *), const char *step)
{
	pthread_t worker, forker;

	forked = 0;
	stop_next(step);
	assert_int_equal(pthread_create(&worker, NULL, other, NULL), 0);
	assert_true(wait_for(&stopped));
	assert_int_equal(pthread_create(&forker, NULL, fork_now, NULL), 0);
	usleep(100000);
	assert_false(load_acquire(&forked));
	store_release(&go_on, 1);
	pthread_join(worker, NULL);
	pthread_join(forker, NULL);
	assert_true(load_acquire(&forked));
}

static void block_is_gone(void)
{
	check_all(&store, 0);
	ASSERT(!is_mapped(the_block));
	ASSERT(store_free(&store, the_block) == -ENOENT);
	ASSERT(COUNT(&store, bytes_kept) == 0);
}

static void fork_while_memory_leaves(void **state)
{
	(void)state;
	the_block = alloc(2 * MIB);
	give(the_block);
	child_looks = block_is_gone;
	fork_waits_for(trim_now, "leave: unmarked, still mapped");
	check_all(&store, 0);
}

static void block_has_moved(void)
{
	check_all(&store, 1);
	ASSERT(!is_mapped(the_block));
	ASSERT(COUNT(&store, resize_moved) == 1 ||
	       COUNT(&store, bytes_live) == 9 * MIB);
}

static void fork_while_a_block_moves(void **state)
{
	(void)state;
	the_block = alloc(2 * MIB);
	fill(the_block, 2 * MIB);
	child_looks = block_has_moved;
	fork_waits_for(grow_now, "move: unmarked, not moved");
	assert_non_null(moved_block);
	expect_filled(moved_block, 2 * MIB);
	check_all(&store, 1);
}

/*
 * [S2] while a block leaves, its address is nobody's: a free of it is refused,
 * and no other block can come to lie there.
 */
static void an_address_that_leaves_is_nobodys(void **state)
{
	pthread_t worker;
	char *other;

	(void)state;
	the_block = alloc(2 * MIB);
	give(the_block);
	stop_next("leave: unmarked, still mapped");
	assert_int_equal(pthread_create(&worker, NULL, trim_now, NULL), 0);
	assert_true(wait_for(&stopped));
	assert_int_equal(store_free(&store, the_block), -ENOENT);
	assert_int_equal(store_usable(&store, the_block), 0);
	other = alloc(2 * MIB);
	assert_true(other + 2 * MIB <= the_block ||
		    other >= the_block + 2 * MIB);
	other[0] = 7;
	store_release(&go_on, 1);
	pthread_join(worker, NULL);
	assert_int_equal(other[0], 7);
	check_all(&store, 1);
}

/*
 * The helper thread has seen that nothing is kept and is about to sleep for
 * ever.  What is kept in that moment must still go, without another call.
 */
static void kept_as_the_thread_falls_asleep(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	options.thread_bytes = 0;
	options.decay_ms = 50;
	reopen(options);
	stop_next("keeper: idle is set");
	give(alloc(MIB));
	sim_advance_ms(50);
	assert_true(wait_for(&stopped));
	assert_true(COUNT(&store, bytes_kept) == 0);
	the_block = alloc(2 * MIB);
	give(the_block);
	assert_true(COUNT(&store, bytes_kept) == 2 * MIB);
	sim_advance_ms(50);
	store_release(&go_on, 1);
	for (int i = 0; i < 1000 && COUNT(&store, bytes_kept); i++)
		usleep(5000);
	assert_true(COUNT(&store, bytes_kept) == 0);
	assert_false(is_mapped(the_block));
}

/* And it can be stopped in that moment. */
static void closed_as_the_thread_falls_asleep(void **state)
{
	struct store_options options = quiet_options();
	pthread_t worker;

	(void)state;
	options.thread_bytes = 0;
	options.decay_ms = 50;
	reopen(options);
	stop_next("keeper: idle is set");
	give(alloc(MIB));
	sim_advance_ms(50);
	assert_true(wait_for(&stopped));
	/* whoever lets it go on while the close waits for it */
	assert_int_equal(pthread_create(&worker, NULL, trim_now, NULL), 0);
	pthread_join(worker, NULL);
	store_release(&go_on, 1);
	reopen(options);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, steps_setup, steps_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fork_while_memory_leaves),
		TEST(fork_while_a_block_moves),
		TEST(an_address_that_leaves_is_nobodys),
		TEST(kept_as_the_thread_falls_asleep),
		TEST(closed_as_the_thread_falls_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
