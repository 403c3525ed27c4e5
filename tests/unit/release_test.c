/* SPDX-License-Identifier: MIT */
/*
 * Big work on regions.  The rules of the kernel series for parallel freeing
 * (D.10, 1 to 9) and its table of bugs (D1 to D11) stand here as they read for
 * a library: slices for work items, the discards of a range for the flush, the
 * one unmap after them for the free.
 */
#include "region_fixture.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define ALONE                                                                  \
	&(struct quire_work)                                                   \
	{                                                                      \
		.size = sizeof(struct quire_work), .workers = 1                \
	}

static struct quire_region *populated(size_t bytes)
{
	struct quire_region *region = open_plain(bytes);

	assert_int_equal(quire_region_populate(region, 0, bytes, NULL), 0);
	return region;
}

/* The slices of what the spy saw cover [at, at + bytes) once, none is larger
 * than @most, and all had ended before the one unmap of the range began. */
static void expect_discarded_then_unmapped(const char *at, size_t bytes,
					   size_t most)
{
	uintptr_t from = (uintptr_t)at, end = from + bytes;
	unsigned int last_end = 0, unmap_begun = 0, nr_unmaps = 0;
	size_t sum = 0;

	pthread_mutex_lock(&spy.lock);
	for (unsigned int i = 0; i < spy.nr; i++) {
		const struct spy_note *note = &spy.note[i];

		if (note->address < from || note->address >= end)
			continue;
		assert_true(note->ended);
		if (note->what == SPY_UNMAP) {
			nr_unmaps++;
			unmap_begun = note->begun;
			assert_int_equal(note->address, from);
			assert_int_equal(note->len, bytes);
			continue;
		}
		assert_true(note->len <= most);
		sum += note->len;
		if (note->ended > last_end)
			last_end = note->ended;
		for (unsigned int j = 0; j < i; j++)
			assert_true(spy.note[j].what != SPY_DISCARD ||
				    spy.note[j].address != note->address);
	}
	pthread_mutex_unlock(&spy.lock);
	assert_int_equal(sum, bytes);
	assert_int_equal(nr_unmaps, 1);
	assert_true(unmap_begun > last_end);
}

