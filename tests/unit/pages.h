/* SPDX-License-Identifier: MIT */
/* What the tests of zones over memory have in common. */
#ifndef TESTS_UNIT_PAGES_H
#define TESTS_UNIT_PAGES_H

#include "spy.h"

#include <quire/page.h>

#include "page/zone.h"

static inline struct quire_zone_options zone_plain(void)
{
	return (struct quire_zone_options){
		.size = sizeof(struct quire_zone_options),
	};
}

static inline struct quire_region *region_of(size_t bytes)
{
	struct quire_region_options options = { .size = sizeof(options),
						.flags =
							QUIRE_REGION_NO_LIMIT };
	struct quire_region *region;

	options.pages = bytes >= HUGE_SIZE ? QUIRE_PAGES_THP : QUIRE_PAGES_4K;
	assert_int_equal(quire_region_open(bytes, &options, &region), 0);
	return region;
}

static inline struct quire_zone *zone_with(struct quire_zone_options options)
{
	struct quire_zone *zone;

	assert_int_equal(quire_zone_open(&options, &zone), 0);
	quire_zone_check(zone);
	return zone;
}

static inline struct quire_zone *zone_over(struct quire_region *region,
					   uint32_t decay_ms)
{
	struct quire_zone_options options = zone_plain();

	options.region = region;
	options.decay_ms = decay_ms;
	return zone_with(options);
}

static inline struct quire_zone *zone_of_numbers(size_t bytes)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = bytes;
	return zone_with(options);
}

static inline void zone_done(struct quire_zone *zone, long pages_out)
{
	quire_zone_check(zone);
	assert_int_equal(quire_zone_close(zone), pages_out);
}

static inline struct quire_zone_facts zone_facts(struct quire_zone *zone)
{
	struct quire_zone_facts facts = { .size = sizeof(facts) };

	assert_int_equal(quire_zone_describe(zone, &facts), 0);
	return facts;
}

static inline uint64_t zone_counter(struct quire_zone *zone,
				    enum quire_counter which)
{
	uint64_t counter[QUIRE_NR_COUNTERS];

	quire_zone_counters(zone, counter);
	return counter[which];
}

#define ZONE_COUNTER(zone, name) zone_counter((zone), QUIRE_COUNTER_##name)

#define CHILD_CHECK(c)                                                         \
	do {                                                                   \
		if (!(c)) {                                                    \
			fprintf(stderr, "child: %s, line %d\n", #c, __LINE__); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

/* 0 when @body returned in a forked child. */
static inline int in_child_of(void (*body)(void *), void *arg)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		body(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

/* Blocks of one order, written to, that a test allocates and frees at once. */
struct blocks {
	void *at[4096];
	size_t nr;
};

static inline void blocks_take(struct quire_zone *zone, struct blocks *blocks,
			       unsigned int order, size_t nr)
{
	assert_true(nr <= 4096);
	for (blocks->nr = 0; blocks->nr < nr; blocks->nr++) {
		void *block = quire_block_alloc(zone, order, 0);

		if (!block) /* the reserve too */
			block = quire_block_alloc(zone, order, QUIRE_ATOMIC);
		assert_non_null(block);
		memset(block, 0x5a, PAGE_SIZE << order);
		blocks->at[blocks->nr] = block;
	}
}

static inline void blocks_give(struct quire_zone *zone, struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->nr; i++)
		assert_int_equal(quire_block_free(zone, blocks->at[i]), 0);
}

static inline bool thread_named(const char *name)
{
	char path[64], text[32];
	bool found = false;

	for (int tid = getpid(); tid < getpid() + 4096 && !found; tid++) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%d/comm", tid);
		file = fopen(path, "re");
		if (!file)
			continue;
		found = fgets(text, sizeof(text), file) &&
			!strncmp(text, name, strlen(name));
		fclose(file);
	}
	return found;
}

#endif /* TESTS_UNIT_PAGES_H */
