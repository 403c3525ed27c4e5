/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU lists, one thread: the same body in each mode, against a model; and
 * what decides on the mode.
 */
#include "region.h"

#include <sched.h>
#include <sys/rseq.h>

#include "os/cpu.h"
#include "os/faulty.h"
#include "os/sim.h"
#include "os/topology.h"
#include "percpu/array.h"
#include "percpu/percpu.h"

#define ENTRIES 16u

static const enum percpu_mode modes[] = { PERCPU_RSEQ, PERCPU_LOCK,
					  PERCPU_MASK };
static const uint32_t entries[] = { 0, ENTRIES, 1, 1024 };
static struct percpu percpu;

/* False: this mode is not to be had here. */
static bool begin(enum percpu_mode mode)
{
	assert_int_equal(
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, mode), 0);
	if (percpu.mode == mode)
		return true;
	percpu_destroy(&percpu);
	return false;
}

static void end(void)
{
	percpu_check(&percpu);
	percpu_destroy(&percpu);
}

static void for_each_mode(void (*body)(void))
{
	unsigned int ran = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!begin(modes[i]))
			continue;
		body();
		end();
		ran++;
	}
	assert_true(ran || CONFIG_UP);
}

static cpu_set_t all_cpus;

static int stay_here(void **state)
{
	cpu_set_t one;

	(void)state;
	if (sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		return -1;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/* A list as an array, newest last. */
static uint32_t model[ENTRIES];
static uint32_t nr_model, limit_model;

static void model_push(uint32_t offset, uint32_t nr, uint32_t *next)
{
	uint32_t in[2 * ENTRIES], room = 0, got;

	if (limit_model > nr_model)
		room = limit_model - nr_model;
	for (uint32_t i = 0; i < nr; i++)
		in[i] = *next + i;
	if (nr == 1)
		got = percpu_push(&percpu, offset, *in);
	else
		got = percpu_push_batch(&percpu, offset, in, nr);
	assert_int_equal(got, nr < room ? nr : room);
	memcpy(model + nr_model, in, got * sizeof(*in));
	nr_model += got;
	*next += got;
}

static void model_pop(uint32_t offset, uint32_t nr)
{
	uint32_t out[2 * ENTRIES], want = nr < nr_model ? nr : nr_model;

	assert_int_equal(percpu_pop_batch(&percpu, offset, out, nr), want);
	for (uint32_t i = 0; i < want; i++)
		assert_int_equal(out[i], model[--nr_model]);
}

static void model_pop_one(uint32_t offset)
{
	int64_t got = percpu_pop(&percpu, offset);

	assert_int_equal(got, nr_model ? (int64_t)model[--nr_model] : -1);
}

static void model_pop_oldest(uint32_t offset, uint32_t nr)
{
	uint32_t out[2 * ENTRIES], want = nr < nr_model ? nr : nr_model;

	assert_int_equal(percpu_pop_oldest(&percpu, offset, out, nr), want);
	for (uint32_t i = 0; i < want; i++)
		assert_int_equal(out[i], model[i]);
	nr_model -= want;
	memmove(model, model + want, nr_model * sizeof(*model));
}

static void one_random_step(uint32_t offset, uint64_t *random, uint32_t *next)
{
	uint32_t nr = (uint32_t)random_below(random, ENTRIES + 3);

	switch (random_below(random, 7)) {
	case 0:
	case 1:
		model_push(offset, 1, next);
		break;
	case 2:
		model_push(offset, nr, next);
		break;
	case 3:
	case 4:
		model_pop_one(offset);
		break;
	case 5:
		model_pop(offset, nr);
		break;
	default:
		model_pop_oldest(offset, nr);
	}
}

static void random_operations(void)
{
	uint32_t offset = percpu.offset[1], next = 0;
	struct slot *slot = percpu_here(&percpu, offset);
	uint64_t random = 42;

	nr_model = 0;
	limit_model = 1;
	for (int i = 0; i < 100000; i++) {
		if (random_below(&random, 50) == 0) {
			limit_model =
				1 + (uint32_t)random_below(&random, ENTRIES);
			percpu_set_limit(slot, limit_model);
		}
		one_random_step(offset, &random, &next);
		assert_int_equal(slot_count(slot), nr_model);
		percpu_check(&percpu);
	}
}

static void operations_match_a_model(void **state)
{
	(void)state;
	for_each_mode(random_operations);
}

static uint32_t here(void)
{
	return (uint32_t)cpu_here();
}

/* Nothing can be put into or taken from a list of @offset. */
static void nothing_works(uint32_t offset)
{
	uint32_t pages[4] = { 1, 2, 3, 4 };

	assert_true(slot_pop(&percpu, offset) < 0);
	assert_false(slot_push(&percpu, offset, 1));
	assert_true(slot_pop_batch(&percpu, offset, pages, 4) < 0);
	assert_true(slot_pop_oldest(&percpu, offset, pages, 4) < 0);
	assert_true(slot_push_batch(&percpu, offset, pages, 4) < 0);
	assert_true(slot_move_down(&percpu, offset) < 0);
	assert_int_equal(percpu_pop(&percpu, offset), -1);
	assert_false(percpu_push(&percpu, offset, 1));
	assert_int_equal(percpu_pop_batch(&percpu, offset, pages, 4), 0);
	assert_int_equal(percpu_pop_oldest(&percpu, offset, pages, 4), 0);
	assert_int_equal(percpu_push_batch(&percpu, offset, pages, 4), 0);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(pages[i], i + 1);
}

static void list_0(void)
{
	uint32_t offset = percpu.offset[PERCPU_CLOSED_LIST];

	nothing_works(offset);
	assert_int_equal(percpu_close(&percpu, here()), 0);
	nothing_works(offset);
	percpu_open(&percpu, here());
	nothing_works(offset);
}

static void list_0_is_never_open(void **state)
{
	(void)state;
	for_each_mode(list_0);
}

static void fill(uint32_t offset, uint32_t nr)
{
	percpu_set_limit(percpu_here(&percpu, offset), ENTRIES);
	for (uint32_t i = 0; i < nr; i++)
		assert_true(percpu_push(&percpu, offset, 100 + i));
}

static void expect_closed(uint32_t offset)
{
	struct slot *slot = percpu_here(&percpu, offset);
	uint32_t out[8];

	nothing_works(offset);
	nothing_works(percpu.offset[2]);
	assert_int_equal(slot_count(slot), 10);
	assert_int_equal(slot_take_closed(slot, out, 4), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(out[i], 100 + i);
	nothing_works(offset);
	assert_int_equal(slot_count(slot), 6);
	percpu_set_limit(slot, 7);
	nothing_works(offset);
	percpu_check(&percpu);
}

static void close_and_open(void)
{
	uint32_t offset = percpu.offset[1];
	struct slot *slot = percpu_here(&percpu, offset);

	fill(offset, 10);
	assert_int_equal(percpu_close(&percpu, here()), 0);
	expect_closed(offset);
	percpu_open(&percpu, here());
	assert_int_equal(slot->limit, 7);
	assert_true(percpu_push(&percpu, offset, 200));
	assert_false(percpu_push(&percpu, offset, 201));
	assert_int_equal(percpu_pop(&percpu, offset), 200);
	assert_int_equal(percpu_pop(&percpu, offset), 109);
	assert_int_equal(slot_oldest(slot), 104);
	assert_true(percpu_push(&percpu, percpu.offset[2], 1));
}

static void a_closed_list_is_its_closers(void **state)
{
	(void)state;
	for_each_mode(close_and_open);
}

static void close_all(void)
{
	uint32_t offset = percpu.offset[1];

	fill(offset, 10);
	assert_int_equal(percpu_close_all(&percpu), 0);
	for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
		assert_int_equal(percpu_slot(&percpu, cpu, offset)->limit, 0);
	expect_closed(offset);
	for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
		percpu_open(&percpu, cpu);
	assert_int_equal(percpu_pop(&percpu, offset), 109);
	assert_int_equal(percpu.nr_remote,
			 (percpu.nr_cpus - 1) * (ARRAY_SIZE(entries) - 1));
}

static void all_close_at_once(void **state)
{
	(void)state;
	for_each_mode(close_all);
}

/* A lower limit takes nothing away; a higher one counts at once. */
static void change_limit(void)
{
	uint32_t offset = percpu.offset[1];
	struct slot *slot = percpu_here(&percpu, offset);

	assert_true(percpu_push(&percpu, offset, 99)); /* the first limit: 1 */
	assert_false(percpu_push(&percpu, offset, 98));
	assert_int_equal(percpu_pop(&percpu, offset), 99);
	fill(offset, 10);
	percpu_set_limit(slot, 3);
	assert_false(percpu_push(&percpu, offset, 1));
	for (uint32_t i = 10; i-- > 3;)
		assert_int_equal(percpu_pop(&percpu, offset), 100 + i);
	assert_false(percpu_push(&percpu, offset, 1));
	percpu_set_limit(slot, 4);
	assert_true(percpu_push(&percpu, offset, 1));
	assert_false(percpu_push(&percpu, offset, 1));
}

static void limits_hold(void **state)
{
	(void)state;
	for_each_mode(change_limit);
}

/* Full lists at the end of their arrays, with any number of entries. */
static void at_the_end(void)
{
	uint32_t offset = percpu.offset[1], out[ENTRIES], next = 0;

	fill(offset, 0);
	for (uint32_t nr = 1; nr <= ENTRIES; nr++) {
		for (uint32_t round = 0; round < 5 * ENTRIES; round++) {
			for (uint32_t i = 0; i < nr; i++)
				assert_true(
					percpu_push(&percpu, offset, next + i));
			assert_int_equal(
				percpu_pop_oldest(&percpu, offset, out, nr),
				nr);
			for (uint32_t i = 0; i < nr; i++)
				assert_int_equal(out[i], next + i);
			next += nr;
		}
	}
}

static void the_end_of_the_array_is_no_limit(void **state)
{
	(void)state;
	for_each_mode(at_the_end);
}

/*
 * An old top (percpu_set_limit) or too many interruptions can make a push fail
 * where there is no room below tail for all: then nothing is moved, since a
 * move on top of itself could not be begun anew.
 */
static void stale_top(void)
{
	uint32_t offset = percpu.offset[1], out[3];
	struct slot *slot = percpu_here(&percpu, offset);

	fill(offset, 13);
	assert_int_equal(percpu_pop_oldest(&percpu, offset, out, 3), 3);
	slot->ends.window = SLOT_WINDOW(3, 13);
	assert_true(slot_move_down(&percpu, offset) < 0);
	assert_false(percpu_push(&percpu, offset, 1));
	assert_int_equal(slot_oldest(slot), 103);
	assert_int_equal(SLOT_TAIL(slot->ends.window), 3);
	percpu_set_limit(slot, ENTRIES);
	assert_true(percpu_push(&percpu, offset, 1));
}

static void nothing_moves_onto_itself(void **state)
{
	(void)state;
	for_each_mode(stale_top);
}

static void two_instances_are_apart(void **state)
{
	struct percpu other;

	(void)state;
	if (!begin(PERCPU_RSEQ) && !begin(PERCPU_LOCK))
		skip();
	assert_int_equal(
		percpu_init(&other, ARRAY_SIZE(entries), entries, PERCPU_LOCK),
		0);
	assert_true(percpu_push(&percpu, percpu.offset[1], 1));
	assert_int_equal(percpu_pop(&other, other.offset[1]), -1);
	assert_true(percpu_push(&other, other.offset[1], 2));
	assert_int_equal(percpu_pop(&percpu, percpu.offset[1]), 1);
	percpu_destroy(&other);
	end();
}

/* Sections want the mode, not just a CPU. */
static void sections_fail_under_a_lock(void **state)
{
	(void)state;
	if (!begin(PERCPU_LOCK))
		skip();
	fill(percpu.offset[1], 3);
	assert_int_equal(slot_pop(&percpu, percpu.offset[1]), SLOT_NONE);
	assert_false(slot_push(&percpu, percpu.offset[1], 1));
	assert_int_equal(slot_count(percpu_here(&percpu, percpu.offset[1])), 3);
	end();
}

static void a_taken_lock_is_passed_by(void **state)
{
	struct percpu_lock *lock;

	(void)state;
	if (!begin(PERCPU_LOCK))
		skip();
	fill(percpu.offset[1], 3);
	lock = lock_of(&percpu, here());
	lock->word = 1;
	assert_int_equal(percpu_pop(&percpu, percpu.offset[1]), -1);
	assert_false(percpu_push(&percpu, percpu.offset[1], 1));
	assert_int_equal(percpu.nr_bypass, 2);
	lock->word = 0;
	assert_int_equal(percpu_pop(&percpu, percpu.offset[1]), 102);
	end();
}

static void the_mask_is_given_back(void **state)
{
	sigset_t before, after;

	(void)state;
	if (!begin(PERCPU_MASK))
		skip();
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &before), 0);
	assert_true(percpu_push(&percpu, percpu.offset[1], 1));
	nothing_works(percpu.offset[0]);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &after), 0);
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i),
				 sigismember(&after, i));
	end();
}

