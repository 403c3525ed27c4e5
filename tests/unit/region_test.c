/* SPDX-License-Identifier: MIT */
/*
 * Regions: sizes, arguments, options, and whose a range is.  What big releases
 * do is in release_test.c.
 */
#include "region_fixture.h"

#include <sys/resource.h>
#include <sys/syscall.h>

/* Sizes and arguments */

static void sizes_are_exact(void **state)
{
	static const size_t size[] = {
		1,	 4095,	      4096,	4097,		2 * MIB - 1,
		2 * MIB, 2 * MIB + 1, 33 * GIB, (size_t)1 << 40
	};
	(void)state;
	close_it(open_plain(4096)); /* buys the one spare page of the process */
	for (size_t i = 0; i < ARRAY_SIZE(size); i++) {
		for (uint32_t pages = 0; pages <= QUIRE_PAGES_THP; pages++) {
			struct quire_region_options options = plain();
			struct quire_region *region;
			size_t before = anonymous_bytes(), after;

			options.pages = pages;
			region = open_with(size[i], options);
			after = anonymous_bytes() - before;
			assert_int_equal(quire_region_size(region),
					 (size[i] + 4095) / 4096 * 4096);
			/* and the page that describes it */
			assert_true(after <= quire_region_size(region) + 4096);
			if (pages == QUIRE_PAGES_THP && size[i] >= 2 * MIB)
				assert_int_equal(
					(uintptr_t)quire_region_address(
						region) %
						(2 * MIB),
					0);
			close_it(region);
			assert_int_equal(anonymous_bytes(), before);
		}
	}
}

static void arguments_that_are_wrong(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *region = NULL;
	uint64_t none = 0;
	(void)state;

#define WRONG(change)                                                          \
	do {                                                                   \
		options = plain();                                             \
		change;                                                        \
		assert_int_equal(quire_region_open(MIB, &options, &region),    \
				 -EINVAL);                                     \
		assert_null(region);                                           \
	} while (0)
	WRONG(options.size = 0);
	WRONG(options.size++);
	WRONG(options.pages = 3);
	WRONG(options.numa = 3);
	WRONG(options.flags = 1u << 31);
	WRONG(options.flags = QUIRE_REGION_FORK | QUIRE_REGION_NO_FORK);
	WRONG(options.headroom_percent = 101);
	WRONG(options.numa = QUIRE_NUMA_BIND);
	WRONG((options.nodes = &none, options.nr_nodes = 64));
	WRONG(options.nr_nodes = 1);
	WRONG(options.nr_nodes = SIZE_MAX);
	assert_int_equal(quire_region_open(0, NULL, &region), -EINVAL);
	assert_int_equal(quire_region_open(MIB, NULL, NULL), -EINVAL);
	assert_int_equal(quire_region_open(SIZE_MAX, NULL, &region),
			 -EOVERFLOW);
	assert_int_equal(quire_region_open(SIZE_MAX / 2, NULL, &region),
			 -ENOMEM);
	assert_int_equal(quire_region_close(NULL), -EINVAL);
	assert_int_equal(quire_region_populate(NULL, 0, 0, NULL), -EINVAL);
}

typedef int (*range_call)(struct quire_region *, size_t, size_t,
			  struct quire_work *);

static int start_call(struct quire_region *region, size_t offset, size_t bytes,
		      struct quire_work *work)
{
	(void)work;
	return quire_region_release_start(region, offset, bytes, 0, NULL);
}

