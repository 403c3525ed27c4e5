/* SPDX-License-Identifier: MIT */
/*
 * The same operations in every way to protect and to drain lists: the same is
 * served, and when lists are drained the free lists are the same.
 *
 * With a lock, each list follows the rules of spec A.8 operation by operation
 * (C.9-7): a copy of the rules runs beside it.
 */
#include "pages.h"

#include "page/slow.h"

struct mode {
	uint32_t pcp, drain, flags, nr_shards, high;
};

#define HELD 4000

static struct {
	void *at;
	size_t pages; /* 0: a block */
} held[HELD];

static void step_one(struct quire_zone *zone, uint64_t *seed)
{
	size_t i = random_below(seed, HELD);
	unsigned int type = (unsigned int)random_below(seed, 2);
	size_t kind = random_below(seed, 16);

	if (held[i].at) {
		if (held[i].pages)
			assert_int_equal(quire_range_free(zone, held[i].at,
							  held[i].pages),
					 0);
		else
			assert_int_equal(quire_block_free(zone, held[i].at), 0);
		held[i].at = NULL;
	} else if (kind == 0) {
		held[i].pages = 1 + random_below(seed, 40);
		held[i].at = quire_range_alloc(zone, held[i].pages, 0, type);
		assert_non_null(held[i].at);
	} else {
		unsigned int order =
			kind < 12 ? 0 : (unsigned int)random_below(seed, 7);

		held[i].pages = 0;
		held[i].at = quire_block_alloc(zone, order, type);
		assert_non_null(held[i].at);
	}
}

/* Grows to most of HELD, then shrinks: lists are filled and drained a lot. */
static void churn(struct quire_zone *zone, uint64_t seed)
{
	for (int i = 0; i < 12000; i++) {
		step_one(zone, &seed);
		if (i % 1000 == 0)
			quire_zone_check(zone);
	}
}

static void give_all(struct quire_zone *zone)
{
	for (size_t i = 0; i < HELD; i++) {
		if (!held[i].at)
			continue;
		if (held[i].pages)
			assert_int_equal(quire_range_free(zone, held[i].at,
							  held[i].pages),
					 0);
		else
			assert_int_equal(quire_block_free(zone, held[i].at), 0);
		held[i].at = NULL;
	}
}

static size_t used_now(void)
{
	size_t nr = 0;

	for (size_t i = 0; i < HELD; i++)
		nr += held[i].at != NULL;
	return nr;
}

struct outcome {
	size_t used, held;
	char buddyinfo[4096];
};

static void run_mode(struct mode mode, struct outcome *out)
{
	static const struct quire_hole hole = { 40 * MIB + 12288, 999 * 4096 };
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;

	options.bytes = 256 * MIB;
	options.pcp = mode.pcp;
	options.drain = mode.drain;
	options.flags = mode.flags;
	options.nr_shards = mode.nr_shards;
	options.high = mode.high;
	options.holes = &hole;
	options.nr_holes = 1;
	zone = zone_with(options);
	churn(zone, 42);
	quire_zone_check(zone);
	out->used = zone_facts(zone).used_pages;
	out->held = used_now();
	give_all(zone);
	quire_zone_check(zone);
	assert_int_equal(zone_facts(zone).used_pages, 0);
	assert_true(quire_zone_drain(zone, -1) >= 0);
	assert_int_equal(zone_facts(zone).free_pages,
			 zone_facts(zone).managed_pages);
	memset(out->buddyinfo, 0, sizeof(out->buddyinfo));
	assert_true(quire_zone_print(zone, QUIRE_ZONE_BUDDYINFO, out->buddyinfo,
				     sizeof(out->buddyinfo)) > 0);
	assert_int_equal(ZONE_COUNTER(zone, zone_misuse), 0);
	zone_done(zone, 0);
}

static void the_same_in_every_mode(void **state)
{
	struct outcome first, other;

	(void)state;
	for (uint32_t shards = 1; shards <= 4; shards += 3) {
		run_mode((struct mode){ QUIRE_PCP_OFF, 0, 0, shards, 0 },
			 &first);
		for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_OFF; pcp++)
			for (uint32_t drain = 0; drain < 3; drain++)
				for (uint32_t depot = 0; depot < 2; depot++) {
					run_mode((struct mode){ pcp, drain,
								depot, shards,
								0 },
						 &other);
					assert_int_equal(other.used,
							 first.used);
					assert_int_equal(other.held,
							 first.held);
					assert_string_equal(other.buddyinfo,
							    first.buddyinfo);
				}
	}
}

