/* SPDX-License-Identifier: MIT */
/*
 * Restartable sections, interrupted at each of their instructions.
 *
 * Stepping does not do it: each step of a debugger is itself an interruption,
 * so the section would never get past its first instruction.  Instead a parent
 *
 *	1. steps a child through each section with an rseq area that the
 *	   kernel does not know, and notes the addresses;
 *	2. for each address starts a child with the real area, and a breakpoint
 *	   there.  The child runs to it, stops, is interrupted in one of several
 *	   ways and let go.
 *
 * The child then says what the operation returned and what became of the list:
 * interrupted and nothing, or done, once.  The first address behind a section
 * shows that the committing store is not undone.
 */
#include "region.h"

#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "os/cpu.h"
#include "percpu/percpu.h"

#if !PERCPU_HAVE_RSEQ

int main(void)
{
	return 77;
}

#else

#define ROOM	  64u
#define NR_PAGES  20u
#define NR_MOVED  5u /* by a batch */
#define STOPS_MAX 64

/* Descriptors of all sections in this program, by the linker. */
struct rseq_descriptor {
	uint32_t version, flags;
	uint64_t start, length, abort;
};
extern const struct rseq_descriptor *const __start___rseq_cs_ptr_array[];
extern const struct rseq_descriptor *const __stop___rseq_cs_ptr_array[];

static const uint32_t entries[] = { 0, ROOM };
static struct percpu percpu;
static uint32_t offset;

/* What a child did: shared with the parent. */
struct outcome {
	int64_t value;
	uint32_t nr; /* entries afterwards, oldest first */
	uint32_t pages[ROOM];
	uint32_t out[NR_MOVED];
	uint32_t nr_handled; /* by the signal handler */
	uint32_t cpu;
	uint64_t nr_aborted;
};
static struct outcome *outcome;

/* The operations.  Each stands alone, so that its section can be found. */

static const uint32_t in[NR_MOVED] = { 900, 901, 902, 903, 904 };

static __attribute__((noinline)) int64_t do_pop(uint32_t *out)
{
	(void)out;
	return slot_pop(&percpu, offset);
}

static __attribute__((noinline)) int64_t do_push(uint32_t *out)
{
	(void)out;
	return slot_push_once(&percpu, offset, in[0]);
}

static __attribute__((noinline)) int64_t do_pop_batch(uint32_t *out)
{
	return slot_pop_batch(&percpu, offset, out, NR_MOVED);
}

static __attribute__((noinline)) int64_t do_pop_oldest(uint32_t *out)
{
	return slot_pop_oldest(&percpu, offset, out, NR_MOVED);
}

static __attribute__((noinline)) int64_t do_push_batch(uint32_t *out)
{
	(void)out;
	return slot_push_batch(&percpu, offset, in, NR_MOVED);
}

static __attribute__((noinline)) int64_t do_move_down(uint32_t *out)
{
	(void)out;
	return slot_move_down(&percpu, offset);
}

struct operation {
	const char *name;
	int64_t (*run)(uint32_t *out);
	int64_t value; /* when it is done */
	int nr_change; /* of entries, at the newest end */
	int nr_oldest; /* entries that are gone at the oldest */
	bool has_out;
	bool out_oldest; /* out is of the oldest */
};

static const struct operation operations[] = {
	{ "pop", do_pop, NR_PAGES - 1, -1, 0, false, false },
	{ "push", do_push, 1, 1, 0, false, false },
	{ "pop_batch", do_pop_batch, NR_MOVED, -(int)NR_MOVED, 0, true, false },
	{ "pop_oldest", do_pop_oldest, NR_MOVED, 0, NR_MOVED, true, true },
	{ "push_batch", do_push_batch, NR_MOVED, NR_MOVED, 0, false, false },
	{ "move_down", do_move_down, 0, 0, 0, false, false },
};

/* The child */

/* Pages 0 … NR_PAGES - 1, high enough in the array to be moved down. */
static void fill_list(struct slot *slot)
{
	slot->ends.window = SLOT_WINDOW(NR_PAGES, NR_PAGES + ROOM);
	slot->ends.head = 2 * NR_PAGES;
	slot->limit = slot->open_limit = ROOM;
	for (uint32_t i = 0; i < slot->size; i++)
		slot->page[i] = i - NR_PAGES < NR_PAGES ? i - NR_PAGES : ~0u;
}

static void fill_lists(void)
{
	for (uint32_t cpu = 0; cpu < percpu.nr_cpus; cpu++)
		fill_list(percpu_slot(&percpu, cpu, offset));
}

static void say_list(uint32_t cpu)
{
	const struct slot *slot = percpu_slot(&percpu, cpu, offset);
	uint32_t tail = SLOT_TAIL(slot->ends.window);

	outcome->cpu = cpu;
	outcome->nr = slot_count(slot);
	for (uint32_t i = 0; i < outcome->nr; i++)
		outcome->pages[i] = slot->page[tail + i];
	outcome->nr_aborted = percpu.nr_aborted;
}

