/* SPDX-License-Identifier: MIT */
/* Helper threads: how many, in what order, and what happens without them. */
#include "spy.h"

/* Decisions: row F1 */

static void how_many_threads(void **state)
{
	static const struct {
		size_t slices;
		unsigned int max, cpus, busy, wanted;
	} row[] = {
		{ 128, 0, 1, 0, 1 },   { 128, 0, 2, 0, 2 },
		{ 128, 0, 4, 0, 4 },   { 128, 0, 64, 0, 8 },
		{ 128, 16, 64, 0, 8 }, { 128, 4, 2, 0, 2 },
		{ 128, 1, 64, 0, 1 },  { 128, 2, 64, 0, 2 },
		{ 3, 0, 64, 0, 3 },    { 1, 0, 64, 0, 1 },
		{ 0, 0, 64, 0, 1 },    { 128, 0, 2, 1, 1 },
		{ 128, 0, 2, 2, 1 },   { 128, 0, 2, 100, 1 },
		{ 128, 2, 2, 1, 1 },   { 128, 0, 64, 60, 4 },
		{ 128, 0, 0, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(row); i++)
		assert_int_equal(pool_threads(row[i].slices, row[i].max,
					      row[i].cpus, row[i].busy),
				 row[i].wanted);
	assert_int_equal(pool_busy(0, 1), 0);
	assert_int_equal(pool_busy(1, 1), 0);
	assert_int_equal(pool_busy(2, 1), 1);
	assert_int_equal(pool_busy(2, 3), 0);
}

static void what_loadavg_says(void **state)
{
	(void)state;
	assert_int_equal(pool_parse_running("0.0 0.0 0.0 3/104 77\n"), 3);
	assert_int_equal(pool_parse_running("0.0 0.0 0.0 117/1000 7"), 117);
	assert_int_equal(pool_parse_running(""), 0);
	assert_int_equal(pool_parse_running("nonsense"), 0);
	assert_int_equal(pool_parse_running("/"), 0);
	assert_true(pool_parse_running("99999999999999999999/1") > 1000);
}

/* A job that counts what is done to it. */

#define SLICES_MAX 2000

struct test_job {
	struct pool_job job;
	unsigned int times[SLICES_MAX];
	int fail_at, error;
	int stop_after; /* slices of the caller's own, or 0 */
	unsigned int hold_us;
	int number;
	bool finished;
	pid_t forked;
};

static int order[64];
static unsigned int nr_finished;

static int do_slice(struct pool_job *job, size_t nr)
{
	struct test_job *test = container_of(job, struct test_job, job);

	add_relaxed(&test->times[nr], 1);
	if (test->hold_us)
		usleep(test->hold_us);
	return test->fail_at == (int)nr ? test->error : 0;
}

static bool between(struct pool_job *job, size_t nr_done)
{
	struct test_job *test = container_of(job, struct test_job, job);

	assert_true(nr_done <= job->nr_slices);
	return test->stop_after && --test->stop_after == 0;
}

static void finish(struct pool_job *job)
{
	struct test_job *test = container_of(job, struct test_job, job);

	order[add_relaxed(&nr_finished, 1)] = test->number;
	store_relaxed(&test->finished, true);
}

static unsigned int nr_dropped;

static void drop(struct pool_job *job)
{
	(void)job;
	add_acq_rel(&nr_dropped, 1);
}

static const struct pool_body front = { .slice = do_slice, .between = between };
static const struct pool_body back = { .slice = do_slice,
				       .finish = finish,
				       .drop = drop };

static struct test_job *new_job(const struct pool_body *body, size_t nr_slices)
{
	struct test_job *test = calloc(1, sizeof(*test));

	assert_non_null(test);
	test->job.body = body;
	test->job.nr_slices = nr_slices;
	test->fail_at = -1;
	return test;
}

static void expect_once(const struct test_job *test, size_t from, size_t to,
			unsigned int times)
{
	for (size_t i = from; i < to; i++)
		assert_int_equal(test->times[i], times);
}

static void every_slice_is_done_once(void **state)
{
	(void)state;
	for (unsigned int max = 0; max <= 9; max++) {
		struct test_job *test = new_job(&front, 500);

		test->job.max_threads = max;
		test->hold_us = 20;
		assert_int_equal(pool_run(&test->job), 0);
		expect_once(test, 0, 500, 1);
		assert_int_equal(test->job.nr_done, 500);
		assert_true(test->job.nr_threads >= 1);
		assert_true(test->job.nr_threads <= (max && max < 4 ? max : 4));
		if (max == 1)
			assert_int_equal(test->job.nr_helped, 0);
		pool_check();
		free(test);
	}
}

static void helpers_do_help(void **state)
{
	struct test_job *test = new_job(&front, 64);

	(void)state;
	test->hold_us = 2000;
	assert_int_equal(pool_run(&test->job), 0);
	assert_true(test->job.nr_helped > 0);
	assert_true(test->job.nr_threads > 1);
	assert_true(test->job.cpu_ns > 0);
	free(test);
}

/* D.10-7: no helper allowed, or none to be had: the same result. */
static void without_any_helper(void **state)
{
	uint64_t refused = pool_nr_refused();
	struct test_job *test = new_job(&front, 300);

	(void)state;
	pool_stop(true);
	faulty_start(&spy.ops);
	faulty_arm_from(1, FAULTY_THREAD);
	assert_int_equal(pool_run(&test->job), 0);
	expect_once(test, 0, 300, 1);
	assert_int_equal(test->job.nr_helped, 0);
	assert_true(pool_nr_refused() > refused);
	pool_stop(true);
	faulty_stop();
	free(test);
}

/* D.10-2: the k-th start of a helper fails. */
static void the_kth_start_fails(void **state)
{
	(void)state;
	for (unsigned int k = 1; k <= 4; k++) {
		struct test_job *test = new_job(&front, 200);

		pool_stop(true);
		faulty_start(&spy.ops);
		faulty_arm(k, FAULTY_THREAD);
		test->hold_us = 100;
		assert_int_equal(pool_run(&test->job), 0);
		expect_once(test, 0, 200, 1);
		pool_stop(true);
		faulty_stop();
		free(test);
	}
}

static void the_first_failure_counts(void **state)
{
	struct test_job *test = new_job(&front, 400);

	(void)state;
	test->fail_at = 37;
	test->error = -ENOMEM;
	test->hold_us = 50;
	assert_int_equal(pool_run(&test->job), -ENOMEM);
	assert_int_equal(test->job.failed_at, 37);
	expect_once(test, 0, 38, 1);
	/* those that were handed out before it was seen, and no more */
	assert_true(test->job.next < 60);
	expect_once(test, test->job.next, 400, 0);
	free(test);
}

static void going_on_after_a_failure(void **state)
{
	struct test_job *test = new_job(&front, 100);

	(void)state;
	test->fail_at = 5;
	test->error = -EIO;
	test->job.keep_going = true;
	assert_int_equal(pool_run(&test->job), -EIO);
	expect_once(test, 0, 100, 1);
	free(test);
}

static void the_caller_stops_it(void **state)
{
	struct test_job *test = new_job(&front, 1000);

	(void)state;
	test->stop_after = 3;
	test->hold_us = 100;
	assert_int_equal(pool_run(&test->job), 0);
	assert_true(test->job.nr_done < 1000);
	assert_int_equal(test->job.nr_done, test->job.next);
	expect_once(test, 0, test->job.next, 1);
	expect_once(test, test->job.next, 1000, 0);
	free(test);
}

static uint64_t noon(void)
{
	return 12 * 3600 * 1000;
}

/* [P5] Others keep CPUs busy, then they do not. */
static void busy_cpus_are_left_alone(void **state)
{
	struct test_job *test = new_job(&front, 100);

	(void)state;
	pool_stop(true);
	store_relaxed(&spy.running, 5); /* us and four others */
	test->hold_us = 100;
	assert_int_equal(pool_run(&test->job), 0);
	assert_int_equal(test->job.nr_helped, 0);
	assert_int_equal(pool_nr_helpers(), 0);
	store_relaxed(&spy.running, 4); /* one CPU is free beside ours */
	spy.nr_cpus = 5;
	spy.ops.now_ms = noon; /* so that it looks once */
	assert_int_equal(pool_run(&test->job), 0);
	assert_int_equal(pool_nr_helpers(), 1);
	assert_true(test->job.nr_threads <= 2);
	free(test);
}

static uint64_t minutes;

static uint64_t a_minute_later(void)
{
	return noon() + 60000 * ++minutes;
}

static unsigned int wanted_after[4];
static unsigned int nr_own;

/* Others are busy from the caller's second slice on. */
static bool note_wanted(struct pool_job *job, size_t nr_done)
{
	(void)nr_done;
	if (nr_own < ARRAY_SIZE(wanted_after))
		wanted_after[nr_own++] = job->wanted;
	store_relaxed(&spy.running, 9);
	return nr_own == ARRAY_SIZE(wanted_after);
}

static void one_look_sends_nobody_away(void **state)
{
	static const struct pool_body body = { .slice = do_slice,
					       .between = note_wanted };
	struct test_job *test = new_job(&body, SLICES_MAX);

	(void)state;
	pool_stop(true);
	nr_own = 0;
	store_relaxed(&spy.running, 1);
	spy.nr_cpus = 2;
	spy.ops.now_ms = a_minute_later; /* so that each slice looks */
	test->hold_us = 100;
	assert_int_equal(pool_run(&test->job), 0);
	assert_int_equal(wanted_after[0], 2);
	assert_int_equal(wanted_after[1], 2);
	assert_int_equal(wanted_after[2], 1);
	assert_int_equal(wanted_after[3], 1);
	free(test);
}

static void *become_free(void *arg)
{
	(void)arg;
	sleep_ms(30);
	store_relaxed(&spy.running, 1);
	return NULL;
}

static void helpers_come_when_cpus_become_free(void **state)
{
	struct test_job *test = new_job(&front, 400);
	pthread_t thread;

	(void)state;
	pool_stop(true);
	store_relaxed(&spy.running, 9);
	assert_int_equal(pthread_create(&thread, NULL, become_free, NULL), 0);
	test->hold_us = 1000;
	assert_int_equal(pool_run(&test->job), 0);
	pthread_join(thread, NULL);
	assert_true(test->job.nr_helped > 0);
	expect_once(test, 0, 400, 1);
	free(test);
}

static void *run_one(void *arg)
{
	struct test_job *test = arg;

	assert_int_equal(pool_run(&test->job), 0);
	expect_once(test, 0, test->job.nr_slices, 1);
	return NULL;
}

static void many_at_once(void **state)
{
	pthread_t thread[6];
	struct test_job *test[6];

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 6; i++) {
			test[i] = new_job(&front, 50 + (size_t)i);
			assert_int_equal(pthread_create(&thread[i], NULL,
							run_one, test[i]),
					 0);
		}
		pool_check();
		for (int i = 0; i < 6; i++) {
			pthread_join(thread[i], NULL);
			free(test[i]);
		}
		if (round % 5 == 4)
			pool_stop(true);
	}
	pool_check();
}

