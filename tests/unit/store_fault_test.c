/* SPDX-License-Identifier: MIT */
/*
 * The system refuses: the n-th call, for each n until a run has no refusal; and
 * every call from the n-th on.  After each run nothing is broken, the sums
 * close and all memory is back, but for what munmap itself refused to take.
 */
#include "store_fixture.h"

#include "base/bits.h"
#include "os/faulty.h"

#define NR 12

static char *block[NR];
static uint64_t alive;

static void try_alloc(int i, size_t bytes, size_t align, bool zero)
{
	block[i] = store_alloc(&store, bytes, align, zero);
	if (!block[i])
		return;
	alive++;
	ASSERT((uintptr_t)block[i] % align == 0);
	ASSERT(store_usable(&store, block[i]) >= bytes);
	if (zero)
		ASSERT(!block[i][0] && !block[i][bytes - 1]);
	block[i][0] = (char)i;
	block[i][bytes - 1] = (char)i;
}

static void try_resize(int i, size_t bytes)
{
	size_t old = block[i] ? store_usable(&store, block[i]) : 0;
	char *at;

	if (!old)
		return;
	at = store_resize(&store, block[i], bytes);
	if (at) {
		block[i] = at;
		ASSERT(store_usable(&store, at) >= bytes);
		at[bytes - 1] = 1;
	} else {
		ASSERT(store_usable(&store, block[i]) == old);
	}
	ASSERT(block[i][0] == (char)i);
	block[i][0] = (char)i;
}

static void try_free(int i)
{
	if (!block[i])
		return;
	ASSERT(block[i][0] == (char)i);
	ASSERT(store_free(&store, block[i]) == 0);
	block[i] = NULL;
	alive--;
}

/* Every road through the store that calls the system. */
static void script(void)
{
	try_alloc(0, 3 * MIB, PAGE_SIZE, false);
	try_alloc(1, 200 * KIB, PAGE_SIZE, true);
	try_alloc(2, 5 * MIB, 4 * MIB, false);
	try_free(0);
	try_alloc(3, 4 * MIB, PAGE_SIZE, false); /* grown */
	store_check(&store);
	try_resize(3, 20 * MIB); /* moved */
	try_resize(1, 2 * MIB);
	try_resize(3, MIB);	/* cut */
	try_resize(3, 9 * MIB); /* in place */
	store_check(&store);
	if (block[2]) {
		store_note(&store, block[2] + MIB, MIB, NOTE_HOLE);
		ASSERT(mmap(block[2] + MIB, MIB, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			    0) == block[2] + MIB);
		char *hole = block[2] + MIB;
		try_free(2);
		ASSERT(*(volatile char *)hole == 0);
		ASSERT(!munmap(hole, MIB));
	}
	try_alloc(4, 150 * MIB, PAGE_SIZE, false);
	try_free(4); /* slices, when it goes */
	try_alloc(5, 40 * MIB, PAGE_SIZE, true);
	if (block[5])
		store_note(&store, block[5], MIB, NOTE_TAINT);
	try_resize(5, 100 * MIB); /* kept nothing of its state */
	try_free(5);
	store_check(&store);
	sim_advance_ms(20000);
	try_alloc(6, MIB, PAGE_SIZE, false);
	try_alloc(7, 100 * MIB, PAGE_SIZE, false);
	try_free(6); /* looks: decay */
	sim_advance_ms(200);
	try_free(7); /* and limits */
	try_alloc(8, 10 * MIB, PAGE_SIZE, false);
	try_free(8);
	store_trim(&store);
	store_check(&store);
}