/* D.10-1: below the floor nothing is handed out; at it, exactly its slices. */
static void the_floor(void **state)
{
	static const struct {
		enum cut_kind kind;
		bool huge;
		size_t first, bytes, nr;
	} row[] = {
		{ CUT_DISCARD, false, 0, 0, 0 },
		{ CUT_DISCARD, false, 0, 128 * MIB - PAGE_SIZE, 0 },
		{ CUT_DISCARD, false, 0, 128 * MIB, 2 },
		{ CUT_DISCARD, false, 0, 128 * MIB + PAGE_SIZE, 3 },
		{ CUT_DISCARD, false, PAGE_SIZE, 128 * MIB, 3 },
		{ CUT_DISCARD, false, 0, 8 * GIB, 128 },
		{ CUT_DISCARD, true, 0, 4 * GIB - PAGE_SIZE, 0 },
		{ CUT_DISCARD, true, 0, 4 * GIB, 4 },
		{ CUT_DISCARD, true, 0, 8 * GIB, 8 },
		{ CUT_DISCARD, false, 0, (size_t)1 << 40, 16384 },
		{ CUT_BEHIND, false, 0, 2 * MIB - PAGE_SIZE, 0 },
		{ CUT_BEHIND, false, 0, 2 * MIB, 1 },
		{ CUT_BEHIND, false, 7 * MIB, 2 * MIB, 2 },
		{ CUT_BEHIND, true, 0, 64 * MIB - PAGE_SIZE, 0 },
		{ CUT_BEHIND, true, 0, 64 * MIB, 1 },
		{ CUT_POPULATE, false, 0, 32 * MIB - PAGE_SIZE, 0 },
		{ CUT_POPULATE, false, 0, 32 * MIB, 2 },
		{ CUT_POPULATE, true, 0, 256 * MIB, 4 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(row); i++) {
		struct range range = { row[i].first,
				       row[i].first + row[i].bytes };
		struct cut cut = cut_range(range, row[i].kind, row[i].huge);
		size_t at = range.first;

		assert_int_equal(cut.nr, row[i].nr);
		for (size_t nr = 0; nr < cut.nr; nr++) {
			struct range slice = cut_slice(&cut, nr);

			assert_int_equal(slice.first, at);
			assert_true(slice.end > at);
			assert_true(slice.end - at <= cut.slice_bytes);
			assert_true(!nr || at % cut.slice_bytes == 0);
			at = slice.end;
		}
		assert_true(!cut.nr || at == range.end);
	}
}

static void below_the_floor_nothing_is_handed_out(void **state)
{
	size_t bytes = 128 * MIB - PAGE_SIZE;
	struct quire_region *region = open_plain(bytes);
	struct quire_work work = { .size = sizeof(work) };
	uint64_t before = COUNTER_OF(region_slices);
	(void)state;

	spy_clear();
	assert_int_equal(quire_region_release(region, 0, bytes, &work), 0);
	assert_int_equal(spy_nr(SPY_DISCARD), 0);
	assert_int_equal(pool_nr_helpers(), 0);
	assert_int_equal(work.nr_slices, 0);
	assert_int_equal(work.workers_used, 1);
	assert_int_equal(work.bytes_done, bytes);
	assert_int_equal(COUNTER_OF(region_slices), before);
	close_it(region);
}

/* D.10-3, X10, D9: all discards of a range end before its addresses go; 5 and
 * 6, D1: no piece of work is larger than a slice, however large the range. */
static void all_is_discarded_before_it_is_unmapped(void **state)
{
	size_t bytes = 2 * GIB + 3 * PAGE_SIZE;
	(void)state;

	for (uint32_t workers = 0; workers <= 4; workers++) {
		struct quire_region *region = open_plain(bytes);
		char *at = quire_region_address(region);
		struct quire_work work = { .size = sizeof(work),
					   .workers = workers };

		spy_clear();
		assert_int_equal(quire_region_release(region, 0, bytes, &work),
				 0);
		expect_discarded_then_unmapped(at, bytes, 64 * MIB);
		assert_int_equal(work.nr_slices, 33);
		assert_int_equal(work.bytes_done, bytes);
		assert_true(work.workers_used <= (workers ? workers : 4));
		assert_false(is_mapped(at));
		close_it(region);
	}
}

static void the_same_behind_the_callers_back(void **state)
{
	size_t bytes = GIB + 3 * PAGE_SIZE;
	(void)state;

	for (uint32_t workers = 0; workers <= 3; workers++) {
		struct quire_region *region = open_plain(bytes);
		char *at = quire_region_address(region);
		struct quire_release *release;
		struct quire_work work = { .size = sizeof(work) };

		spy_clear();
		assert_int_equal(quire_region_release_start(region, 0, bytes,
							    workers, &release),
				 0);
		while (quire_release_poll(release, NULL) == -EAGAIN)
			sleep_ms(1);
		expect_discarded_then_unmapped(at, bytes, 8 * MIB);
		assert_int_equal(quire_release_wait(release, &work), 0);
		assert_int_equal(work.nr_slices, 129);
		assert_int_equal(work.nr_helped, 129);
		assert_int_equal(work.bytes_done, bytes);
		assert_true(work.cpu_ns > 0);
		close_it(region);
	}
}

/* D.10-4, D8: it does not return before the last slice is done. */

struct releaser {
	struct quire_region *region;
	struct quire_work work;
	size_t offset, bytes;
	int result;
	bool returned;
};

static void *release_in_thread(void *arg)
{
	struct releaser *r = arg;

	r->result =
		quire_region_release(r->region, r->offset, r->bytes, &r->work);
	store_release(&r->returned, true);
	return NULL;
}

static void release_waits_for_its_helpers(void **state)
{
	struct releaser r = { .region = open_plain(GIB),
			      .bytes = GIB,
			      .work = { .size = sizeof(r.work) } };
	char *at = quire_region_address(r.region);
	pthread_t thread;
	(void)state;

	gate_close();
	pthread_create(&thread, NULL, release_in_thread, &r);
	gate_wait(4); /* the caller and three helpers, each in a slice */
	sleep_ms(20);
	assert_false(load_acquire(&r.returned));
	assert_true(is_mapped(at));
	/* Meanwhile the range is nobody else's: [R1]. */
	assert_int_equal(quire_region_populate(r.region, 0, 4096, NULL),
			 -EBUSY);
	assert_int_equal(quire_region_discard(r.region, 4096, 4096, NULL),
			 -EBUSY);
	assert_int_equal(quire_region_release(r.region, 0, GIB, NULL), -EBUSY);
	assert_int_equal(quire_region_register(r.region, 0, 4096), -EBUSY);
	assert_int_equal(quire_region_close(r.region), -EBUSY);
	area_check();
	gate_open();
	pthread_join(thread, NULL);
	assert_int_equal(r.result, 0);
	assert_int_equal(r.work.workers_used, 4);
	assert_true(r.work.nr_helped >= 3);
	assert_false(is_mapped(at));
	close_it(r.region);
}

/* [R2]: until it has ended, the addresses are nobody's. */
static void addresses_on_their_way_are_nobodys(void **state)
{
	struct quire_region *region = open_plain(64 * MIB);
	char *at = quire_region_address(region);
	struct quire_release *release;
	struct quire_work work = { .size = sizeof(work) };
	char *other[16];
	(void)state;

	gate_close();
	assert_int_equal(quire_region_release_start(region, 16 * MIB, 32 * MIB,
						    0, &release),
			 0);
	gate_wait(1);
	assert_int_equal(quire_release_poll(release, &work), -EAGAIN);
	assert_int_equal(work.bytes_done, 0);
	assert_int_equal(facts_of(region).bytes_left, 32 * MIB);
	assert_int_equal(facts_of(region).nr_releases, 1);
	assert_int_equal(quire_region_discard(region, 16 * MIB, 4096, NULL),
			 -EINVAL);
	for (int i = 0; i < 16; i++) {
		other[i] = mmap(at + 16 * MIB, 32 * MIB, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
				0);
		assert_true(other[i] + 32 * MIB <= at + 16 * MIB ||
			    other[i] >= at + 48 * MIB);
		munmap(other[i], 32 * MIB);
	}
	/* The rest is still good. */
	at[0] = at[63 * MIB] = 1;
	area_check();
	gate_open();
	assert_int_equal(quire_release_wait(release, &work), 0);
	assert_false(is_mapped(at + 16 * MIB));
	assert_true(is_mapped(at + 48 * MIB));
	assert_int_equal(facts_of(region).nr_releases, 0);
	close_it(region);
}

/* D3: releases end in the order in which they were started. */
static void releases_end_in_order(void **state)
{
	enum { NR = 12 };
	struct quire_region *region = open_plain(NR * 64 * MIB);
	struct quire_release *release[NR];
	(void)state;

	for (size_t i = 0; i < NR; i++) /* large and small in turn */
		assert_int_equal(
			quire_region_release_start(region, i * 64 * MIB,
						   i % 2 ? 2 * MIB : 64 * MIB,
						   3, &release[i]),
			0);
	for (;;) {
		bool ended[NR];

		/* looked at from the youngest, so that none can overtake */
		for (int i = NR - 1; i >= 0; i--)
			ended[i] = !quire_release_poll(release[i], NULL);
		for (int i = 1; i < NR; i++)
			assert_true(!ended[i] || ended[i - 1]);
		if (ended[NR - 1])
			break;
	}
	for (size_t i = 0; i < NR; i++)
		assert_int_equal(quire_release_wait(release[i], NULL), 0);
	close_it(region);
}

/* D.10-7: one worker, many workers, no worker: the same end. */
static void the_same_end_without_helpers(void **state)
{
	size_t before = anonymous_bytes();
	(void)state;

	for (int i = 0; i < 2; i++) {
		struct quire_region *region = open_plain(GIB);
		struct quire_release *release;
		struct quire_work work = { .size = sizeof(work) };
		uint64_t inlined = COUNTER_OF(region_inline);

		faulty_start(&spy.ops);
		faulty_arm_from(1, FAULTY_THREAD);
		assert_int_equal(
			quire_region_release(region, 0, GIB / 2, &work), 0);
		assert_int_equal(work.workers_used, 1);
		assert_int_equal(work.nr_helped, 0);
		assert_int_equal(quire_region_release_start(
					 region, GIB / 2, GIB / 2, 0, &release),
				 0);
		assert_int_equal(quire_release_poll(release, NULL), 0);
		assert_int_equal(COUNTER_OF(region_inline) - inlined, 1);
		assert_int_equal(quire_release_wait(release, &work), 0);
		assert_int_equal(work.nr_helped, 0);
		assert_int_equal(work.workers_used, 1);
		faulty_stop();
		close_it(region);
	}
	assert_int_equal(anonymous_bytes(), before);
}

/* D.10-8: nothing is left over, neither memory nor mappings nor threads. */
static void nothing_is_left_over(void **state)
{
	size_t before = anonymous_bytes();
	(void)state;

	for (int i = 0; i < 20; i++) {
		struct quire_region *region = populated(160 * MIB);
		struct quire_release *release;

		assert_int_equal(
			quire_region_release(region, 0, 144 * MIB, NULL), 0);
		assert_int_equal(quire_region_release_start(region, 144 * MIB,
							    8 * MIB, 0,
							    &release),
				 0);
		assert_int_equal(quire_release_wait(release, NULL), 0);
		close_it(region);
	}
	pool_stop(true);
	/* stacks of threads are kept by the C library; and sanitizers have
	 * memory for each thread */
	assert_true(UNDER_SANITIZER ||
		    anonymous_bytes() <= before + 8 * 256 * KIB);
	if (!UNDER_TSAN)
		assert_int_equal(nr_tasks(), 1);
}

/* D.10-9: what is called from inside needs memory and helpers itself. */

static int use_more(size_t bytes_done, size_t bytes, void *arg)
{
	struct quire_region *other;
	int *calls = arg;

	assert_true(bytes_done <= bytes);
	if ((*calls)++ % 8)
		return 0;
	other = open_plain(256 * MIB);
	assert_int_equal(quire_region_populate(other, 0, 48 * MIB, NULL), 0);
	assert_int_equal(quire_region_release(other, 0, 256 * MIB, NULL), 0);
	assert_int_equal(quire_region_close(other), 0);
	return 0;
}

static void work_within_work(void **state)
{
	struct quire_region *region = open_plain(GIB);
	int calls = 0;
	struct quire_work work = { .size = sizeof(work),
				   .progress = use_more,
				   .arg = &calls };
	(void)state;

	assert_int_equal(quire_region_release(region, 0, GIB, &work), 0);
	assert_true(calls > 0);
	close_it(region);
}

/* F2: the thread that started it ends, the region is closed. */

struct starter {
	struct quire_release *release;
	char *at;
};

static void *start_and_end(void *arg)
{
	struct starter *starter = arg;
	struct quire_region *region = open_plain(64 * MIB);

	starter->at = quire_region_address(region);
	memset(starter->at, 1, 64 * MIB);
	assert_int_equal(quire_region_release_start(region, 0, 64 * MIB, 0,
						    &starter->release),
			 0);
	assert_int_equal(quire_region_close(region), 0);
	return NULL;
}

static unsigned int nr_files(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) != -1;
	return nr;
}