/* Back */

static void back_jobs_end_in_order(void **state)
{
	struct test_job *test[10];

	(void)state;
	nr_finished = 0;
	for (int i = 0; i < 10; i++) {
		test[i] = new_job(&back, i % 3 ? 1 : 40);
		test[i]->number = i;
		test[i]->hold_us = 200;
		test[i]->job.max_threads = 3;
		assert_int_equal(pool_submit(&test[i]->job), 0);
	}
	pool_wait(&test[9]->job);
	for (int i = 0; i < 10; i++) {
		assert_true(pool_ended(&test[i]->job)); /* [P2] */
		assert_int_equal(order[i], i);
		expect_once(test[i], 0, test[i]->job.nr_slices, 1);
		free(test[i]);
	}
	pool_check();
}

static void a_back_job_without_helpers(void **state)
{
	struct test_job *one = new_job(&back, 5), *two = new_job(&back, 5);

	(void)state;
	pool_stop(true);
	faulty_start(&spy.ops);
	faulty_arm_from(1, FAULTY_THREAD);
	assert_int_equal(pool_submit(&one->job), -EAGAIN);
	assert_int_equal(pool_submit(&two->job), -EAGAIN);
	assert_false(pool_ended(&one->job));
	pool_wait(&two->job); /* does what stands before it, too */
	assert_true(pool_ended(&one->job));
	pool_wait(&one->job);
	expect_once(one, 0, 5, 1);
	expect_once(two, 0, 5, 1);
	pool_stop(true);
	faulty_stop();
	free(one);
	free(two);
}

