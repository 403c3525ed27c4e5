/* SPDX-License-Identifier: MIT */
/*
 * Touch page after page: the child of `quire bench page_fault1`.
 *
 *	quire bench .touch BODY t|p TASKS SECONDS SAMPLES
 *
 * A body gets 128 MiB, writes one byte to each page of it and gives it back,
 * for ever; one more page is one more in the task's counter.  Tasks are
 * threads of this process or processes of their own, one to a CPU in the order
 * of their numbers, and start together.  Every SECONDS the counters are read.
 * The first six samples are dropped, the result is the sum of the others'
 * totals divided by their number, as a whole number: what will-it-scale does,
 * there with one second.
 *
 * `span` and `span-zeroed` are the calls of any program; that the preload
 * library serves them is the parent's care.  `span` gets memory as it was left.
 * `span-zeroed` gets zeros as `kernel` does, and every byte that is about to be
 * written is looked at: a task that finds anything else ends the run.  It asks
 * for its 128 MiB in 8 blocks, because the library clears kept memory up to 32
 * MiB a block and gets fresh memory above.
 *
 * `pages…` allocate 32768 single pages from a zone, touch each and free all:
 * see bench_pages.c.  Like `span` they get memory as it was left.  Their answer
 * has the takes, contended takes and hold cycles of the locks of the free lists
 * too, for each page.
 */
#include "bench.h"
#include "bench_memory.h"
#include "bench_pages.h"
#include "cli.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum {
	TOUCH_BYTES = 128 << 20,
	ZEROED_BLOCKS = 8,
	WARM_SAMPLES = 6,
	TASKS_MAX = 64,
	COUNTER_STEP = 256, /* bytes from one counter to the next */
	TASK_PAGES = TOUCH_BYTES / MEMORY_PAGE,
};

struct task {
	_Alignas(COUNTER_STEP) atomic_ulong pages; /* the task writes */
	atomic_int bad;				   /* errno; the task writes */
	int nr;					   /* const after start */
	/* the task's own */
	void **page; /* TASK_PAGES */
	/* when it has ended; of its own zone, or in task 0 of that of all */
	struct pages_locks locks;
};

/* In memory that forked tasks share. */
struct touch {
	struct task task[TASKS_MAX];
	/* const after start */
	int (*body)(struct task *t);
	const char *zone; /* the name of a body that has one; NULL */
	unsigned int nr;
	bool processes;
	/* the owner writes */
	atomic_int go, stop;
	atomic_uint ready; /* tasks that wait for go */
	pthread_t thread[TASKS_MAX];
	pid_t pid[TASKS_MAX];
};

static struct touch *touch;