static void the_owner_thread_ends(void **state)
{
	struct starter starter = { 0 };
	unsigned int files = nr_files();
	pthread_t thread;
	(void)state;

	gate_close();
	pthread_create(&thread, NULL, start_and_end, &starter);
	pthread_join(thread, NULL);
	gate_wait(1);
	assert_int_equal(nr_files(), files);
	assert_int_equal(quire_release_poll(starter.release, NULL), -EAGAIN);
	gate_open();
	while (quire_release_poll(starter.release, NULL) == -EAGAIN)
		sleep_ms(1);
	assert_false(is_mapped(starter.at));
	assert_int_equal(quire_release_wait(starter.release, NULL), 0);
}

static void nobody_asks(void **state)
{
	struct quire_region *region = open_plain(256 * MIB);
	char *at = quire_region_address(region);
	struct quire_release *release;
	(void)state;

	assert_int_equal(
		quire_region_release_start(region, 0, 64 * MIB, 0, NULL), 0);
	assert_int_equal(quire_region_release_start(region, 64 * MIB, 64 * MIB,
						    0, &release),
			 0);
	quire_release_forget(release);
	assert_int_equal(quire_region_release_start(region, 128 * MIB, 64 * MIB,
						    0, &release),
			 0);
	close_it(region);
	assert_int_equal(quire_release_wait(release, NULL), 0);
	assert_false(is_mapped(at));
	assert_false(is_mapped(at + 64 * MIB));
}