static void nobody_waits(void **state)
{
	struct test_job *test = new_job(&back, 20);

	(void)state;
	nr_dropped = 0;
	test->hold_us = 100;
	assert_int_equal(pool_submit(&test->job), 0);
	pool_forget(&test->job);
	while (!load_acquire(&nr_dropped))
		sleep_ms(1);
	assert_int_equal(load_acquire(&nr_dropped), 1);
	free(test);
	test = new_job(&back, 1);
	assert_int_equal(pool_submit(&test->job), 0);
	pool_wait(&test->job);
	pool_forget(&test->job);
	assert_int_equal(load_acquire(&nr_dropped), 2);
	free(test);
}

/* Helpers */

struct seen {
	struct pool_job job;
	char name[2][16];
	int policy;
	bool signals_blocked;
};

static int look_around(struct pool_job *job, size_t nr)
{
	struct seen *seen = container_of(job, struct seen, job);
	sigset_t now;

	(void)nr;
	pthread_getname_np(pthread_self(), seen->name[0], 16);
	seen->policy = sched_getscheduler(0);
	pthread_sigmask(SIG_SETMASK, NULL, &now);
	seen->signals_blocked = sigismember(&now, SIGTERM) &&
				sigismember(&now, SIGALRM) &&
				sigismember(&now, SIGUSR1);
	return 0;
}

