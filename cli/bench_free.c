/* SPDX-License-Identifier: MIT */
/*
 * One block of memory, given back once: the child of `quire bench bigfree`.
 *
 *	quire bench .free CASE PAGES BYTES quiet|faults
 *
 *	quiet	time, blocked, cpu, workers, resident and huge (before), left
 *	faults	what another thread's faults took meanwhile
 *
 * The two are apart, because the other thread needs a CPU that the release
 * could use.
 *
 * [E1] The whole block is resident before: a block that was not there is given
 *	back fast.
 * [E2] When the clock stops, nothing of it is resident.  For `malloc` that
 *	would be a wrong expectation; there `left` says what was kept.
 *
 * `handmade` is as plain as it can be written: what a program could do by
 * itself, and so the honest limit for the library.  `split` is what reviewers
 * of the series asked for: each thread unmaps its own part of the range.
 */
#include "bench.h"
#include "bench_faulter.h"
#include "bench_memory.h"
#include "cli.h"
#include "sample.h"
#include "text.h"

#include <quire/region.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum {
	SLICE_BYTES = 64 << 20,
	SLICE_BYTES_HUGE = 1 << 30,
	THREADS_MAX = 64,
	IDLE_MS = 500,
	POLL_NS = 100000,
	WINDOW_LEAST_NS = 1000000,
	LEFT_MAX = 16 << 20, /* stacks, tables and what reading /proc takes */
};

struct block {
	enum bench_pages pages;
	unsigned int nr; /* the N of CASE:N */
	size_t bytes;
	char *start;
	void *allocated; /* malloc */
	struct quire_region *region;
	uint32_t workers_used;
};

struct times {
	uint64_t start_ns;
	uint64_t returned_ns; /* the caller can go on */
	uint64_t done_ns;     /* the memory is free */
};

/* ---- where blocks come from ---- */

static int get_mapped(struct block *b)
{
	b->start = memory_map(b->bytes, b->pages);
	return b->start ? 0 : -ENOMEM;
}

static int get_region(struct block *b)
{
	static const uint32_t pages[] = {
		[BENCH_4K] = QUIRE_PAGES_4K,
		[BENCH_THP] = QUIRE_PAGES_THP,
		[BENCH_HUGETLB] = QUIRE_PAGES_HUGETLB_2M,
	};
	struct quire_region_options o = { .size = sizeof(o),
					  .pages = pages[b->pages] };
	int rc = quire_region_open(b->bytes, &o, &b->region);

	if (!rc)
		b->start = quire_region_address(b->region);
	return rc;
}

static int get_malloc(struct block *b)
{
	b->allocated = malloc(b->bytes + MEMORY_PAGE);
	if (!b->allocated)
		return -ENOMEM;
	b->start = (char *)b->allocated +
		   (-(uintptr_t)b->allocated & (MEMORY_PAGE - 1));
	return 0;
}

/* ---- how they are given back; `returned` and `done` where they differ ---- */

static int give_munmap(struct block *b, struct times *t)
{
	(void)t;
	return munmap(b->start, b->bytes) ? -errno : 0;
}

struct slices {
	const struct block *b;
	size_t step;
	atomic_size_t next;
	atomic_int error;
};

static void *discard_slices(void *arg)
{
	struct slices *s = arg;
	size_t at, len;

	while ((at = atomic_fetch_add(&s->next, s->step)) < s->b->bytes) {
		len = s->b->bytes - at;
		len = len < s->step ? len : s->step;
		if (madvise(s->b->start + at, len, MADV_DONTNEED))
			atomic_store(&s->error, errno);
	}
	return NULL;
}

static int give_handmade(struct block *b, struct times *t)
{
	struct slices s = { .b = b,
			    .step = b->pages == BENCH_4K ? SLICE_BYTES
							 : SLICE_BYTES_HUGE };
	pthread_t other[THREADS_MAX];
	unsigned int i;
	int rc;

	(void)t;
	for (i = 1; i < b->nr; i++)
		if (pthread_create(&other[i], NULL, discard_slices, &s))
			break;
	b->workers_used = i;
	discard_slices(&s);
	while (--i > 0)
		pthread_join(other[i], NULL);
	rc = munmap(b->start, b->bytes) ? -errno : 0;
	return rc ? rc : -atomic_load(&s.error);
}