static void one_more(struct task *t)
{
	/* nobody else writes it */
	atomic_store_explicit(
		&t->pages,
		atomic_load_explicit(&t->pages, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static void touch_pages(struct task *t, char *p, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes; i += MEMORY_PAGE) {
		((volatile char *)p)[i] = 1;
		one_more(t);
	}
}

static int map_and_touch(struct task *t, enum bench_pages pages)
{
	char *p = memory_map(TOUCH_BYTES, pages);

	if (!p)
		return ENOMEM;
	touch_pages(t, p, TOUCH_BYTES);
	return munmap(p, TOUCH_BYTES) ? errno : 0;
}

static int body_kernel(struct task *t)
{
	return map_and_touch(t, BENCH_4K);
}

static int body_kernel_thp(struct task *t)
{
	return map_and_touch(t, BENCH_THP);
}

/* The compiler must not see that nobody reads what is allocated. */
static char *hidden(char *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static int body_span(struct task *t)
{
	char *p = hidden(malloc(TOUCH_BYTES));

	if (!p)
		return ENOMEM;
	touch_pages(t, p, TOUCH_BYTES);
	free(p);
	return 0;
}

static int touch_zeros(struct task *t, char *p, size_t bytes)
{
	int seen = 0;
	size_t i;

	for (i = 0; i < bytes; i += MEMORY_PAGE) {
		seen |= ((volatile char *)p)[i];
		((volatile char *)p)[i] = 1;
		one_more(t);
	}
	return seen ? EBADMSG : 0;
}

static int body_span_zeroed(struct task *t)
{
	char *p[ZEROED_BLOCKS];
	int i, error = 0;

	for (i = 0; i < ZEROED_BLOCKS; i++) {
		p[i] = hidden(calloc(1, TOUCH_BYTES / ZEROED_BLOCKS));
		if (!p[i])
			error = ENOMEM;
		else if (touch_zeros(t, p[i], TOUCH_BYTES / ZEROED_BLOCKS))
			error = EBADMSG;
	}
	while (i-- > 0)
		free(p[i]);
	return error;
}

static int body_pages(struct task *t)
{
	int error = pages_take(t->page, TASK_PAGES), i;

	if (error)
		return error;
	for (i = 0; i < TASK_PAGES; i++)
		touch_pages(t, t->page[i], MEMORY_PAGE);
	return pages_give(t->page, TASK_PAGES);
}

static const struct {
	const char *name;
	int (*body)(struct task *t);
} bodies[] = {
	{ "kernel", body_kernel },
	{ "kernel-thp", body_kernel_thp },
	{ "span", body_span },
	{ "span-zeroed", body_span_zeroed },
};

/* The nr-th CPU of those that we may use; more tasks than CPUs go around. */
static void bind_to(int nr)
{
	cpu_set_t set, one;
	int cpu;

	if (sched_getaffinity(0, sizeof(set), &set) || !CPU_COUNT(&set))
		return;
	nr %= CPU_COUNT(&set);
	for (cpu = 0; !CPU_ISSET(cpu, &set) || nr-- > 0; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* A process has a zone of its own; threads have one together. */
static int open_own_zone(struct task *t)
{
	if (!touch->zone)
		return 0;
	t->page = xcalloc(TASK_PAGES, sizeof(*t->page));
	return touch->processes ? pages_open(touch->zone, 1, TASK_PAGES) : 0;
}

static int close_own_zone(struct task *t, int error)
{
	int late = 0;

	if (touch->zone)
		free(t->page);
	if (touch->zone && touch->processes && !error) {
		pages_locks(&t->locks);
		late = pages_close();
	}
	return error ? error : late;
}

static void *run_task(void *arg)
{
	struct timespec nap = { .tv_nsec = 100000 };
	struct task *t = arg;
	int error;

	bind_to(t->nr);
	error = open_own_zone(t);
	atomic_fetch_add(&touch->ready, 1);
	while (!atomic_load(&touch->go) && !atomic_load(&touch->stop))
		nanosleep(&nap, NULL);
	while (!atomic_load(&touch->stop) && !error)
		error = touch->body(t);
	error = close_own_zone(t, error);
	atomic_store(&t->bad, error);
	return NULL;
}

static int start_task(unsigned int i)
{
	touch->task[i].nr = (int)i;
	if (!touch->processes)
		return pthread_create(&touch->thread[i], NULL, run_task,
				      &touch->task[i]);
	touch->pid[i] = fork();
	if (touch->pid[i] == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_task(&touch->task[i]);
		_exit(0);
	}
	return touch->pid[i] < 0 ? errno : 0;
}

static int end_tasks(unsigned int started)
{
	unsigned int i;
	int error = 0, status;

	atomic_store(&touch->stop, 1);
	for (i = 0; i < started; i++) {
		status = 0;
		if (touch->processes)
			waitpid(touch->pid[i], &status, 0);
		else
			pthread_join(touch->thread[i], NULL);
		if (WIFSIGNALED(status))
			error = ENOMEM; /* why else would it be? */
		if (atomic_load(&touch->task[i].bad))
			error = atomic_load(&touch->task[i].bad);
	}
	return error;
}

struct sums {
	uint64_t total;	    /* of all samples that count, pages a second */
	double least, most; /* of any task in any of them */
};

/* One sample: what each task did since the last, in a second. */
static void take_sample(unsigned long *before, uint64_t *at_ns, bool counts,
			struct sums *s)
{
	uint64_t now = bench_now_ns();
	double seconds = (double)(now - *at_ns) * 1e-9, rate, total = 0;
	unsigned long pages;
	unsigned int i;

	for (i = 0; i < touch->nr; i++) {
		pages = atomic_load(&touch->task[i].pages);
		rate = (double)(pages - before[i]) / seconds;
		before[i] = pages;
		total += rate;
		if (counts && (rate < s->least || s->most == 0))
			s->least = rate;
		if (counts && rate > s->most)
			s->most = rate;
	}
	*at_ns = now;
	if (counts)
		s->total += (uint64_t)total;
}

static void take_samples(double seconds, uint64_t nr, struct sums *s)
{
	struct timespec nap = { .tv_sec = (time_t)seconds };
	unsigned long before[TASKS_MAX] = { 0 };
	uint64_t at = bench_now_ns(), i;

	nap.tv_nsec = (long)((seconds - (double)nap.tv_sec) * 1e9);
	*s = (struct sums){ 0 };
	atomic_store(&touch->go, 1);
	for (i = 0; i < WARM_SAMPLES + nr; i++) {
		nanosleep(&nap, NULL);
		take_sample(before, &at, i >= WARM_SAMPLES, s);
	}
}

static void answer_locks(void)
{
	double takes = 0, contended = 0, hold = 0, pages = 0;
	unsigned int i;

	for (i = 0; i < touch->nr; i++) {
		takes += (double)touch->task[i].locks.takes;
		contended += (double)touch->task[i].locks.contended;
		hold += (double)touch->task[i].locks.hold_cycles;
		pages += (double)atomic_load(&touch->task[i].pages);
	}
	bench_answer("zone_takes", takes / pages);
	bench_answer("zone_contended", contended / pages);
	bench_answer("zone_hold", hold / pages);
}

static int open_common_zone(void)
{
	return touch->zone && !touch->processes
		       ? pages_open(touch->zone, touch->nr, TASK_PAGES)
		       : 0;
}

static int close_common_zone(int error)
{
	if (error || !touch->zone || touch->processes)
		return error;
	pages_locks(&touch->task[0].locks);
	return pages_close();
}

/* A process that was killed says nothing itself. */
static bool one_has_died(void)
{
	siginfo_t who = { .si_pid = 0 };

	return touch->processes &&
	       !waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) &&
	       who.si_pid;
}

/* A zone is opened, and aged, before anything counts. */
static void wait_for_tasks(void)
{
	struct timespec nap = { .tv_nsec = 100000 };

	while (atomic_load(&touch->ready) < touch->nr && !one_has_died())
		nanosleep(&nap, NULL);
}

static int run(double seconds, uint64_t samples)
{
	unsigned int started;
	struct sums s;
	int error = open_common_zone(), late;

	for (started = 0; started < touch->nr && !error; started++)
		error = start_task(started);
	if (!error) {
		wait_for_tasks();
		take_samples(seconds, samples, &s);
	} else if (started) {
		started--;
	}
	late = end_tasks(started);
	error = close_common_zone(error ? error : late);
	if (error) {
		say("bench page_fault1: %s",
		    error != EBADMSG ? strerror(error)
		    : touch->zone    ? "pages were lost"
				     : "memory that should be zero was not");
		return CLI_OWN;
	}
	bench_answer("pages", (double)(s.total / samples));
	bench_answer("task_min", s.least);
	bench_answer("task_max", s.most);
	if (touch->zone)
		answer_locks();
	return 0;
}

static int take_words(char **argv, double *seconds, uint64_t *samples)
{
	uint64_t tasks;
	size_t i;

	for (i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		if (!strcmp(bodies[i].name, argv[1]))
			touch->body = bodies[i].body;
	if (pages_is_body(argv[1])) {
		touch->body = body_pages;
		touch->zone = argv[1];
	}
	touch->processes = *argv[2] == 'p';
	*seconds = strtod(argv[4], NULL);
	if (!touch->body || text_number(argv[3], &tasks) || tasks > TASKS_MAX ||
	    text_number(argv[5], samples) || !*samples)
		return usage_error(
			"bench: .touch BODY t|p TASKS SECONDS SAMPLES");
	touch->nr = (unsigned int)tasks;
	return 0;
}

int bench_touch(int argc, char **argv)
{
	double seconds;
	uint64_t samples;
	int rc;

	if (argc != 6)
		return usage_error(
			"bench: .touch BODY t|p TASKS SECONDS SAMPLES");
	touch = mmap(NULL, sizeof(*touch), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (touch == MAP_FAILED) {
		say("bench page_fault1: no memory");
		return CLI_OWN;
	}
	rc = take_words(argv, &seconds, &samples);
	if (!rc)
		rc = run(seconds, samples);
	munmap(touch, sizeof(*touch));
	return rc;
}