/* Numbers of CPUs that are none */

#if PERCPU_HAVE_RSEQ

static __thread struct {
	uint32_t start, cpu;
	uint64_t section;
} fake __attribute__((aligned(32)));

static void odd_cpu(uint32_t cpu, bool is_one)
{
	uint32_t offset = percpu.offset[1];

	fake.cpu = cpu;
	if (!is_one) {
		nothing_works(offset);
		return;
	}
	assert_true(slot_push(&percpu, offset, 7));
	assert_int_equal(slot_count(percpu_slot(&percpu, cpu, offset)), 1);
	assert_int_equal(slot_pop(&percpu, offset), 7);
}

static void ids_are_compared_unsigned(void **state)
{
	ptrdiff_t real;

	(void)state;
	if (!begin(PERCPU_RSEQ))
		skip();
	real = percpu_rseq_offset;
	percpu_rseq_offset = rseq_offset_of(&fake);
	for (uint32_t cpu = 0; cpu < OS_IDS_MAX; cpu++)
		odd_cpu(cpu, cpu < percpu.nr_cpus);
	odd_cpu(UINT32_MAX, false);	/* no area: RSEQ_CPU_ID_UNINITIALIZED */
	odd_cpu(UINT32_MAX - 1, false); /* RSEQ_CPU_ID_REGISTRATION_FAILED */
	percpu_rseq_offset = real;
	end();
}