/* P3: a length of zero; and everything that is not inside. */
static void ranges_that_are_wrong(void **state)
{
	static const range_call call[] = { quire_region_populate,
					   quire_region_discard,
					   quire_region_release, start_call };
	static const size_t range[][2] = {
		{ 1, 4096 },
		{ 0, 4095 },
		{ 0, 1 },
		{ MIB, 4096 },
		{ 0, MIB + 4096 },
		{ MIB + 4096, 0 },
		{ 4096, SIZE_MAX },
		{ SIZE_MAX - 4095, 4096 },
		{ 4096, -(size_t)4096 },
	};
	struct quire_region *region = open_plain(MIB);
	struct quire_work work = { .size = sizeof(work) - 1 };
	(void)state;

	for (size_t c = 0; c < ARRAY_SIZE(call); c++) {
		for (size_t i = 0; i < ARRAY_SIZE(range); i++)
			assert_int_equal(
				call[c](region, range[i][0], range[i][1], NULL),
				-EINVAL);
		assert_int_equal(call[c](region, 0, 0, NULL), 0);
		assert_int_equal(call[c](region, 4096, 0, NULL), 0);
		assert_int_equal(call[c](region, MIB, 0, NULL), 0);
		area_check();
	}
	assert_int_equal(quire_region_populate(region, 0, MIB, &work), -EINVAL);
	assert_int_equal(quire_region_register(region, 1, 4096), -EINVAL);
	assert_int_equal(quire_region_register(region, 0, 0), 0);
	assert_int_equal(facts_of(region).bytes_left, MIB);
	close_it(region);
}

/* Populate, discard, release */

static void memory_comes_and_goes(void **state)
{
	struct quire_region *region = open_plain(16 * MIB);
	char *at = quire_region_address(region);
	struct quire_work work = { .size = sizeof(work) };
	(void)state;

	assert_int_equal(resident_pages(at, 16 * MIB), 0);
	assert_int_equal(quire_region_populate(region, 4 * MIB, 8 * MIB, &work),
			 0);
	assert_int_equal(work.bytes_done, 8 * MIB);
	assert_int_equal(work.workers_used, 1);
	assert_int_equal(work.nr_slices, 0);
	assert_true(work.cpu_ns > 0);
	assert_int_equal(resident_pages(at, 4 * MIB), 0);
	assert_int_equal(resident_pages(at + 4 * MIB, 8 * MIB), 2048);
	at[5 * MIB] = 7;
	/* again: nothing is lost */
	assert_int_equal(quire_region_populate(region, 0, 16 * MIB, NULL), 0);
	assert_int_equal(at[5 * MIB], 7);
	assert_int_equal(quire_region_discard(region, 5 * MIB, MIB, NULL), 0);
	assert_int_equal(resident_pages(at + 5 * MIB, MIB), 0);
	assert_int_equal(at[5 * MIB], 0);
	assert_int_equal(quire_region_release(region, 8 * MIB, MIB, &work), 0);
	assert_int_equal(work.bytes_done, MIB);
	assert_false(is_mapped(at + 8 * MIB));
	assert_false(is_mapped(at + 9 * MIB - 4096));
	assert_true(is_mapped(at + 8 * MIB - 4096));
	assert_true(is_mapped(at + 9 * MIB));
	assert_int_equal(facts_of(region).bytes_left, 15 * MIB);
	close_it(region);
	assert_false(is_mapped(at));
}

