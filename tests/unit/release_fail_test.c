/* SPDX-License-Identifier: MIT */
/*
 * Big work on regions that does not come to its end: called off in the middle,
 * refused by the system at every call in turn, memory that cannot be discarded.
 */
#include "region_fixture.h"

#include <sys/syscall.h>

/* Cancelling */

struct watcher {
	size_t last, stop_at;
	int calls;
};

static int watch(size_t bytes_done, size_t bytes, void *arg)
{
	struct watcher *watcher = arg;

	assert_true(bytes_done >= watcher->last && bytes_done <= bytes);
	watcher->last = bytes_done;
	watcher->calls++;
	return watcher->stop_at && bytes_done >= watcher->stop_at;
}

static void progress_is_told(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= 3; workers++) {
		struct quire_region *region = open_plain(256 * MIB);
		struct watcher watcher = { 0 };
		struct quire_work work = { .size = sizeof(work),
					   .progress = watch,
					   .arg = &watcher,
					   .workers = workers };

		assert_int_equal(
			quire_region_populate(region, 0, 256 * MIB, &work), 0);
		assert_int_equal(watcher.last, 256 * MIB);
		assert_true(watcher.calls <= 17);
		assert_true(workers > 1 || watcher.calls == 16);
		close_it(region);
	}
}

static void cancel_in_the_middle_of_populating(void **state)
{
	(void)state;
	for (uint32_t workers = 1; workers <= 3; workers++) {
		struct quire_region *region = open_plain(512 * MIB);
		char *at = quire_region_address(region);
		struct watcher watcher = { .stop_at = 64 * MIB };
		struct quire_work work = { .size = sizeof(work),
					   .progress = watch,
					   .arg = &watcher,
					   .workers = workers };

		assert_int_equal(
			quire_region_populate(region, 0, 512 * MIB, &work),
			-ECANCELED);
		assert_true(work.bytes_done >= 64 * MIB);
		assert_true(work.bytes_done < 512 * MIB);
		assert_int_equal(resident_pages(at, work.bytes_done),
				 work.bytes_done / PAGE_SIZE);
		/* Nobody goes on behind our back. */
		assert_int_equal(resident_pages(at, 512 * MIB),
				 work.bytes_done / PAGE_SIZE);
		assert_int_equal(
			quire_region_discard(region, 0, 512 * MIB, NULL), 0);
		assert_int_equal(resident_pages(at, 512 * MIB), 0);
		close_it(region);
	}
}

static void cancel_in_the_middle_of_a_release(void **state)
{
	struct quire_region *region = open_plain(GIB);
	char *at = quire_region_address(region);
	struct watcher watcher = { .stop_at = 128 * MIB };
	struct quire_work work = { .size = sizeof(work),
				   .progress = watch,
				   .arg = &watcher,
				   /* helpers might be through by then */
				   .workers = 1 };
	(void)state;

	for (size_t i = 0; i < GIB; i += 64 * MIB)
		at[i] = 1;
	assert_int_equal(quire_region_release(region, 0, GIB, &work),
			 -ECANCELED);
	assert_true(work.bytes_done >= 128 * MIB && work.bytes_done < GIB);
	assert_int_equal(facts_of(region).bytes_left, GIB);
	for (size_t i = 0; i < GIB; i += 64 * MIB)
		assert_int_equal(at[i], i >= work.bytes_done);
	close_it(region);
}

/* The first failure: what is before it is done, and is told. */
static void populate_fails_in_the_middle(void **state)
{
	(void)state;
	for (unsigned int k = 1; k <= 16; k += 5) {
		struct quire_region *region = open_plain(256 * MIB);
		char *at = quire_region_address(region);
		struct quire_work work = { .size = sizeof(work) };

		faulty_start(&spy.ops);
		faulty_arm(k, FAULTY_POPULATE);
		assert_int_equal(
			quire_region_populate(region, 0, 256 * MIB, &work),
			-ENOMEM);
		pool_stop(true);
		faulty_stop();
		assert_true(work.bytes_done % (16 * MIB) == 0);
		assert_true(work.bytes_done < 256 * MIB);
		assert_int_equal(resident_pages(at, work.bytes_done),
				 work.bytes_done / PAGE_SIZE);
		close_it(region);
	}
}

/* Every call of the system fails once, one after the other: what is asked for
 * is done, or the error is told and all can be done again. */