/* P11 */
static void the_kernels_fields_stay(void **state)
{
	const volatile struct rseq *area;
	struct rseq before;
	char *self;

	(void)state;
	if (!begin(PERCPU_RSEQ))
		skip();
	__asm__("movq %%fs:0, %0" : "=r"(self));
	area = (const volatile void *)(self + percpu_rseq_offset);
	before = *area;
	random_operations();
	assert_int_equal(area->cpu_id_start, before.cpu_id_start);
	assert_int_equal(area->cpu_id, before.cpu_id);
	assert_int_equal(area->flags, before.flags);
	end();
}

#endif

static void a_cpu_above_all_is_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!begin(modes[i]))
			continue;
		percpu.nr_cpus = percpu.rseq_end = 0;
		assert_null(percpu_here(&percpu, percpu.offset[1]));
		nothing_works(percpu.offset[1]);
		percpu.nr_cpus = cpu_end();
		end();
	}
}

/* P9 */
static void the_last_cpu_alone(void **state)
{
	cpu_set_t one;
	int last = CPU_SETSIZE;

	(void)state;
	while (!CPU_ISSET(--last, &all_cpus))
		;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for_each_mode(random_operations);
}

/* What the mode is made of */

static void expect_fallback(void)
{
	assert_int_equal(percpu.mode, CONFIG_UP ? PERCPU_OFF : PERCPU_LOCK);
	assert_int_equal(percpu.mode_fell_back, !CONFIG_UP);
	assert_int_equal(percpu.rseq_end, 0);
	if (CONFIG_UP)
		return;
	nothing_works(percpu.offset[0]);
	random_operations();
}

