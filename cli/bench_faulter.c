/* SPDX-License-Identifier: MIT */
/*
 * Another thread, which faults in fresh pages and notes how long each takes.
 *
 *	arena	[##########..............]	64 MiB, 4 KiB pages, discarded
 *		           ^ next page		and begun again at its end
 *
 * [F1] A latency is the time between two readings of the clock with one store
 *	to a fresh page between them; discarding the arena is not a latency but
 *	does count in the rate, idle and otherwise alike.
 * [F2] The window closes only after the fault that was under way when it was
 *	asked to: a fault that waits for all of a release must not be lost.
 * [F3] The kernel's own count of the thread's faults must be at least ours.
 *
 * The histogram has 32 buckets an octave: 3 % wide, the error of a percentile
 * half of that.
 */
#include "bench_faulter.h"
#include "bench.h"
#include "bench_memory.h"
#include "text.h"

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
	ARENA_BYTES = 64 << 20,
	OCTAVE = 32,
	BUCKETS = 64 * OCTAVE,
	WARM_FAULTS = ARENA_BYTES / MEMORY_PAGE * 2,
	TAIL_LEAST = 10, /* samples beyond a percentile, to believe it */
};

enum { FAULTER_WARM, FAULTER_NOTE, FAULTER_REST, FAULTER_STOP };

struct faulter {
	/* const after start */
	pthread_t thread;
	char *arena;

	/* atomic: the owner writes, the thread reads */
	atomic_int state;
	/* atomic: the thread writes, one more for each fault that is over */
	atomic_ulong over;

	/* owner */
	uint64_t open_ns, close_ns;

	/* thread, until it is joined */
	uint64_t nr, bucket[BUCKETS];
	uint64_t touched;
	long kernel_faults;
};

unsigned int faulter_bucket(uint64_t ns)
{
	unsigned int octave;

	if (ns < OCTAVE)
		return (unsigned int)ns;
	octave = 63 - (unsigned int)__builtin_clzll(ns) - 5;
	return (octave + 1) * OCTAVE + (unsigned int)(ns >> octave) - OCTAVE;
}

double faulter_value(unsigned int bucket)
{
	unsigned int octave = bucket / OCTAVE;

	if (!octave)
		return bucket;
	return ldexp(bucket % OCTAVE + OCTAVE + 0.5, (int)octave - 1);
}

static void note(struct faulter *f, uint64_t ns)
{
	f->bucket[faulter_bucket(ns)]++;
	f->nr++;
}

static void *fault(void *arg)
{
	struct faulter *f = arg;
	struct rusage u;
	uint64_t before, after = 0;
	size_t at = 0;
	int state;

	while ((state = atomic_load(&f->state)) != FAULTER_STOP) {
		if (at == ARENA_BYTES) {
			madvise(f->arena, ARENA_BYTES, MADV_DONTNEED);
			at = 0;
		}
		before = bench_now_ns();
		((volatile char *)f->arena)[at] = 1;
		after = bench_now_ns();
		at += MEMORY_PAGE;
		f->touched++;
		if (state == FAULTER_NOTE)
			note(f, after - before);
		atomic_fetch_add(&f->over, 1);
	}
	getrusage(RUSAGE_THREAD, &u);
	f->kernel_faults = u.ru_minflt;
	return NULL;
}

/* Wait until @nr more faults are over. */
static void wait_faults(struct faulter *f, unsigned long nr)
{
	struct timespec nap = { .tv_nsec = 20000 };
	unsigned long from = atomic_load(&f->over);

	while (atomic_load(&f->over) - from < nr)
		nanosleep(&nap, NULL);
}

struct faulter *faulter_start(void)
{
	struct faulter *f = xcalloc(1, sizeof(*f));

	f->arena = memory_map(ARENA_BYTES, BENCH_4K);
	if (!f->arena || pthread_create(&f->thread, NULL, fault, f)) {
		free(f);
		return NULL;
	}
	wait_faults(f, WARM_FAULTS);
	return f;
}

void faulter_open(struct faulter *f)
{
	f->open_ns = bench_now_ns();
	atomic_store(&f->state, FAULTER_NOTE);
}

void faulter_close(struct faulter *f)
{
	atomic_store(&f->state, FAULTER_REST);
	wait_faults(f, 1);
	f->close_ns = bench_now_ns();
}

static double percentile(const struct faulter *f, double part)
{
	double beyond = (double)f->nr * (1 - part), seen = 0;
	unsigned int i = BUCKETS;

	if (beyond < TAIL_LEAST)
		return NAN;
	while (i-- > 0) {
		seen += (double)f->bucket[i];
		if (seen >= beyond)
			break;
	}
	return faulter_value(i) * 1e-9;
}

int faulter_end(struct faulter *f, struct faulter_result *out)
{
	int rc;

	atomic_store(&f->state, FAULTER_STOP);
	pthread_join(f->thread, NULL);
	*out = (struct faulter_result){
		.nr = f->nr,
		.p50_s = percentile(f, 0.5),
		.p99_s = percentile(f, 0.99),
		.p999_s = percentile(f, 0.999),
		.rate = (double)f->nr * 1e9 /
			(double)(f->close_ns - f->open_ns),
	};
	rc = (uint64_t)f->kernel_faults < f->touched ? -EIO : 0;
	munmap(f->arena, ARENA_BYTES);
	free(f);
	return rc;
}