/* The waiter takes part: it does not need the helper, which stands still. */
static void waiting_is_working(void **state)
{
	struct quire_region *region = open_plain(GIB);
	struct quire_release *release;
	struct quire_work work = { .size = sizeof(work) };
	(void)state;

	spy.nr_cpus = 1;
	assert_int_equal(
		quire_region_release_start(region, 0, GIB, 0, &release), 0);
	assert_int_equal(quire_release_wait(release, &work), 0);
	assert_true(work.nr_helped < work.nr_slices);
	close_it(region);
}

/* Fork */

static struct {
	struct quire_region *region;
	struct quire_release *release;
} forked;

static void end_it_in_the_child(void *arg)
{
	char *at = quire_region_address(forked.region);

	spy.closed = false;
	spy.at_gate = 0;
	pthread_mutex_init(&spy.lock, NULL);
	area_check();
	CHILD_ASSERT(is_mapped(at));
	if (arg) { /* what a helper of the child's own does for it */
		CHILD_ASSERT(!quire_region_release_start(
			forked.region, 512 * MIB, 64 * MIB, 0, NULL));
		while (quire_release_poll(forked.release, NULL) == -EAGAIN)
			sleep_ms(1);
	}
	CHILD_ASSERT(!quire_release_wait(forked.release, NULL));
	CHILD_ASSERT(!is_mapped(at));
	CHILD_ASSERT(at[256 * MIB] == 2);
	area_check();
	CHILD_ASSERT(!quire_region_close(forked.region));
}