struct part {
	char *start;
	size_t bytes;
	int error;
};

static void *unmap_part(void *arg)
{
	struct part *p = arg;

	/* of a small block some get nothing */
	if (p->bytes)
		p->error = munmap(p->start, p->bytes) ? errno : 0;
	return NULL;
}

/* Parts are whole huge pages; the last has what does not divide. */
static void cut(const struct block *b, struct part *part)
{
	size_t each = b->bytes / b->nr & ~(size_t)(MEMORY_HUGE - 1);
	unsigned int i;

	for (i = 0; i < b->nr; i++) {
		part[i].start = b->start + i * each;
		part[i].bytes = i + 1 < b->nr ? each : b->bytes - i * each;
		part[i].error = 0;
	}
}

static int give_split(struct block *b, struct times *t)
{
	struct part part[THREADS_MAX];
	pthread_t other[THREADS_MAX];
	unsigned int i, started;
	int rc = 0;

	(void)t;
	cut(b, part);
	for (started = 1; started < b->nr; started++)
		if (pthread_create(&other[started], NULL, unmap_part,
				   &part[started]))
			return -EAGAIN;
	b->workers_used = b->nr;
	unmap_part(&part[0]);
	for (i = 0; i < b->nr; i++) {
		if (i)
			pthread_join(other[i], NULL);
		rc = part[i].error ? -part[i].error : rc;
	}
	return rc;
}

static int give_parallel(struct block *b, struct times *t)
{
	struct quire_work work = { .size = sizeof(work), .workers = b->nr };
	int rc = quire_region_release(b->region, 0, b->bytes, &work);

	(void)t;
	b->workers_used = work.workers_used;
	return rc;
}

static int give_async(struct block *b, struct times *t)
{
	struct timespec nap = { .tv_nsec = POLL_NS };
	struct quire_work work = { .size = sizeof(work) };
	struct quire_release *release = NULL;
	int rc =
		quire_region_release_start(b->region, 0, b->bytes, 0, &release);

	t->returned_ns = bench_now_ns();
	if (rc)
		return rc;
	while (quire_release_poll(release, NULL) == -EAGAIN)
		nanosleep(&nap, NULL);
	t->done_ns = bench_now_ns();
	rc = quire_release_wait(release, &work);
	b->workers_used = work.workers_used;
	return rc;
}

static int give_malloc(struct block *b, struct times *t)
{
	(void)t;
	free(b->allocated);
	return 0;
}

static int give_nothing(struct block *b, struct times *t)
{
	struct timespec nap = { .tv_nsec = IDLE_MS * 1000000L };

	(void)b;
	(void)t;
	nanosleep(&nap, NULL);
	return 0;
}

static const struct way {
	const char *name;
	int (*get)(struct block *b);
	int (*give)(struct block *b, struct times *t);
	bool keeps; /* [E2] does not hold */
} ways[] = {
	{ "munmap", get_mapped, give_munmap, false },
	{ "handmade", get_mapped, give_handmade, false },
	{ "split", get_mapped, give_split, false },
	{ "parallel", get_region, give_parallel, false },
	{ "async", get_region, give_async, false },
	{ "malloc", get_malloc, give_malloc, true },
	{ "malloc-quire", get_malloc, give_malloc, true },
	{ "idle", get_mapped, give_nothing, true },
};

static const struct way *find_way(const char *name)
{
	size_t i, len = strcspn(name, ":");

	for (i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strlen(ways[i].name) == len &&
		    !memcmp(ways[i].name, name, len))
			return &ways[i];
	return NULL;
}

static int failed(const char *what, int rc)
{
	say("bench bigfree: %s: %s", what, strerror(-rc));
	return CLI_OWN;
}