/* Lists of any length, down to one page. */
static void the_same_with_any_high(void **state)
{
	static const uint32_t highs[] = { 1,  2,   3,	7,    8,
					  63, 100, 600, 1000, 8192 };
	struct outcome first, other;

	(void)state;
	run_mode((struct mode){ QUIRE_PCP_OFF, 0, 0, 1, 0 }, &first);
	for (size_t i = 0; i < ARRAY_SIZE(highs); i++)
		for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_LOCK;
		     pcp++) {
			run_mode((struct mode){ pcp, (uint32_t)i % 3, 0, 1,
						highs[i] },
				 &other);
			assert_int_equal(other.used, first.used);
			assert_string_equal(other.buddyinfo, first.buddyinfo);
		}
}

/* A.11-7: with high 1 each free goes straight through. */
static void a_list_of_one(void **state)
{
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	void *page[100];

	(void)state;
	options.bytes = 64 * MIB;
	options.high = 1;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_MASK;
	     options.pcp++) {
		zone = zone_with(options);
		for (int i = 0; i < 100; i++)
			page[i] = quire_page_alloc(zone, 0);
		for (int i = 0; i < 100; i++) {
			assert_int_equal(quire_block_free(zone, page[i]), 0);
			assert_true(zone_facts(zone).pcp_pages <=
				    zone->percpu.nr_cpus);
		}
		zone_done(zone, 0);
	}
}

static void pin(void)
{
	cpu_set_t set;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* A.11-1, A1: more is asked for than there is. */
static void more_than_there_is(void **state)
{
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	void *page[300];

	(void)state;
	options.bytes = 64 * MIB;
	options.high = 400;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_MASK;
	     options.pcp++)
		for (options.drain = 0; options.drain < 3; options.drain++) {
			zone = zone_with(options);
			pin();
			for (int i = 0; i < 300; i++)
				page[i] = quire_page_alloc(zone, 0);
			for (int i = 0; i < 300; i++)
				quire_block_free(zone, page[i]);
			for (uint32_t type = 0; type < 2 && !CONFIG_UP; type++)
				pcp_drain_own(zone, 0, type, UINT32_MAX);
			assert_int_equal(zone_facts(zone).pcp_pages, 0);
			assert_int_equal(zone_facts(zone).used_pages, 0);
			zone_done(zone, 0);
		}
}

/*
 * A.11-3, I-A3: the oldest go first, and the free lists get them in the same
 * order in each mode of draining.  Every other page is freed, so that none
 * merge; what is then taken comes in the order in which it was given, newest
 * first.
 */
static void order_of_drain(uint32_t drain, uint32_t pcp, size_t *order)
{
	static void *page[512];
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	char *start;

	options.bytes = 512 * PAGE_SIZE;
	options.pcp = pcp;
	options.drain = drain;
	options.high = 300;
	options.flags = QUIRE_ZONE_NO_DEPOT;
	zone = zone_with(options);
	start = quire_zone_address(zone);
	for (int i = 0; i < 512; i++) {
		void *one = quire_page_alloc(zone, QUIRE_ATOMIC);

		page[((char *)one - start) / PAGE_SIZE] = one;
	}
	for (int i = 0; i < 128; i++) /* 37 * 2 wanders through all */
		assert_int_equal(
			quire_block_free(zone, page[(i * 74 + 10) % 256]), 0);
	if (pcp == QUIRE_PCP_OFF)
		assert_int_equal(quire_zone_drain(zone, -1), 0);
	else
		pcp_drain_own(zone, 0, 0, 1000);
	assert_int_equal(quire_zone_pcp_disable(zone), 0);
	for (int i = 0; i < 128; i++) {
		char *one = quire_page_alloc(zone, QUIRE_ATOMIC);

		assert_non_null(one);
		order[i] = (size_t)(one - start) / PAGE_SIZE;
	}
	assert_int_equal(quire_zone_pcp_enable(zone), 0);
	assert_int_equal(quire_zone_close(zone), 512);
}

static void drained_in_the_same_order(void **state)
{
	size_t first[128], other[128];

	(void)state;
	pin();
	order_of_drain(QUIRE_DRAIN_SINGLE, QUIRE_PCP_OFF, first);
	/* straight to the free lists: the newest comes first */
	for (int i = 0; i < 128; i++)
		assert_int_equal(first[127 - i], (i * 74 + 10) % 256);
	for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_MASK; pcp++)
		for (uint32_t drain = 0; drain < 3; drain++) {
			if (CONFIG_UP)
				continue;
			order_of_drain(drain, pcp, other);
			assert_memory_equal(first, other, sizeof(first));
		}
}

/* C.9-7: beside the list of this CPU runs a copy of the rules. */

static struct tune copy;
static int copy_count;