static void init_with_fault(enum faulty_kind kind)
{
	faulty_start(&os_kernel);
	faulty_arm_from(1, kind);
	assert_int_equal(
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, PERCPU_RSEQ),
		0);
	expect_fallback();
	faulty_stop();
	end();
}

/* P10, P15 */
static void a_refusal_leads_to_the_lock(void **state)
{
	(void)state;
	init_with_fault(FAULTY_RSEQ);
	init_with_fault(FAULTY_RESTART_REGISTER);
}

static void off_is_off(void **state)
{
	(void)state;
	assert_int_equal(
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, PERCPU_OFF),
		0);
	assert_false(percpu.mode_fell_back);
	nothing_works(percpu.offset[1]);
	assert_null(percpu_here(&percpu, percpu.offset[1]));
	assert_int_equal(percpu_close_all(&percpu), 0);
	end();
}

static void no_memory_is_said(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	faulty_start(&os_kernel);
	faulty_arm(1, FAULTY_MAP);
	assert_int_equal(
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, PERCPU_RSEQ),
		-ENOMEM);
	faulty_stop();
	percpu_destroy(&percpu);
}

/* A membarrier that is refused after it was promised. */
static void closing_may_fail(void **state)
{
	uint32_t offset;

	(void)state;
	if (!begin(PERCPU_RSEQ))
		skip();
	offset = percpu.offset[1];
	fill(offset, 10);
	faulty_start(&os_kernel);
	for (unsigned int n = 1; n <= 2; n++) {
		faulty_arm_from(n, FAULTY_RESTART);
		assert_int_equal(percpu_close(&percpu, here()),
				 n == 1 ? -EAGAIN : 0);
		percpu_open(&percpu, here());
		faulty_arm_from(n, FAULTY_RESTART);
		assert_int_equal(percpu_close_all(&percpu),
				 n == 1 ? -EAGAIN : 0);
		for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
			percpu_open(&percpu, cpu);
		percpu_check(&percpu);
		assert_true(percpu_push(&percpu, offset, n));
		assert_int_equal(percpu_pop(&percpu, offset), n);
	}
	faulty_stop();
	assert_int_equal(slot_count(percpu_here(&percpu, offset)), 10);
	end();
}