static int all_of_it(void)
{
	struct quire_region_options options = plain();
	struct quire_work work = { .size = sizeof(work) };
	struct quire_region *region;
	struct quire_release *release = NULL;
	int error;

	options.pages = QUIRE_PAGES_THP;
	options.flags |= QUIRE_REGION_NO_DUMP | QUIRE_REGION_STRICT;
	error = quire_region_open(GIB, &options, &region);
	if (error)
		return error;
	error = quire_region_register(region, 0, 4096);
	if (!error)
		quire_region_unregister(region, 0, 4096);
	if (!error)
		error = quire_region_populate(region, 0, 8 * MIB, &work);
	if (!error)
		error = quire_region_release(region, 4 * MIB, 512 * MIB, &work);
	if (!error)
		error = quire_region_release_start(region, 516 * MIB, 300 * MIB,
						   0, &release);
	if (release) {
		int last = quire_release_wait(release, &work);

		error = error ? error : last;
	}
	area_check();
	/* An unmap that fails leaves the handle; then it is tried again. */
	while (quire_region_close(region)) {
		error = -ENOMEM;
		area_check();
	}
	return error;
}

static void every_call_fails_once(void **state)
{
	size_t before = anonymous_bytes();
	unsigned int n = 0, failed = 0;
	(void)state;

	for (;;) {
		int error;

		pool_stop(true);
		faulty_start(&spy.ops);
		faulty_arm(++n, FAULTY_ALL);
		error = all_of_it();
		pool_stop(true);
		bool hit = faulty_hits();
		faulty_stop();
		area_check();
		failed += error != 0;
		if (!hit) {
			assert_int_equal(error, 0);
			break;
		}
		/* unmapping our own notes is nothing to fail for */
		assert_true(list_empty(area_all()));
	}
	assert_true(n > 15 && failed > 5);
	assert_true(anonymous_bytes() <= before + MIB * 3);
}

static void a_release_that_cannot_unmap(void **state)
{
	struct quire_region *region = open_plain(64 * MIB);
	char *at = quire_region_address(region);
	struct quire_release *release;
	struct quire_work work = { .size = sizeof(work) };
	(void)state;

	memset(at, 1, 64 * MIB);
	faulty_start(&spy.ops);
	faulty_arm_from(1, FAULTY_UNMAP);
	assert_int_equal(quire_region_release(region, 0, MIB, NULL), -ENOMEM);
	assert_int_equal(quire_region_release_start(region, 16 * MIB, 32 * MIB,
						    0, &release),
			 0);
	while (quire_release_poll(release, NULL) == -EAGAIN)
		sleep_ms(1);
	assert_int_equal(quire_release_poll(release, &work), -ENOMEM);
	faulty_arm(0, FAULTY_ALL);
	assert_int_equal(quire_release_wait(release, &work), -ENOMEM);
	pool_stop(true);
	faulty_stop();
	/* The range is the region's again, and empty. */
	assert_int_equal(facts_of(region).bytes_left, 64 * MIB);
	assert_int_equal(at[16 * MIB] + at[47 * MIB], 0);
	assert_int_equal(at[15 * MIB] + at[48 * MIB], 2);
	area_check();
	assert_int_equal(quire_region_release(region, 16 * MIB, 32 * MIB, NULL),
			 0);
	close_it(region);
}

/* Locked memory cannot be discarded: unmapping does it. */
static void locked_memory(void **state)
{
	struct quire_region *region = open_plain(256 * MIB);
	char *at = quire_region_address(region);
	(void)state;

	/* not by its name: sanitizers make that a call that does nothing */
	if (syscall(SYS_mlock, at + 64 * MIB, 4096)) {
		close_it(region);
		skip();
	}
	assert_int_equal(quire_region_discard(region, 64 * MIB, 4096, NULL),
			 -EINVAL);
	assert_int_equal(quire_region_release(region, 0, 192 * MIB, NULL), 0);
	assert_false(is_mapped(at + 64 * MIB));
	close_it(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(progress_is_told),
		TEST(cancel_in_the_middle_of_populating),
		TEST(cancel_in_the_middle_of_a_release),
		TEST(populate_fails_in_the_middle),
		TEST(every_call_fails_once),
		TEST(a_release_that_cannot_unmap),
		TEST(locked_memory),
	};

	if (CONFIG_UP) /* nobody to help */
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