static void fork_during_a_release(void **state)
{
	(void)state;
	if (UNDER_TSAN)
		skip();
	for (uintptr_t by_helper = 0; by_helper < 2; by_helper++) {
		char *at;

		forked.region = open_plain(GIB);
		at = quire_region_address(forked.region);
		memset(at, 1, 64 * MIB);
		at[256 * MIB] = 2;
		gate_close();
		assert_int_equal(quire_region_release_start(forked.region, 0,
							    64 * MIB, 0,
							    &forked.release),
				 0);
		gate_wait(1);
		assert_int_equal(
			in_child(end_it_in_the_child, (void *)by_helper), 0);
		assert_int_equal(quire_release_poll(forked.release, NULL),
				 -EAGAIN);
		gate_open();
		assert_int_equal(quire_release_wait(forked.release, NULL), 0);
		assert_false(is_mapped(at));
		assert_int_equal(at[256 * MIB], 2);
		close_it(forked.region);
	}
}

/* A release that another thread of the parent waits in is called off. */
static void called_off_in_the_child(void *arg)
{
	struct quire_region *region = arg;

	spy.closed = false;
	spy.at_gate = 0;
	pthread_mutex_init(&spy.lock, NULL);
	area_check();
	CHILD_ASSERT(facts_of(region).bytes_left == 256 * MIB);
	CHILD_ASSERT(!quire_region_release(region, 0, 256 * MIB, NULL));
	CHILD_ASSERT(!quire_region_close(region));
	area_check();
}

static void fork_during_anothers_release(void **state)
{
	struct releaser r = { .bytes = 256 * MIB,
			      .work = { .size = sizeof(r.work) } };
	pthread_t thread;
	(void)state;

	if (UNDER_TSAN)
		skip();
	r.region = open_plain(256 * MIB);
	gate_close();
	pthread_create(&thread, NULL, release_in_thread, &r);
	gate_wait(3);
	assert_int_equal(in_child(called_off_in_the_child, r.region), 0);
	gate_open();
	pthread_join(thread, NULL);
	assert_int_equal(r.result, 0);
	close_it(r.region);
}

