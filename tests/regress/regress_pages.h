/* SPDX-License-Identifier: MIT */
/* What the tests of the rows P* have in common.  Public calls only. */
#ifndef TESTS_REGRESS_PAGES_H
#define TESTS_REGRESS_PAGES_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quire/page.h>
#include <quire/stat.h>

#define CHECK(c)                                                               \
	do {                                                                   \
		if (!(c)) {                                                    \
			fprintf(stderr, "%s:%d: %s, errno %d\n", __FILE__,     \
				__LINE__, #c, errno);                          \
			_exit(1);                                              \
		}                                                              \
	} while (0)

#define PAGE	     4096ul
#define MEBI(n)	     ((size_t)(n) << 20)
#define OPTIONS(...) ((struct quire_zone_options){ __VA_ARGS__ })

static inline struct quire_zone *zone_of(struct quire_zone_options options)
{
	struct quire_zone *zone = NULL;

	options.size = sizeof(options);
	CHECK(!quire_zone_open(&options, &zone));
	return zone;
}

static inline struct quire_zone_facts facts_of(struct quire_zone *zone)
{
	struct quire_zone_facts facts = { .size = sizeof(facts) };

	CHECK(!quire_zone_describe(zone, &facts));
	return facts;
}

static inline uint64_t counter_of(struct quire_zone *zone, unsigned int which)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	quire_zone_counters(zone, counter);
	return counter[which];
}

/* Private memory, aligned to @align, a power of two, and @after behind that. */
static inline char *memory_of(size_t bytes, size_t align, size_t after)
{
	char *all = mmap(NULL, bytes + align + after, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(all != MAP_FAILED);
	return (char *)(((uintptr_t)all + align - 1) & ~(align - 1)) + after;
}

/* Everything is back, and nothing is broken. */
static inline void done_with(struct quire_zone *zone)
{
	struct quire_zone_facts facts;

	CHECK(quire_zone_drain(zone, -1) >= 0);
	quire_zone_check(zone);
	facts = facts_of(zone);
	CHECK(facts.free_pages == facts.managed_pages);
	CHECK(!facts.used_pages && !facts.pcp_pages && !facts.depot_pages);
	CHECK(!quire_zone_close(zone));
}

/* 0 where @child ended well. */
static inline int result_of(pid_t child)
{
	int status;

	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	return status;
}

#endif /* TESTS_REGRESS_PAGES_H */