/* Uses the same list, in the middle of an operation on it. */
static void handler(int signal)
{
	int64_t page = percpu_pop(&percpu, offset);

	(void)signal;
	if (page >= 0 && percpu_push(&percpu, offset, (uint32_t)page))
		outcome->nr_handled++;
}

static __attribute__((noinline)) void announce(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
}

struct scenario {
	const struct operation *op;
	ptrdiff_t area; /* 0: the real one */
	bool whatever;	/* percpu_pop instead, which tries again */
};

static _Noreturn void child(const struct scenario *scenario)
{
	uint32_t cpu = (uint32_t)cpu_here();

	signal(SIGUSR1, handler);
	if (scenario->area)
		percpu_rseq_offset = scenario->area;
	memset(outcome, 0, sizeof(*outcome));
	announce();
	outcome->value = scenario->whatever ? percpu_pop(&percpu, offset)
					    : scenario->op->run(outcome->out);
	say_list(cpu);
	_exit(0);
}

/* The parent */

static pid_t start(const struct scenario *scenario)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		child(scenario);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static uint64_t where_is(pid_t pid)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	return regs.rip;
}

static void put_at(pid_t pid, uint64_t address)
{
	struct user_regs_struct regs;

	assert_int_equal(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	regs.rip = address;
	assert_int_equal(ptrace(PTRACE_SETREGS, pid, NULL, &regs), 0);
}

static void finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static const struct rseq_descriptor *section_at(uint64_t address)
{
	for (const struct rseq_descriptor *const *at =
		     __start___rseq_cs_ptr_array;
	     at < __stop___rseq_cs_ptr_array; at++)
		if ((*at)->start == address)
			return *at;
	return NULL;
}

static __thread struct {
	uint32_t start, cpu;
	uint64_t section;
} fake __attribute__((aligned(32)));

static void note(uint64_t address, uint64_t *stops, unsigned int *nr)
{
	for (unsigned int i = 0; i < *nr; i++)
		if (stops[i] == address)
			return;
	assert_true(*nr < STOPS_MAX);
	stops[(*nr)++] = address;
}

/* Addresses of the first section that a child goes through, and the one behind
 * it; each once. */
static unsigned int find_stops(struct scenario scenario, uint64_t *stops)
{
	const struct rseq_descriptor *section = NULL;
	unsigned int nr = 0;
	int status;
	pid_t pid;

	fake.cpu = (uint32_t)cpu_here();
	scenario.area = rseq_offset_of(&fake);
	pid = start(&scenario);
	do {
		uint64_t at = where_is(pid);

		if (!section)
			section = section_at(at);
		if (section && at - section->start <= section->length)
			note(at, stops, &nr);
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	} while (WIFSTOPPED(status));
	assert_non_null(section);
	assert_int_equal(stops[nr - 1], section->start + section->length);
	return nr;
}

/* How a child is interrupted where it stands: being stopped is enough. */
enum way { BY_STOP, BY_SIGNAL, BY_MOVE, NR_WAYS };

static void move_away(pid_t pid, uint32_t from)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		CPU_SET(cpu, &set);
	CPU_CLR(from, &set);
	assert_int_equal(sched_setaffinity(pid, sizeof(set), &set), 0);
}

/* False: it was interrupted by something else on the way, and ended. */
static bool run_to(pid_t pid, uint64_t address)
{
	long word, broken;
	int status;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)address, NULL);
	assert_int_equal(errno, 0);
	broken = (word & ~0xffl) | 0xcc; /* int3 */
	assert_int_equal(
		ptrace(PTRACE_POKETEXT, pid, (void *)address, (void *)broken),
		0);
	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status))
		return false;
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	assert_int_equal(where_is(pid), address + 1);
	assert_int_equal(
		ptrace(PTRACE_POKETEXT, pid, (void *)address, (void *)word), 0);
	put_at(pid, address);
	return true;
}

/* The two ends of the child's list, as it is now. */
static long ends_of(pid_t pid)
{
	struct slot *slot = percpu_here(&percpu, offset);

	return ptrace(PTRACE_PEEKDATA, pid, &slot->ends, NULL);
}

/* @done: the committing store has been executed there. */
static void interrupt_at(const struct scenario *scenario, uint64_t address,
			 enum way way, bool done)
{
	uint32_t cpu = (uint32_t)cpu_here();
	long before;
	pid_t pid;