/* [R1] What is gone is nobody's to touch, whatever is there now. */
static void nothing_happens_to_what_is_gone(void **state)
{
	struct quire_region *region = open_plain(MIB);
	char *at = quire_region_address(region);
	char *other;
	(void)state;

	assert_int_equal(quire_region_release(region, 64 * KIB, 64 * KIB, NULL),
			 0);
	other = mmap(at + 64 * KIB, 64 * KIB, PROT_READ | PROT_WRITE,
		     MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_equal(other, at + 64 * KIB);
	memset(other, 5, 64 * KIB);
	assert_int_equal(quire_region_discard(region, 0, MIB, NULL), -EINVAL);
	assert_int_equal(quire_region_discard(region, 64 * KIB, 4096, NULL),
			 -EINVAL);
	assert_int_equal(quire_region_release(region, 124 * KIB, 8192, NULL),
			 -EINVAL);
	assert_int_equal(quire_region_populate(region, 60 * KIB, 8192, NULL),
			 -EINVAL);
	assert_int_equal(quire_region_register(region, 60 * KIB, 8192),
			 -EINVAL);
	close_it(region);
	assert_true(is_mapped(other));
	assert_int_equal(other[0], 5);
	munmap(other, 64 * KIB);
}

/* Any parts in any order agree with a map of bits. */
static void parts_in_every_order(void **state)
{
	enum { PAGES_IN_ALL = 300 };
	uint64_t seed = 0x5eed;
	(void)state;

	for (int round = 0; round < 60; round++) {
		struct quire_region *region =
			open_plain(PAGES_IN_ALL * PAGE_SIZE);
		bool gone[PAGES_IN_ALL] = { false };
		size_t left = PAGES_IN_ALL;

		for (int step = 0; step < 120; step++) {
			size_t first = random_below(&seed, PAGES_IN_ALL);
			size_t nr = 1 + random_below(&seed, 6);
			bool wrong = first + nr > PAGES_IN_ALL;

			for (size_t i = first; !wrong && i < first + nr; i++)
				wrong = gone[i];
			assert_int_equal(start_call(region, first * PAGE_SIZE,
						    nr * PAGE_SIZE, NULL),
					 wrong ? -EINVAL : 0);
			for (size_t i = first; !wrong && i < first + nr; i++)
				gone[i] = true;
			left -= wrong ? 0 : nr;
			area_check();
			assert_int_equal(facts_of(region).bytes_left,
					 left * PAGE_SIZE);
		}
		close_it(region);
	}
}

static void many_parts(void **state)
{
	struct quire_region *region = open_plain(4000 * PAGE_SIZE);
	(void)state;

	for (size_t i = 0; i < 4000; i += 2)
		assert_int_equal(quire_region_release(region, i * PAGE_SIZE,
						      PAGE_SIZE, NULL),
				 0);
	area_check();
	for (size_t i = 1; i < 4000; i += 4)
		assert_int_equal(quire_region_release(region, i * PAGE_SIZE,
						      PAGE_SIZE, NULL),
				 0);
	area_check();
	assert_int_equal(facts_of(region).bytes_left, 1000 * PAGE_SIZE);
	close_it(region);
}

/* Options */

/* F4 */
static void left_out_of_core_dumps(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *with, *without;
	(void)state;

	options.flags |= QUIRE_REGION_NO_DUMP | QUIRE_REGION_STRICT;
	with = open_with(MIB, options);
	without = open_plain(MIB);
	assert_true(has_vm_flag(quire_region_address(with), " dd"));
	assert_false(has_vm_flag(quire_region_address(without), " dd"));
	assert_false(has_vm_flag(quire_region_address(with), " dc"));
	close_it(with);
	close_it(without);
}

static void use_what_is_not_there(void *arg)
{
	struct quire_region *region = arg;
	char *at = quire_region_address(region);
	char *other =
		mmap(at, MIB, PROT_READ | PROT_WRITE,
		     MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHILD_ASSERT(other == at); /* it really is not there */
	memset(other, 9, MIB);
	CHILD_ASSERT(quire_region_populate(region, 0, MIB, NULL) == -ENXIO);
	CHILD_ASSERT(quire_region_discard(region, 0, MIB, NULL) == -ENXIO);
	CHILD_ASSERT(quire_region_release(region, 0, MIB, NULL) == -ENXIO);
	CHILD_ASSERT(start_call(region, 0, MIB, NULL) == -ENXIO);
	CHILD_ASSERT(quire_region_register(region, 0, MIB) == -ENXIO);
	CHILD_ASSERT(quire_region_close(region) == 0);
	CHILD_ASSERT(other[MIB - 1] == 9);
	area_check();
}

static void use_a_copy(void *arg)
{
	struct quire_region *region = arg;
	char *at = quire_region_address(region);

	CHILD_ASSERT(at[5] == 3);
	at[5] = 4;
	CHILD_ASSERT(quire_region_discard(region, 0, 8192, NULL) == 0);
	CHILD_ASSERT(at[5] == 0);
	CHILD_ASSERT(quire_region_release(region, 0, 8192, NULL) == 0);
	CHILD_ASSERT(quire_region_close(region) == 0);
	area_check();
}

static void fork_with_and_without(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *region;
	(void)state;

	region = open_plain(MIB);
	((char *)quire_region_address(region))[5] = 3;
	assert_int_equal(in_child(use_a_copy, region), 0);
	assert_int_equal(((char *)quire_region_address(region))[5], 3);
	close_it(region);
	options.flags |= QUIRE_REGION_NO_FORK;
	region = open_with(MIB, options);
	((char *)quire_region_address(region))[5] = 3;
	assert_int_equal(in_child(use_what_is_not_there, region), 0);
	assert_int_equal(((char *)quire_region_address(region))[5], 3);
	close_it(region);
}

static void registered_with_the_kernel(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *region = open_plain(MIB);
	char *at = quire_region_address(region);
	uint64_t busy = COUNTER_OF(region_busy);
	(void)state;

	memset(at, 1, MIB);
	assert_int_equal(quire_region_register(region, 8192, 8192), 0);
	assert_int_equal(quire_region_register(region, 8192, 8192), 0);
	assert_int_equal(quire_region_register(region, 12288, 8192), 0);
	assert_int_equal(facts_of(region).bytes_registered, 24576);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(quire_region_discard(region, 0, MIB, NULL),
				 -EBUSY);
		assert_int_equal(
			quire_region_release(region, 12288, 4096, NULL),
			-EBUSY);
		assert_int_equal(start_call(region, 12288, 4096, NULL), -EBUSY);
		assert_int_equal(quire_region_close(region), -EBUSY);
		assert_int_equal(quire_region_populate(region, 0, MIB, NULL),
				 0);
		assert_int_equal(quire_region_discard(region, 0, 8192, NULL),
				 0);
		assert_int_equal(at[8192] + at[MIB - 1], 2);
		area_check();
		assert_int_equal(quire_region_unregister(region, 8192, 4096),
				 -ENOENT);
		assert_int_equal(quire_region_unregister(
					 region, i < 2 ? 8192 : 12288, 8192),
				 0);
	}
	assert_int_equal(quire_region_unregister(region, 8192, 8192), -ENOENT);
	assert_int_equal(COUNTER_OF(region_busy) - busy, 9);
	close_it(region);
	options.flags |= QUIRE_REGION_REGISTERED;
	region = open_with(MIB, options);
	assert_int_equal(quire_region_discard(region, 0, 4096, NULL), -EBUSY);
	assert_int_equal(quire_region_close(region), -EBUSY);
	assert_int_equal(quire_region_unregister(region, 0, MIB), 0);
	close_it(region);
}

/* E1 */
static void a_numa_policy_that_is_refused(void **state)
{
	struct quire_region_options options = plain();
	uint64_t before = COUNTER_OF(region_fallback);
	struct quire_region *region;
	uint64_t node_0 = 1;
	(void)state;

	options.nodes = &node_0;
	options.nr_nodes = 1;
	for (uint32_t numa = 1; numa <= QUIRE_NUMA_BIND; numa++) {
		options.numa = numa;
		faulty_start(&spy.ops);
		faulty_arm_from(1, FAULTY_PLACE);
		region = open_with(MIB, options);
		assert_int_equal(facts_of(region).numa, QUIRE_NUMA_LOCAL);
		assert_int_equal(facts_of(region).nr_fallbacks, 1);
		assert_int_equal(quire_region_populate(region, 0, MIB, NULL),
				 0);
		close_it(region);
		options.flags |= QUIRE_REGION_STRICT;
		assert_int_equal(quire_region_open(MIB, &options, &region),
				 -EPERM);
		options.flags &= ~QUIRE_REGION_STRICT;
		pool_stop(true);
		faulty_stop();
	}
	assert_int_equal(COUNTER_OF(region_fallback) - before, 2);
}

static void a_numa_policy_that_works(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *region;
	uint64_t node_0 = 1;
	(void)state;

	if (syscall(SYS_get_mempolicy, NULL, NULL, 0, NULL, 0))
		skip();
	options.flags |= QUIRE_REGION_STRICT;
	options.numa = QUIRE_NUMA_INTERLEAVE; /* over all */
	region = open_with(8 * MIB, options);
	assert_int_equal(quire_region_populate(region, 0, 8 * MIB, NULL), 0);
	assert_int_equal(facts_of(region).numa, QUIRE_NUMA_INTERLEAVE);
	close_it(region);
	options.numa = QUIRE_NUMA_BIND;
	options.nodes = &node_0;
	options.nr_nodes = 1;
	region = open_with(8 * MIB, options);
	assert_int_equal(quire_region_populate(region, 0, 8 * MIB, NULL), 0);
	close_it(region);
}

/* E4: no page in the pool.  (It is empty unless somebody filled it.) */
static bool pool_is_empty(void)
{
	char *page = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (page == MAP_FAILED)
		return true;
	munmap(page, 2 * MIB);
	return false;
}

static void an_empty_pool_of_huge_pages(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *region;
	(void)state;

	if (!pool_is_empty())
		skip();
	options.pages = QUIRE_PAGES_HUGETLB_2M;
	options.flags |= QUIRE_REGION_STRICT;
	assert_int_equal(quire_region_open(2 * MIB, &options, &region),
			 -ENOMEM);
	options.flags &= ~QUIRE_REGION_STRICT;
	region = open_with(3 * MIB, options);
	assert_int_equal(facts_of(region).pages, QUIRE_PAGES_THP);
	assert_int_equal(facts_of(region).nr_fallbacks, 1);
	assert_int_equal(quire_region_size(region), 3 * MIB);
	assert_int_equal(quire_region_page_size(region), 4096);
	assert_int_equal(quire_region_populate(region, 0, 3 * MIB, NULL), 0);
	memset(quire_region_address(region), 1, 3 * MIB);
	close_it(region);
}

/* With pages: they are set aside at open; what is discarded and not there any
 * more is an error of populate, and no signal. */
static void huge_pages_of_the_pool(void **state)
{
	struct quire_region_options options = plain();
	struct quire_region *region;
	(void)state;

	if (pool_is_empty())
		skip();
	options.pages = QUIRE_PAGES_HUGETLB_2M;
	options.flags |= QUIRE_REGION_STRICT;
	region = open_with(1, options);
	assert_int_equal(quire_region_size(region), 2 * MIB);
	assert_int_equal(quire_region_page_size(region), 2 * MIB);
	assert_true(facts_of(region).flags & QUIRE_REGION_NO_FORK);
	assert_true(has_vm_flag(quire_region_address(region), " dc"));
	assert_int_equal(quire_region_populate(region, 0, 4096, NULL), -EINVAL);
	assert_int_equal(quire_region_populate(region, 0, 2 * MIB, NULL), 0);
	memset(quire_region_address(region), 1, 2 * MIB);
	close_it(region);
}

/* What the kernel says when the pool is empty in the middle, and what a kernel
 * says that does not know the call: never a touch. */
static void a_pool_that_runs_out(void **state)
{
	struct quire_region *region = open_plain(2 * MIB);
	(void)state;

	region->pages = QUIRE_PAGES_HUGETLB_2M;
	faulty_start(&spy.ops);
	faulty_errno(FAULTY_POPULATE, EFAULT);
	faulty_arm_from(1, FAULTY_POPULATE);
	assert_int_equal(quire_region_populate(region, 0, 2 * MIB, NULL),
			 -ENOMEM);
	faulty_errno(FAULTY_POPULATE, EINVAL);
	assert_int_equal(quire_region_populate(region, 0, 2 * MIB, NULL),
			 -EOPNOTSUPP);
	assert_int_equal(resident_pages(quire_region_address(region), 2 * MIB),
			 0);
	faulty_stop();
	close_it(region);
}

/* E5 */
static void open_under_a_limit(void *arg)
{
	struct rlimit limit = { 2 * GIB, 2 * GIB };
	struct quire_region *region = NULL;
	(void)arg;

	CHILD_ASSERT(!setrlimit(RLIMIT_AS, &limit));
	CHILD_ASSERT(quire_region_open(4 * GIB, NULL, &region) == -ENOMEM);
	CHILD_ASSERT(!region);
	CHILD_ASSERT(!quire_region_open(GIB, NULL, &region));
	CHILD_ASSERT(!quire_region_populate(region, 0, 64 * MIB, NULL));
	CHILD_ASSERT(!quire_region_close(region));
	area_check();
}

static void a_limit_of_address_space(void **state)
{
	(void)state;
	if (UNDER_SANITIZER) /* they reserve far more */
		skip();
	assert_int_equal(in_child(open_under_a_limit, NULL), 0);
}

/* E7 */
static void a_kernel_that_cannot_populate(void **state)
{
	struct quire_region *region = open_plain(64 * MIB);
	char *at = quire_region_address(region);
	struct quire_work work = { .size = sizeof(work) };
	uint64_t before = COUNTER_OF(region_touched);
	(void)state;

	at[3 * PAGE_SIZE] = 9;
	faulty_start(&spy.ops);
	faulty_errno(FAULTY_POPULATE, EINVAL);
	faulty_arm_from(1, FAULTY_POPULATE);
	assert_int_equal(quire_region_populate(region, 0, 64 * MIB, &work), 0);
	pool_stop(true);
	faulty_stop();
	assert_int_equal(work.bytes_done, 64 * MIB);
	assert_int_equal(resident_pages(at, 64 * MIB), 64 * MIB / PAGE_SIZE);
	assert_int_equal(at[3 * PAGE_SIZE], 9);
	assert_int_equal(COUNTER_OF(region_touched) - before, 64 * MIB);
	close_it(region);
}

/* The headroom: a control group of 1 GiB that is 700 MiB full */

static const char *fake_file(const char *path)
{
	static const char *const file[][2] = {
		{ "/proc/meminfo",
		  "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\n" },
		{ "/proc/self/cgroup", "0::/g\n" },
		{ "/proc/self/mountinfo",
		  "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n" },
		{ "/cg/g/memory.max", "1073741824\n" },
		{ "/cg/g/memory.current", "734003200\n" },
		{ "/cg/g/memory.stat",
		  "active_file 104857600\ninactive_file 104857600\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(file); i++)
		if (!strcmp(path, file[i][0]))
			return file[i][1];
	return NULL;
}

static long fake_read_file(const char *path, char *buf, size_t len)
{
	const char *text = fake_file(path);

	return text ? snprintf(buf, len, "%s", text) : -ENOENT;
}

static void the_headroom_is_kept(void **state)
{
	struct quire_region_options options = plain();
	struct quire_work work = { .size = sizeof(work) };
	uint64_t before = COUNTER_OF(region_no_room);
	struct quire_region *region;
	char *at;
	(void)state;

	spy.ops.read_file = fake_read_file;
	options.flags = 0;
	options.headroom_percent = 40; /* 500 used, 614 allowed: 114 left */
	region = open_with(300 * MIB, options);
	at = quire_region_address(region);
	work.workers = 1;
	assert_int_equal(quire_region_populate(region, 0, 120 * MIB, &work),
			 -ENOMEM);
	assert_int_equal(work.bytes_done, 0);
	assert_int_equal(resident_pages(at, 120 * MIB), 0);
	assert_int_equal(COUNTER_OF(region_no_room) - before, 1);
	assert_int_equal(quire_region_populate(region, 0, 60 * MIB, &work), 0);
	/* what is there already does not count */
	assert_int_equal(quire_region_populate(region, 0, 120 * MIB, &work), 0);
	assert_int_equal(
		quire_region_populate(region, 120 * MIB, 180 * MIB, &work),
		-ENOMEM);
	close_it(region);
	options.flags = QUIRE_REGION_NO_LIMIT;
	region = open_with(300 * MIB, options);
	assert_int_equal(quire_region_populate(region, 0, 120 * MIB, &work), 0);
	close_it(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes_are_exact),
		TEST(arguments_that_are_wrong),
		TEST(ranges_that_are_wrong),
		TEST(memory_comes_and_goes),
		TEST(nothing_happens_to_what_is_gone),
		TEST(parts_in_every_order),
		TEST(many_parts),
		TEST(left_out_of_core_dumps),
		TEST(fork_with_and_without),
		TEST(registered_with_the_kernel),
		TEST(a_numa_policy_that_is_refused),
		TEST(a_numa_policy_that_works),
		TEST(an_empty_pool_of_huge_pages),
		TEST(huge_pages_of_the_pool),
		TEST(a_pool_that_runs_out),
		TEST(a_limit_of_address_space),
		TEST(a_kernel_that_cannot_populate),
		TEST(the_headroom_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