static void nothing_of_it(void *arg)
{
	char *at = arg;

	spy.closed = false;
	spy.at_gate = 0;
	pthread_mutex_init(&spy.lock, NULL);
	char *mine =
		mmap(at, 64 * MIB, PROT_READ | PROT_WRITE,
		     MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHILD_ASSERT(mine == at);
	memset(mine, 7, 64 * MIB);
	CHILD_ASSERT(!quire_release_wait(forked.release, NULL));
	CHILD_ASSERT(is_mapped(mine) && mine[0] == 7 &&
		     mine[64 * MIB - 1] == 7);
	CHILD_ASSERT(!quire_region_close(forked.region));
	area_check();
}

/* What is not inherited is not released in the child either. */
static void fork_without_the_region_on_its_way(void **state)
{
	struct quire_region_options options = plain();
	char *at;
	(void)state;

	if (UNDER_TSAN)
		skip();
	options.flags |= QUIRE_REGION_NO_FORK;
	forked.region = open_with(64 * MIB, options);
	at = quire_region_address(forked.region);
	gate_close();
	assert_int_equal(quire_region_release_start(forked.region, 0, 64 * MIB,
						    0, &forked.release),
			 0);
	gate_wait(1);
	assert_int_equal(in_child(nothing_of_it, at), 0);
	gate_open();
	assert_int_equal(quire_release_wait(forked.release, NULL), 0);
	close_it(forked.region);
}

/* Between unmapped and noted no fork can come: [R3]. */
static void *fork_in_thread(void *arg)
{
	int *status = arg;
	pid_t child = fork();

	if (!child) {
		area_check();
		_exit(0);
	}
	waitpid(child, status, 0);
	return NULL;
}

static void forks_while_much_is_released(void **state)
{
	(void)state;
	if (UNDER_TSAN)
		skip();
	for (int i = 0; i < 60; i++) {
		struct quire_region *region = open_plain(256 * MIB);
		struct quire_release *release;
		pthread_t thread;
		int status = -1;

		assert_int_equal(quire_region_release_start(region, 0, 16 * MIB,
							    0, &release),
				 0);
		pthread_create(&thread, NULL, fork_in_thread, &status);
		assert_int_equal(
			quire_region_release(region, 16 * MIB, 200 * MIB, NULL),
			0);
		assert_int_equal(quire_release_wait(release, NULL), 0);
		pthread_join(thread, NULL);
		assert_int_equal(status, 0);
		close_it(region);
	}
}

/* Threads that do everything at once to the same region. */
static void *do_anything(void *arg)
{
	struct quire_region *region = arg;
	uint64_t seed = (uintptr_t)&seed | 1;

	for (int i = 0; i < 300; i++) {
		size_t first = random_below(&seed, 64) * MIB;
		size_t bytes = (1 + random_below(&seed, 8)) * MIB;
		struct quire_release *release;

		switch (random_below(&seed, 6)) {
		case 0:
			quire_region_populate(region, first, MIB, NULL);
			break;
		case 1:
			quire_region_discard(region, first, bytes, NULL);
			break;
		case 2:
			if (i % 8 == 0)
				quire_region_release(region, first, MIB, NULL);
			break;
		case 3:
			if (i % 8 == 1 &&
			    !quire_region_release_start(region, first, 2 * MIB,
							2, &release))
				quire_release_wait(release, NULL);
			break;
		default:
			if (!quire_region_register(region, first, bytes))
				quire_region_unregister(region, first, bytes);
		}
	}
	return NULL;
}

static void everything_at_once(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		struct quire_region *region = open_plain(72 * MIB);
		pthread_t thread[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&thread[i], NULL, do_anything, region);
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		close_it(region);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_floor),
		TEST(below_the_floor_nothing_is_handed_out),
		TEST(all_is_discarded_before_it_is_unmapped),
		TEST(the_same_behind_the_callers_back),
		TEST(release_waits_for_its_helpers),
		TEST(addresses_on_their_way_are_nobodys),
		TEST(releases_end_in_order),
		TEST(the_same_end_without_helpers),
		TEST(nothing_is_left_over),
		TEST(work_within_work),
		TEST(the_owner_thread_ends),
		TEST(nobody_asks),
		TEST(waiting_is_working),
		TEST(fork_during_a_release),
		TEST(fork_during_anothers_release),
		TEST(fork_without_the_region_on_its_way),
		TEST(forks_while_much_is_released),
		TEST(everything_at_once),
	};

	if (CONFIG_UP) /* nobody to help */
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