	do {
		pid = start(scenario);
		before = ends_of(pid);
	} while (!run_to(pid, address));
	assert_int_equal(ends_of(pid) != before, done);
	if (way == BY_MOVE)
		move_away(pid, cpu);
	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL,
				(void *)(long)(way == BY_SIGNAL ? SIGUSR1 : 0)),
			 0);
	finish(pid);
	assert_int_equal(outcome->nr_handled, way == BY_SIGNAL);
}

static void expect_nothing(void)
{
	assert_int_equal(outcome->value, SLOT_ABORTED);
	assert_int_equal(outcome->nr, NR_PAGES);
	for (uint32_t i = 0; i < NR_PAGES; i++)
		assert_int_equal(outcome->pages[i], i);
}

static void expect_done(const struct operation *op)
{
	uint32_t nr = (uint32_t)((int)NR_PAGES + op->nr_change - op->nr_oldest);

	assert_int_equal(outcome->value, op->value);
	assert_int_equal(outcome->nr, nr);
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t page = i + (uint32_t)op->nr_oldest;

		if (page >= NR_PAGES)
			page = in[page - NR_PAGES];
		assert_int_equal(outcome->pages[i], page);
	}
	for (uint32_t i = 0; op->has_out && i < NR_MOVED; i++)
		assert_int_equal(outcome->out[i],
				 op->out_oldest ? i : NR_PAGES - 1 - i);
}

static void interrupt_everywhere(const struct operation *op, enum way way)
{
	struct scenario scenario = { op, 0, false };
	uint64_t stops[STOPS_MAX];
	unsigned int nr = find_stops(scenario, stops);

	assert_int_equal(outcome->value, op->value);
	for (unsigned int i = 0; i < nr; i++) {
		bool done = i == nr - 1;

		interrupt_at(&scenario, stops[i], way, done);
		if (done)
			expect_done(op);
		else
			expect_nothing();
	}
	print_message("%s: %u instructions\n", op->name, nr - 1);
}

static void every_instruction(enum way way)
{
	for (size_t i = 0; i < ARRAY_SIZE(operations); i++)
		interrupt_everywhere(&operations[i], way);
}

static void stopped_at_every_instruction(void **state)
{
	(void)state;
	every_instruction(BY_STOP);
}

static void signalled_at_every_instruction(void **state)
{
	(void)state;
	every_instruction(BY_SIGNAL);
}

static cpu_set_t all_cpus;

static void moved_at_every_instruction(void **state)
{
	(void)state;
	if (CPU_COUNT(&all_cpus) < 2)
		skip();
	every_instruction(BY_MOVE);
}

/* A debugger that steps through percpu_pop is not kept there for ever. */
static void stepping_comes_to_an_end(void **state)
{
	struct scenario scenario = { &operations[0], 0, true };
	pid_t pid = start(&scenario);
	unsigned int steps = 0;
	int status;

	(void)state;
	do {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(steps++ < 100000);
	} while (WIFSTOPPED(status));
	assert_true(WIFEXITED(status));
	assert_int_equal(outcome->value, -1);
	assert_int_equal(outcome->nr_aborted, 1);
	assert_int_equal(outcome->nr, NR_PAGES);
}

/* Interrupted once, it is done at the second try. */
static void a_second_try_is_made(void **state)
{
	struct scenario scenario = { &operations[0], 0, true };
	uint64_t stops[STOPS_MAX];
	unsigned int nr = find_stops(scenario, stops);

	(void)state;
	for (unsigned int i = 0; i < nr; i++) {
		interrupt_at(&scenario, stops[i], BY_STOP, i == nr - 1);
		assert_int_equal(outcome->value, NR_PAGES - 1);
		assert_int_equal(outcome->nr, NR_PAGES - 1);
		assert_int_equal(outcome->nr_aborted, 0);
	}
}

static bool may_trace(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return false;
	if (!WIFSTOPPED(status))
		return false;
	return !ptrace(PTRACE_CONT, pid, NULL, NULL) &&
	       waitpid(pid, &status, 0) == pid;
}

static bool stay_on_one_cpu(void)
{
	cpu_set_t one;

	if (sched_getaffinity(0, sizeof(all_cpus), &all_cpus))
		return false;
	CPU_ZERO(&one);
	CPU_SET(cpu_here(), &one);
	return !sched_setaffinity(0, sizeof(one), &one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stopped_at_every_instruction),
		cmocka_unit_test(signalled_at_every_instruction),
		cmocka_unit_test(moved_at_every_instruction),
		cmocka_unit_test(stepping_comes_to_an_end),
		cmocka_unit_test(a_second_try_is_made),
	};

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcome == MAP_FAILED || !stay_on_one_cpu() || !may_trace() ||
	    percpu_init(&percpu, ARRAY_SIZE(entries), entries, PERCPU_RSEQ))
		return 77;
	if (percpu.mode != PERCPU_RSEQ)
		return 77;
	offset = percpu.offset[1];
	fill_lists();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
