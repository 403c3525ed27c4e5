/* SPDX-License-Identifier: MIT */
/* What the tests of the span store have in common. */
#ifndef TESTS_UNIT_REGION_H
#define TESTS_UNIT_REGION_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/assert.h"
#include "os/os.h"
#include "region/store.h"

#define KIB	     ((size_t)1 << 10)
#define MIB	     ((size_t)1 << 20)
#define GIB	     ((size_t)1 << 30)
#define PAGES(bytes) ((size_t)(bytes) >> PAGE_SHIFT)

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER 1
#else
#define UNDER_SANITIZER UNDER_TSAN
#endif

/* One shard, no helper thread, a clock that the test sets (os/sim.h). */
static inline struct store_options quiet_options(void)
{
	struct store_options options;

	store_options_default(&options);
	options.nr_shards = 1;
	options.thread_bytes = SIZE_MAX;
	options.keep_bytes = 64 * GIB;
	options.thp = THP_NEVER;
	return options;
}

static inline uint64_t counter_of(struct store *store, enum quire_counter which)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	store_snapshot(store, counter);
	return counter[which];
}

#define COUNT(store, name) counter_of((store), QUIRE_COUNTER_##name)

/* The sums of counters.def; @alive: blocks that the test holds. */
static inline void check_sums(struct store *store, uint64_t alive)
{
	uint64_t c[QUIRE_NR_COUNTERS];

	store_snapshot(store, c);
#define C(name) c[QUIRE_COUNTER_##name]
	ASSERT(C(span_alloc) == C(span_hit) + C(span_grown) + C(span_fresh));
	ASSERT(C(span_alloc) - C(span_free) == alive);
	ASSERT(C(bytes_mapped) - C(bytes_unmapped) ==
	       C(bytes_live) + C(bytes_kept) + C(bytes_leaving));
	ASSERT(C(bytes_unmapped) ==
	       C(bytes_decayed) + C(bytes_capped) + C(bytes_replaced) +
		       C(bytes_pressed) + C(bytes_trimmed) + C(bytes_direct));
	ASSERT(C(span_stolen) <= C(span_hit));
	ASSERT(C(bytes_kept_peak) >= C(bytes_kept));
#undef C
}

/* Both walkers. */
static inline void check_all(struct store *store, uint64_t alive)
{
	store_check(store);
	check_sums(store, alive);
}

static inline bool is_mapped(const void *address)
{
	unsigned char resident;

	return !mincore((void *)((uintptr_t)address & ~(PAGE_SIZE - 1)),
			PAGE_SIZE, &resident);
}

static inline size_t resident_pages(const void *address, size_t bytes)
{
	size_t nr = bytes >> PAGE_SHIFT, sum = 0;
	unsigned char *map = malloc(nr);

	assert_non_null(map);
	assert_int_equal(mincore((void *)(uintptr_t)address, bytes, map), 0);
	for (size_t i = 0; i < nr; i++)
		sum += map[i] & 1;
	free(map);
	return sum;
}

/* Does the mapping at @address have this two-letter flag of smaps? */
static inline bool has_vm_flag(const void *address, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512];
	unsigned long from, to;
	bool here = false, found = false;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			here = (uintptr_t)address >= from &&
			       (uintptr_t)address < to;
		else if (here && !strncmp(line, "VmFlags:", 8))
			found = strstr(line, flag) != NULL;
	}
	fclose(file);
	return found;
}

/* Bytes of private anonymous mappings, but for the C library's heap. */
static inline size_t anonymous_bytes(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	unsigned long from, to, inode;
	char name[256];
	size_t sum = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		name[0] = 0;
		if (sscanf(line, "%lx-%lx %*s %*s %*s %lu %255s", &from, &to,
			   &inode, name) >= 3 &&
		    !inode && !name[0])
			sum += to - from;
	}
	fclose(file);
	return sum;
}

/* Does @body panic?  In a child, so that the rest of the test goes on. */
static inline bool panics(void (*body)(void *), void *arg)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		signal(SIGABRT, SIG_DFL);
		signal(SIGILL, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(3);
		body(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) &&
	       (WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGILL);
}

/* A small generator with a printed seed (Marsaglia's xorshift64*). */
static inline uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint64_t random_below(uint64_t *state, uint64_t n)
{
	return (next_random(state) >> 11) % n;
}

#endif /* TESTS_UNIT_REGION_H */