/* A refill may take the rest of a cluster, too. */
static void copy_alloc(const struct slot *slot)
{
	int nr;

	tune_note_alloc(&copy);
	if (copy_count--)
		return;
	nr = tune_nr_alloc(&copy, 0, 0, TUNE_NORMAL);
	copy_count = (int)slot_count(slot);
	assert_true(copy_count >= nr - 1);
	assert_true(copy_count < nr - 1 + (int)CLUSTER_PAGES);
}

static void copy_free(void)
{
	int high;

	copy_count++;
	tune_note_free(&copy, 0);
	high = tune_high(&copy, copy_count, TUNE_NORMAL, false);
	if (copy_count >= high)
		copy_count -= tune_nr_free(&copy, high, copy_count, false);
}

static void compare(const struct slot *slot)
{
	struct tune now;

	plan_load(slot, &now);
	assert_int_equal(slot_count(slot), copy_count);
	assert_int_equal(now.high, copy.high);
	assert_int_equal(now.alloc_factor, copy.alloc_factor);
	assert_int_equal(now.free_count, copy.free_count);
}

static void rules_are_followed_with_a_lock(void **state)
{
	static void *page[30000];
	/* allocations, then frees, and so on */
	static const int runs[] = { 5000, 100,	3,  1,	1, 1, 1,   4000,
				    9000, 8000, 30, 30, 5, 5, 7000 };
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	struct slot *slot;
	int nr = 0;

	(void)state;
	if (CONFIG_UP)
		skip();
	pin();
	options.bytes = GIB;
	options.flags = QUIRE_ZONE_NO_DEPOT;
	for (options.pcp = QUIRE_PCP_LOCK; options.pcp <= QUIRE_PCP_MASK;
	     options.pcp++) {
		zone = zone_with(options);
		slot = percpu_here(&zone->percpu, zone->slow[0][0]);
		plan_load(slot, &copy);
		copy_count = 0;
		for (size_t run = 0; run < ARRAY_SIZE(runs); run++)
			for (int i = 0; i < runs[run]; i++) {
				if (run % 2 == 0) {
					page[nr++] = quire_page_alloc(zone, 0);
					copy_alloc(slot);
				} else if (nr) {
					assert_int_equal(
						quire_block_free(zone,
								 page[--nr]),
						0);
					copy_free();
				}
				compare(slot);
			}
		while (nr)
			quire_block_free(zone, page[--nr]);
		zone_done(zone, 0);
	}
}

/* A11: lists of a CPU where nothing happens are shrunk all the same. */
static void idle_lists_decay(void **state)
{
	struct quire_zone_options options = zone_plain();
	struct quire_zone *zone;
	static void *page[20000];
	size_t before, low;

	(void)state;
	options.bytes = GIB;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_MASK;
	     options.pcp++) {
		zone = zone_with(options);
		for (int i = 0; i < 20000; i++)
			page[i] = quire_page_alloc(zone, 0);
		for (int i = 0; i < 20000; i++)
			assert_int_equal(quire_block_free(zone, page[i]), 0);
		before = zone_facts(zone).pcp_pages +
			 zone_facts(zone).depot_pages;
		for (int i = 0; i < 100; i++) {
			pcp_decay(zone);
			quire_zone_check(zone);
		}
		low = zone_facts(zone).pcp_pages;
		assert_true(CONFIG_UP || before > 1000);
		/* high_min: a quarter of a MiB or so for each list */
		assert_true(low <= zone->percpu.nr_cpus * 512);
		assert_int_equal(zone_facts(zone).depot_pages, 0);
		zone_done(zone, 0);
	}
}

/* A busy list is left alone: only its limit falls. */
static void busy_lists_are_not_drained_from_elsewhere(void **state)
{
	struct quire_zone *zone = zone_of_numbers(GIB);
	void *page;
	uint64_t remote;

	(void)state;
	page = quire_page_alloc(zone, 0);
	pcp_decay(zone);
	remote = ZONE_COUNTER(zone, zone_drain_remote);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(quire_block_free(zone, page), 0);
		pcp_decay(zone);
		page = quire_page_alloc(zone, 0);
		pcp_decay(zone);
	}
	assert_int_equal(ZONE_COUNTER(zone, zone_drain_remote), remote);
	assert_int_equal(quire_block_free(zone, page), 0);
	zone_done(zone, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_in_every_mode),
		cmocka_unit_test(the_same_with_any_high),
		cmocka_unit_test(a_list_of_one),
		cmocka_unit_test(more_than_there_is),
		cmocka_unit_test(drained_in_the_same_order),
		cmocka_unit_test(rules_are_followed_with_a_lock),
		cmocka_unit_test(idle_lists_decay),
		cmocka_unit_test(busy_lists_are_not_drained_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
