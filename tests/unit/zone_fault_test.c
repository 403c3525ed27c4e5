/* SPDX-License-Identifier: MIT */
/*
 * The system refuses, the n-th call, for each n until a run has no refusal; and
 * every call from the n-th on.  Zones open or do not, with nothing left behind;
 * what is open allocates and frees; after each run nothing is broken.
 */
#include "pages.h"

#define NR 200

static struct quire_region *region;
static void *page[NR];

static void alloc_all(struct quire_zone *zone, unsigned int flags)
{
	for (int i = 0; i < NR; i++) {
		page[i] = quire_block_alloc(zone, i % 11 ? 0 : 9, flags);
		if (page[i])
			memset(page[i], i, PAGE_SIZE);
	}
}

static void free_all(struct quire_zone *zone)
{
	for (int i = 0; i < NR; i++)
		if (page[i])
			ASSERT(!quire_block_free(zone, page[i]));
}

/* Every road through a zone that calls the system. */
static void script(struct quire_zone *zone)
{
	char *start = quire_zone_address(zone);
	long drained, out;
	void *range;
	int error;

	alloc_all(zone, 0);
	free_all(zone);
	quire_zone_check(zone);
	drained = quire_zone_drain(zone, -1);
	ASSERT(drained >= 0 || drained == -EAGAIN);
	drained = quire_zone_drain(zone, 0);
	ASSERT(drained >= 0 || drained == -EAGAIN);
	alloc_all(zone, QUIRE_ZERO);
	error = quire_zone_pcp_disable(zone);
	ASSERT(!error || error == -EAGAIN);
	free_all(zone);
	quire_zone_check(zone);
	if (!error)
		ASSERT(!quire_zone_pcp_enable(zone));
	out = quire_zone_isolate(zone, start + 2 * MIB, 2 * MIB);
	ASSERT(out >= 0 || out == -EAGAIN);
	if (out >= 0)
		ASSERT(!quire_zone_unisolate(zone, start + 2 * MIB, 2 * MIB));
	range = quire_range_alloc(zone, 5000, 0, QUIRE_ZERO);
	if (range)
		ASSERT(!quire_range_free(zone, range, 5000));
	quire_zone_trim(zone, 0);
	pcp_decay(zone);
	quire_zone_check(zone);
	ASSERT(zone_facts(zone).used_pages == 0);
}

/* Returns how many calls were refused. */
static unsigned int run(unsigned int n, bool for_ever, enum faulty_kind kind,
			struct quire_zone_options options)
{
	size_t before = anonymous_bytes();
	struct quire_zone *zone;
	unsigned int hits;
	int error;

	options.region = region;
	if (for_ever)
		faulty_arm_from(n, kind);
	else
		faulty_arm(n, kind);
	error = quire_zone_open(&options, &zone);
	if (!error)
		script(zone);
	hits = faulty_hits();
	faulty_arm(0, FAULTY_ALL);
	if (error)
		ASSERT(hits);
	else
		ASSERT(!quire_zone_close(zone));
	ASSERT(UNDER_SANITIZER || kind == FAULTY_UNMAP || kind == FAULTY_ALL ||
	       anonymous_bytes() == before);
	/* The region is nobody's again. */
	ASSERT(!quire_region_discard(region, 0, 32 * MIB, NULL));
	return hits;
}

static void each(enum faulty_kind kind, struct quire_zone_options options)
{
	for (unsigned int n = 1; run(n, false, kind, options); n++)
		ASSERT(n < 2000);
	for (unsigned int n = 1; run(n, true, kind, options); n++)
		ASSERT(n < 2000);
}

static void every_call_is_refused_once(void **state)
{
	static const enum faulty_kind kinds[] = { FAULTY_ALL, FAULTY_MAP,
						  FAULTY_RESTART,
						  FAULTY_THREAD };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct quire_zone_options options = zone_plain();

		for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
		     options.pcp++) {
			options.flags = options.pcp == QUIRE_PCP_LOCK
						? QUIRE_ZONE_POISON
						: 0;
			each(kinds[i], options);
		}
	}
}

/* The first zone that is opened registers for forks: that may fail too. */
static void opening_again_after_a_refusal(void **state)
{
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;

	(void)state;
	options.region = region;
	for (unsigned int n = 1;; n++) {
		int error;

		faulty_arm(n, FAULTY_ALL);
		error = quire_zone_open(&options, &zone);
		faulty_arm(0, FAULTY_ALL);
		if (!error)
			zone_done(zone, 0);
		zone_done(zone_over(region, 0), 0);
		if (!error && n > 20)
			break;
	}
}

/* Closing, when the lists cannot be closed and memory cannot be unmapped. */
static void closing_all_the_same(void **state)
{
	(void)state;
	for (unsigned int n = 1; n < 12; n++) {
		struct quire_zone *zone = zone_over(region, 0);

		alloc_all(zone, 0);
		free_all(zone);
		page[0] = quire_page_alloc(zone, 0);
		faulty_arm_from(n, FAULTY_ALL);
		assert_int_equal(quire_zone_close(zone), 1);
		faulty_arm(0, FAULTY_ALL);
	}
}

static int setup(void **state)
{
	(void)state;
	region = region_of(32 * MIB);
	faulty_start(&os_kernel);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	faulty_stop();
	assert_int_equal(quire_region_close(region), 0);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_call_is_refused_once),
		TEST(opening_again_after_a_refusal),
		TEST(closing_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