/* P9: ids with holes, and no list of them */
static void possible_cpus_count(void **state)
{
	(void)state;
	if (CONFIG_UP)
		skip();
	sim_start();
	sim_file_set("/sys/devices/system/cpu/possible", "0-1,255\n");
	sim_file_set("/sys/devices/system/cpu/online", "0-1\n");
	assert_true(begin(PERCPU_LOCK));
	assert_int_equal(percpu.nr_cpus, 256);
	random_operations();
	end();
	sim_files_clear();
	assert_true(begin(PERCPU_LOCK));
	assert_true(percpu.nr_cpus > here());
	random_operations();
	end();
	sim_stop();
}

static void child_uses_lists(void *arg)
{
	uint32_t offset = percpu.offset[1];

	(void)arg;
	percpu_fork_child(&percpu);
	ASSERT(percpu_pop(&percpu, offset) == 102);
	ASSERT(percpu_push(&percpu, offset, 5));
	ASSERT(!percpu_close(&percpu, here()));
	ASSERT(percpu_pop(&percpu, offset) == -1);
	percpu_open(&percpu, here());
	ASSERT(percpu_pop(&percpu, offset) == 5);
	percpu_check(&percpu);
}

static void fork_in_a_mode(void)
{
	fill(percpu.offset[1], 3);
	for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
		lock_of(&percpu, cpu)->word = 2; /* some other thread */
	assert_false(panics(child_uses_lists, NULL));
	for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
		lock_of(&percpu, cpu)->word = 0;
	assert_int_equal(percpu_pop(&percpu, percpu.offset[1]), 102);
}

static void a_child_has_its_own(void **state)
{
	(void)state;
	for_each_mode(fork_in_a_mode);
}