static void limits(void)
{
	sim_file_set("/proc/meminfo", "MemTotal: 8388608 kB\n"
				      "MemAvailable: 6291456 kB\n");
	sim_file_set("/proc/self/cgroup", "0::/a\n");
	sim_file_set("/proc/self/mountinfo",
		     "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	sim_file_set("/sys/fs/cgroup/a/memory.max", "1000000000\n");
	sim_file_set("/sys/fs/cgroup/a/memory.current", "950000000\n");
	sim_file_set("/sys/fs/cgroup/a/memory.stat", "active_file 5\n");
}

/* Returns how many calls were refused. */
static unsigned int run(unsigned int n, bool for_ever, enum faulty_kind kind,
			struct store_options options)
{
	size_t before = anonymous_bytes();
	unsigned int hits;
	uint64_t stuck;
	int error;

	alive = 0;
	memset(block, 0, sizeof(block));
	if (for_ever)
		faulty_arm_from(n, kind);
	else
		faulty_arm(n, kind);
	error = store_open(&store, &options);
	if (!error)
		script();
	hits = faulty_hits();
	faulty_arm(0, FAULTY_ALL);
	if (error) {
		ASSERT(hits);
		ASSERT(UNDER_SANITIZER || anonymous_bytes() == before);
		return hits;
	}
	check_all(&store, alive);
	stuck = COUNT(&store, unmap_failed);
	store_close(&store);
	ASSERT(UNDER_SANITIZER || stuck || kind == FAULTY_UNMAP ||
	       kind == FAULTY_ALL || anonymous_bytes() == before);
	return hits;
}

static void each(enum faulty_kind kind, struct store_options options)
{
	unsigned int n = 1;

	while (run(n, false, kind, options))
		n++;
	ASSERT(n > 1 || kind == FAULTY_THREAD);
	n = 1;
	while (run(n, true, kind, options))
		n++;
}

/* Refusal of memory must leave no memory behind at all. */
static void every_kind(struct store_options options)
{
	static const enum faulty_kind kinds[] = {
		FAULTY_ALL,   FAULTY_MAP,  FAULTY_RESERVE,
		FAULTY_UNMAP, FAULTY_MOVE, FAULTY_READ_FILE,
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		each(kinds[i], options);
}

static int start(void **state)
{
	(void)state;
	anonymous_bytes();
	sim_start();
	limits();
	faulty_start(&os_sim);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	faulty_stop();
	sim_stop();
	return 0;
}

static void as_usual(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	every_kind(options);
	options.thp = THP_AUTO;
	every_kind(options);
	each(FAULTY_ADVISE, options);
}

static void nothing_kept(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	options.decay_ms = 0;
	each(FAULTY_ALL, options);
	each(FAULTY_UNMAP, options);
}

static void a_cap_and_shards(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	options.keep_bytes = 4 * MIB;
	options.nr_shards = 3;
	each(FAULTY_ALL, options);
}

/* E1, E7: other errors than the usual ones make no difference. */
static void as_in_a_container(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	options.thp = THP_AUTO;
	for (int kind = FAULTY_MAP; kind < FAULTY_NR_KINDS; kind++)
		faulty_errno(kind, EPERM);
	each(FAULTY_ALL, options);
}

/* With the thread that is refused, the program's own calls do its work. */
static void without_a_thread(void **state)
{
	struct store_options options = quiet_options();

	(void)state;
	options.thread_bytes = 0;
	run(1, true, FAULTY_THREAD, options);
}

/*
 * No descriptor for a cut: the block is handed out of fresh memory, or stays
 * as long as it was.  The chunk of descriptors is full here.
 */
static void no_descriptor(void **state)
{
	struct store_options options = quiet_options();
	static char *many[1100];
	int nr = 0;

	(void)state;
	assert_int_equal(store_open(&store, &options), 0);
	char *kept = alloc(MIB), *live = alloc(MIB);
	struct span *head = span_pool_get(&store.common.pool);
	span_pool_put(&store.common.pool, head);
	give(kept);
	/* use up what is carved; the next needs a new chunk */
	while (store.common.pool.nr_used < (64 * KIB - 64) / 64 ||
	       !list_empty(&store.common.pool.spare)) {
		many[nr] = (char *)span_pool_get(&store.common.pool);
		assert_non_null(many[nr++]);
	}
	faulty_arm_from(1, FAULTY_MAP);
	assert_ptr_equal(store_resize(&store, live, 128 * KIB), live);
	assert_int_equal(store_usable(&store, live), MIB);
	store_check(&store);
	assert_null(store_alloc(&store, 128 * KIB, PAGE_SIZE, false));
	faulty_arm(0, FAULTY_ALL);
	check_all(&store, 1);
	/* the failure gave back what was kept; all is well again after it */
	assert_ptr_equal(store_resize(&store, live, 128 * KIB), live);
	assert_int_equal(store_usable(&store, live), 128 * KIB);
	give(live);
	while (nr)
		span_pool_put(&store.common.pool, (struct span *)many[--nr]);
	check_all(&store, 0);
	store_close(&store);
}

/* Nor one for the record of a hole: then none of the block is unmapped. */
static void no_record_of_a_hole(void **state)
{
	struct store_options options = quiet_options();
	static struct span *many[1100];
	int nr = 0;

	(void)state;
	assert_int_equal(store_open(&store, &options), 0);
	char *live = alloc(MIB);
	while (store.common.pool.nr_used < (64 * KIB - 64) / 64)
		many[nr++] = span_pool_get(&store.common.pool);
	faulty_arm_from(1, FAULTY_MAP);
	store_note(&store, live + 256 * KIB, 64 * KIB, NOTE_HOLE);
	store_note(&store, live + 512 * KIB, 64 * KIB, NOTE_HOLE);
	faulty_arm(0, FAULTY_ALL);
	assert_true(COUNT(&store, span_holed) == 1);
	give(live);
	assert_true(is_mapped(live + 256 * KIB));
	munmap(live, MIB);
	check_all(&store, 0);
	store_close(&store);
	(void)many;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_usual),
		TEST(nothing_kept),
		TEST(a_cap_and_shards),
		TEST(as_in_a_container),
		TEST(without_a_thread),
		TEST(no_descriptor),
		TEST(no_record_of_a_hole),
	};

	if (UNDER_TSAN)
		return 77; /* one thread, and minutes */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