/* [E1] */
static int check_there(const struct block *b, uint64_t resident)
{
	if (resident >= b->bytes)
		return 0;
	say("bench bigfree: only %s of %s are resident",
	    spell_bytes((double)resident).s, spell_bytes((double)b->bytes).s);
	return CLI_OWN;
}

static int give(const struct way *way, struct block *b, struct times *t)
{
	int rc;

	*t = (struct times){ .start_ns = bench_now_ns() };
	rc = way->give(b, t);
	if (!t->done_ns)
		t->returned_ns = t->done_ns = bench_now_ns();
	return rc;
}

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return sample_seconds(u.ru_utime) + sample_seconds(u.ru_stime);
}

static int run_quiet(const struct way *way, struct block *b, uint64_t before)
{
	uint64_t there = memory_resident() - before, left;
	uint64_t huge = memory_huge_bytes(b->start);
	double cpu = cpu_s();
	struct times t;
	int rc;

	rc = check_there(b, there);
	if (rc)
		return rc;
	rc = give(way, b, &t);
	cpu = cpu_s() - cpu;
	if (rc)
		return failed(way->name, rc);
	left = memory_resident();
	left = left > before ? left - before : 0;
	if (left > LEFT_MAX && !way->keeps) {
		say("bench bigfree: %s left %s behind", way->name,
		    spell_bytes((double)left).s);
		return CLI_OWN;
	}
	bench_answer("time", (double)(t.done_ns - t.start_ns) * 1e-9);
	bench_answer("blocked", (double)(t.returned_ns - t.start_ns) * 1e-9);
	bench_answer("cpu", cpu);
	bench_answer("workers", b->workers_used);
	bench_answer("resident", (double)there);
	bench_answer("left", (double)left);
	if (b->pages == BENCH_THP)
		bench_answer("huge", (double)huge);
	return 0;
}

static int run_faults(const struct way *way, struct block *b)
{
	struct faulter *f = faulter_start();
	struct faulter_result r;
	struct times t;
	int rc, seen;

	if (!f)
		return failed("the other thread", -EAGAIN);
	faulter_open(f);
	rc = give(way, b, &t);
	faulter_close(f);
	seen = faulter_end(f, &r);
	if (rc)
		return failed(way->name, rc);
	if (seen)
		return failed("the other thread did not fault", seen);
	bench_answer("fault_p50", r.p50_s);
	bench_answer("fault_p99", r.p99_s);
	bench_answer("fault_p999", r.p999_s);
	/* a window that short says when the thread was asked, no more */
	bench_answer("fault_rate",
		     t.done_ns - t.start_ns < WINDOW_LEAST_NS ? NAN : r.rate);
	bench_answer("fault_nr", (double)r.nr);
	return 0;
}

static enum bench_pages pages_of(const char *name)
{
	int i;

	for (i = 0; i < BENCH_ANY; i++)
		if (!strcmp(bench_pages_name[i], name))
			break;
	return (enum bench_pages)i;
}

static unsigned int number_of(const char *name)
{
	const char *colon = strchr(name, ':');
	uint64_t n;

	if (!colon || text_number(colon + 1, &n) || n < 1 || n > THREADS_MAX)
		return 1;
	return (unsigned int)n;
}

int bench_free(int argc, char **argv)
{
	struct block b = { .workers_used = 1 };
	const struct way *way = argc == 5 ? find_way(argv[1]) : NULL;
	uint64_t bytes, before;
	int rc;

	if (!way || text_number(argv[3], &bytes))
		return usage_error(
			"bench: .free CASE PAGES BYTES quiet|faults");
	b.nr = number_of(argv[1]);
	b.pages = pages_of(argv[2]);
	b.bytes = bytes;
	before = memory_resident();
	rc = way->get(&b);
	if (rc)
		return failed("no block to give back", rc);
	rc = memory_fill(b.start, b.bytes);
	if (rc)
		return failed("filling the block", rc);
	rc = strcmp(argv[4], "faults") ? run_quiet(way, &b, before)
				       : run_faults(way, &b);
	if (b.region)
		quire_region_close(b.region);
	return rc;
}