static void child_is_refused(void *arg)
{
	(void)arg;
	faulty_start(&os_kernel);
	faulty_arm_from(1, FAULTY_RESTART_REGISTER);
	percpu_fork_child(&percpu);
	ASSERT(percpu.mode == PERCPU_LOCK && percpu.mode_fell_back);
	ASSERT(slot_pop(&percpu, percpu.offset[1]) == SLOT_NONE);
	ASSERT(percpu_pop(&percpu, percpu.offset[1]) == 102);
}

static void a_child_may_fall_back(void **state)
{
	(void)state;
	if (!begin(PERCPU_RSEQ))
		skip();
	fill(percpu.offset[1], 3);
	assert_false(panics(child_is_refused, NULL));
	end();
}

static void break_one(void *arg)
{
	struct slot *slot = percpu_here(&percpu, percpu.offset[1]);

	switch (*(int *)arg) {
	case 0:
		slot->ends.head = slot->size + 1;
		break;
	case 1:
		slot->ends.window = SLOT_WINDOW(1, 2);
		break;
	case 2:
		slot->ends.head = slot_room(slot) + 1;
		break;
	case 3:
		slot->limit = slot_room(slot) + 1;
		break;
	default:
		slot->ends.window = SLOT_WINDOW(0, slot->size + 1);
	}
	percpu_check(&percpu);
}

static void check_finds_what_is_broken(void **state)
{
	(void)state;
	if (!begin(PERCPU_LOCK))
		skip();
	for (int i = 0; i < 5; i++)
		assert_true(panics(break_one, &i));
	end();
}

/* P10: as the C library has it, in a process of its own */

static int without_rseq(void)
{
	uint32_t offset;

	if (percpu_init(&percpu, ARRAY_SIZE(entries), entries, PERCPU_RSEQ))
		return 2;
	if (percpu.mode == PERCPU_RSEQ || !percpu.mode_fell_back)
		return 3;
	offset = percpu.offset[1];
	/* These store into an area that must not be the C library's. */
	for (int i = 0; i < 1000; i++)
		if (slot_push(&percpu, offset, 1) || slot_pop(&percpu, 64) >= 0)
			return 4;
	if (!percpu_push(&percpu, offset, 1))
		return 5;
	return percpu_pop(&percpu, offset) != 1;
}

static void no_rseq_by_tunable(void **state)
{
	int status;
	pid_t child;

	(void)state;
	if (CONFIG_UP)
		skip();
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
		execl("/proc/self/exe", "percpu", "without-rseq", NULL);
		_exit(9);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_match_a_model),
		cmocka_unit_test(list_0_is_never_open),
		cmocka_unit_test(a_closed_list_is_its_closers),
		cmocka_unit_test(all_close_at_once),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(the_end_of_the_array_is_no_limit),
		cmocka_unit_test(nothing_moves_onto_itself),
		cmocka_unit_test(two_instances_are_apart),
		cmocka_unit_test(sections_fail_under_a_lock),
		cmocka_unit_test(a_taken_lock_is_passed_by),
		cmocka_unit_test(the_mask_is_given_back),
#if PERCPU_HAVE_RSEQ
		cmocka_unit_test(ids_are_compared_unsigned),
		cmocka_unit_test(the_kernels_fields_stay),
#endif
		cmocka_unit_test(a_cpu_above_all_is_none),
		cmocka_unit_test(the_last_cpu_alone),
		cmocka_unit_test(a_refusal_leads_to_the_lock),
		cmocka_unit_test(off_is_off),
		cmocka_unit_test(no_memory_is_said),
		cmocka_unit_test(closing_may_fail),
		cmocka_unit_test(possible_cpus_count),
		cmocka_unit_test(a_child_has_its_own),
		cmocka_unit_test(a_child_may_fall_back),
		cmocka_unit_test(check_finds_what_is_broken),
		cmocka_unit_test(no_rseq_by_tunable),
	};

	if (argc > 1 && !strcmp(argv[1], "without-rseq"))
		return without_rseq();
	return cmocka_run_group_tests(tests, stay_here, NULL);
}