static void nothing(struct pool_job *job)
{
	(void)job;
}

static void what_a_helper_is_like(void **state)
{
	static const struct pool_body body = { .slice = look_around,
					       .finish = nothing };
	struct seen seen = { .job = { .body = &body, .nr_slices = 1 } };

	(void)state;
	assert_int_equal(pool_submit(&seen.job), 0);
	while (!pool_ended(&seen.job))
		sleep_ms(1);
	assert_string_equal(seen.name[0], "quire/idle");
	assert_int_equal(seen.policy, SCHED_IDLE);
	assert_true(seen.signals_blocked);
}

static void helpers_end_when_idle(void **state)
{
	struct test_job *test = new_job(&front, 100);

	(void)state;
	test->hold_us = 200;
	pool_run(&test->job);
	assert_true(pool_nr_helpers() > 0);
	for (int i = 0; i < 300 && pool_nr_helpers(); i++)
		sleep_ms(10);
	assert_int_equal(pool_nr_helpers(), 0);
	pool_run(&test->job); /* and come again */
	assert_true(pool_nr_helpers() > 0);
	pool_stop(true);
	assert_int_equal(pool_nr_helpers(), 0);
	assert_int_equal(nr_tasks(), 1 + UNDER_TSAN);
	pool_stop(true);
	pool_check();
	free(test);
}

/* Fork */

static bool fork_between(struct pool_job *job, size_t nr_done)
{
	struct test_job *test = container_of(job, struct test_job, job);

	if (nr_done < 10 || test->forked)
		return false;
	pool_fork_prepare();
	test->forked = fork();
	if (test->forked) {
		pool_fork_parent();
		return false;
	}
	pool_fork_child();
	test->forked = 1;
	return false;
}

static void a_fork_in_the_middle(void **state)
{
	static const struct pool_body body = { .slice = do_slice,
					       .between = fork_between };
	struct test_job *test = new_job(&body, 60);
	struct test_job *behind = new_job(&back, 30);
	int status;

	(void)state;
	if (UNDER_TSAN)
		skip();
	test->hold_us = 300;
	behind->hold_us = 300;
	assert_int_equal(pool_submit(&behind->job), 0);
	assert_int_equal(pool_run(&test->job), 0);
	if (test->forked == 1) { /* the child */
		bool right = test->job.nr_done == 60;

		pool_wait(&behind->job);
		right &= behind->finished && behind->times[29] >= 1;
		pool_check();
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(test->forked, &status, 0), test->forked);
	assert_int_equal(status, 0);
	pool_wait(&behind->job);
	expect_once(behind, 0, 30, 1);
	expect_once(test, 0, 60, 1);
	free(test);
	free(behind);
}

static int setup(void **state)
{
	(void)state;
	spy_start(&os_kernel);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pool_stop(true);
	os = &os_kernel;
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(how_many_threads),
		TEST(what_loadavg_says),
		TEST(every_slice_is_done_once),
		TEST(helpers_do_help),
		TEST(without_any_helper),
		TEST(the_kth_start_fails),
		TEST(the_first_failure_counts),
		TEST(going_on_after_a_failure),
		TEST(the_caller_stops_it),
		TEST(busy_cpus_are_left_alone),
		TEST(one_look_sends_nobody_away),
		TEST(helpers_come_when_cpus_become_free),
		TEST(many_at_once),
		TEST(back_jobs_end_in_order),
		TEST(a_back_job_without_helpers),
		TEST(nobody_waits),
		TEST(what_a_helper_is_like),
		TEST(helpers_end_when_idle),
		TEST(a_fork_in_the_middle),
	};

	if (CONFIG_UP) /* nobody to help */
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
