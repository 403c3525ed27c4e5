/* SPDX-License-Identifier: MIT */
/* Where memory runs low: watermarks and the reserve, what is tried before an
 * allocation fails (P8), reclaim (C4, C.9-4), lists disabled (C.9-5), parts
 * isolated (A3, A4, C.9-3), handlers (C.9-6, P16), and what pages contain. */
#include "pages.h"

#include "page/fast.h"

static struct quire_zone *zone;
static char *start;

static void open_with(struct quire_zone_options options)
{
	zone = zone_with(options);
	start = quire_zone_address(zone);
}

static struct quire_zone_options numbers(size_t bytes)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = bytes;
	return options;
}

#define NR 20000
static void *page[NR];

static size_t take_all(unsigned int flags)
{
	size_t nr = 0;

	errno = 0;
	while (nr < NR && (page[nr] = quire_page_alloc(zone, flags)))
		nr++;
	assert_int_equal(errno, ENOMEM);
	return nr;
}

static void give_some(size_t first, size_t end)
{
	for (; first < end; first++)
		assert_int_equal(quire_block_free(zone, page[first]), 0);
}

/* P8, with another CPU's list if there is one, else with ours. */

static void *hold_pages(void *arg)
{
	void *held[31];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*(int *)arg, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < 31; i++)
		assert_non_null(held[i] = quire_page_alloc(zone, 0));
	for (int i = 0; i < 31; i++)
		assert_int_equal(quire_block_free(zone, held[i]), 0);
	return NULL;
}

static int last_cpu(void)
{
	cpu_set_t set;
	int cpu = CPU_SETSIZE - 1;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu--;
	return cpu;
}

static void remote_lists_are_drained_before_failure(void **state)
{
	struct quire_zone_options options = numbers(32 * PAGE_SIZE);
	int cpu = last_cpu();
	pthread_t thread;
	void *mine[32];

	(void)state;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		options.high = 64; /* batch 32 */
		open_with(options);
		for (int round = 0; round < 3; round++) {
			assert_int_equal(
				pthread_create(&thread, NULL, hold_pages, &cpu),
				0);
			pthread_join(thread, NULL);
			/* at once after an attempt that found nothing, too */
			for (int i = 0; i < 32; i++)
				assert_non_null(
					mine[i] = quire_page_alloc(zone, 0));
			assert_null(quire_page_alloc(zone, 0));
			for (int i = 0; i < 32; i++)
				assert_int_equal(
					quire_block_free(zone, mine[i]), 0);
			assert_non_null(mine[0] =
						quire_block_alloc(zone, 5, 0));
			assert_int_equal(quire_block_free(zone, mine[0]), 0);
		}
		zone_done(zone, 0);
	}
}

/* Watermarks */

static void below_the_watermark_only_atomic(void **state)
{
	struct quire_zone_options options = numbers(16 * MIB);
	struct quire_zone_facts facts;
	size_t nr, more;

	(void)state;
	options.watermark_min_pages = 100;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		open_with(options);
		facts = zone_facts(zone);
		assert_int_equal(facts.watermark_min, 100);
		assert_int_equal(facts.watermark_low, 125);
		assert_int_equal(facts.watermark_high, 150);
		nr = take_all(0);
		assert_int_equal(nr, 4096 - 100);
		assert_null(quire_range_alloc(zone, 1, 0, 0));
		assert_null(quire_block_alloc(zone, 2, 0));
		assert_int_equal(
			quire_block_alloc_bulk(zone, 0, 0, 1, page + nr), 0);
		for (more = nr; more < 4096; more++)
			assert_non_null(page[more] = quire_page_alloc(
						zone, QUIRE_ATOMIC));
		assert_null(quire_page_alloc(zone, QUIRE_ATOMIC));
		quire_zone_check(zone);
		give_some(0, 4096);
		zone_done(zone, 0);
	}
}

static void a_thousandth_at_most_4_mib(void **state)
{
	(void)state;
	open_with(numbers(MIB));
	assert_int_equal(zone_facts(zone).watermark_min, 0);
	zone_done(zone, 0);
	open_with(numbers(GIB));
	assert_int_equal(zone_facts(zone).watermark_min, 262);
	zone_done(zone, 0);
	open_with(numbers(64 * GIB));
	assert_int_equal(zone_facts(zone).watermark_min, 1024);
	zone_done(zone, 0);
}

/* Reclaim */

static struct {
	unsigned int calls;
	size_t wanted, give;
	size_t next; /* of page[], to be freed */
	bool allocate;
} reclaimed;

static size_t reclaim(void *arg, size_t nr_pages)
{
	size_t nr = 0;
	void *more;

	assert_ptr_equal(arg, &reclaimed);
	assert_false(lock_holds_any());
	assert_int_equal(gate_depth(), 0);
	reclaimed.calls++;
	reclaimed.wanted = nr_pages;
	if (reclaimed.allocate) {
		more = quire_page_alloc(zone, 0);
		if (more)
			assert_int_equal(quire_block_free(zone, more), 0);
	}
	for (; nr < reclaimed.give; nr++)
		assert_int_equal(quire_block_free(zone, page[reclaimed.next++]),
				 0);
	return nr;
}

static void open_reclaiming(uint32_t pcp)
{
	struct quire_zone_options options = numbers(16 * MIB);

	memset(&reclaimed, 0, sizeof(reclaimed));
	options.pcp = pcp;
	options.watermark_min_pages = 1000;
	options.reclaim = reclaim;
	options.reclaim_arg = &reclaimed;
	open_with(options);
}

static void reclaim_is_called_when_memory_is_low(void **state)
{
	size_t nr = 0;

	(void)state;
	open_reclaiming(QUIRE_PCP_OFF);
	while (!reclaimed.calls) {
		assert_non_null(page[nr] = quire_page_alloc(zone, 0));
		nr++;
	}
	/* low is 1250, high 1500 */
	assert_int_equal(4096 - nr, 1249);
	assert_int_equal(reclaimed.wanted, 251);
	assert_non_null(page[nr++] = quire_page_alloc(zone, 0));
	assert_int_equal(reclaimed.calls, 2); /* once for each slow path */
	assert_int_equal(ZONE_COUNTER(zone, zone_reclaim), 2);
	give_some(0, nr);
	zone_done(zone, 0);
}

static void reclaim_is_called_before_failure(void **state)
{
	size_t nr;

	(void)state;
	for (uint32_t pcp = QUIRE_PCP_RSEQ; pcp <= QUIRE_PCP_OFF; pcp++) {
		open_reclaiming(pcp);
		reclaimed.allocate = true; /* not from within itself */
		nr = take_all(0);
		assert_int_equal(nr, 3096);
		reclaimed.calls = 0;
		reclaimed.give = 4;
		page[nr] = quire_block_alloc(zone, 0, 0);
		assert_non_null(page[nr++]);
		/* the one that failed, and the one that found it low */
		assert_int_equal(reclaimed.calls, 2);
		reclaimed.calls = 0;
		reclaimed.give = 0;
		while (quire_page_alloc(zone, 0))
			reclaimed.next--; /* of those that were given */
		/* C4: a bulk call that returns 0 has tried all of it */
		reclaimed.calls = 0;
		assert_int_equal(
			quire_block_alloc_bulk(zone, 0, 0, 8, page + NR - 8),
			0);
		assert_true(reclaimed.calls >= 1);
		reclaimed.calls = 0;
		assert_null(quire_range_alloc(zone, 64, 0, 0));
		assert_true(reclaimed.calls >= 1);
		assert_true(reclaimed.wanted >= 64);
		reclaimed.calls = 0;
		assert_non_null(quire_page_alloc(zone, QUIRE_ATOMIC));
		assert_int_equal(reclaimed.calls, 0);
		quire_zone_check(zone);
		assert_true(quire_zone_close(zone) > 3000);
	}
}

/* Lists disabled */

static void disabled_lists_stay_empty(void **state)
{
	struct quire_zone_options options = numbers(64 * MIB);

	(void)state;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		open_with(options);
		for (int i = 0; i < 1000; i++)
			page[i] = quire_page_alloc(zone, i & 1);
		assert_int_equal(quire_zone_pcp_enable(zone), -EINVAL);
		assert_int_equal(quire_zone_pcp_disable(zone), 0);
		assert_int_equal(quire_zone_pcp_disable(zone), 0);
		assert_int_equal(quire_zone_close(zone), -EBUSY);
		for (int round = 0; round < 2; round++) {
			assert_int_equal(zone_facts(zone).pcp_pages, 0);
			assert_int_equal(zone_facts(zone).depot_pages, 0);
			give_some(0, 1000);
			assert_int_equal(zone_facts(zone).pcp_pages, 0);
			assert_int_equal(zone_facts(zone).depot_pages, 0);
			for (int i = 0; i < 1000; i++)
				page[i] = quire_page_alloc(zone, i & 1);
			assert_int_equal(zone_facts(zone).used_pages, 1000);
			assert_int_equal(quire_zone_drain(zone, -1), 0);
			quire_zone_check(zone);
			assert_int_equal(quire_zone_pcp_enable(zone), 0);
		}
		assert_int_equal(quire_zone_pcp_enable(zone), -EINVAL);
		give_some(0, 1000);
		if (zone->percpu.mode != PERCPU_OFF)
			assert_true(zone_facts(zone).pcp_pages > 0);
		zone_done(zone, 0);
	}
}

static void draining_one_cpu(void **state)
{
	uint32_t nr_cpus;
	long drained = 0;

	(void)state;
	open_with(numbers(64 * MIB));
	nr_cpus = zone->percpu.nr_cpus;
	for (int i = 0; i < 100; i++)
		page[i] = quire_page_alloc(zone, 0);
	give_some(0, 100);
	assert_int_equal(quire_zone_drain(zone, -2), -EINVAL);
	assert_int_equal(quire_zone_drain(zone, INT32_MAX),
			 nr_cpus ? -EINVAL : 0);
	for (uint32_t cpu = 0; cpu < nr_cpus; cpu++) {
		long more = quire_zone_drain(zone, (int)cpu);

		assert_true(more >= 0);
		drained += more;
	}
	assert_true(drained >= (nr_cpus ? 100 : 0));
	assert_int_equal(zone_facts(zone).pcp_pages, 0);
	assert_int_equal(quire_zone_drain(zone, -1), 0);
	zone_done(zone, 0);
}

/* Isolating */

static bool in_part(const void *at, size_t first, size_t bytes)
{
	return (size_t)((const char *)at - start) - first < bytes;
}

static void isolated_parts_are_out_of_reach(void **state)
{
	struct quire_zone_options options = numbers(16 * MIB);
	size_t nr, inside = 0;

	(void)state;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		options.nr_shards = options.pcp % 2 ? 0 : 4;
		open_with(options);
		assert_int_equal(
			quire_zone_isolate(zone, start + 4 * MIB, 4 * MIB), 0);
		assert_int_equal(zone_facts(zone).isolated_pages, 1024);
		assert_int_equal(quire_zone_close(zone), -EBUSY);
		nr = take_all(QUIRE_ATOMIC);
		/* Moved to another CPU it leaves some in the first one's list. */
		assert_int_equal(nr + zone_facts(zone).pcp_pages, 4096 - 1024);
		for (size_t i = 0; i < nr; i++)
			assert_false(in_part(page[i], 4 * MIB, 4 * MIB));
		quire_zone_check(zone);
		assert_int_equal(
			quire_zone_unisolate(zone, start + 4 * MIB, 4 * MIB),
			0);
		assert_int_equal(zone_facts(zone).isolated_pages, 0);
		for (; nr < 4096; nr++)
			assert_non_null(page[nr] = quire_page_alloc(
						zone, QUIRE_ATOMIC));
		/* all of it is out: freed pages become so one by one */
		assert_int_equal(quire_zone_isolate(zone, start, 2 * MIB), 512);
		for (size_t i = 0; i < 4096; i++) {
			give_some(i, i + 1);
			if (!in_part(page[i], 0, 2 * MIB))
				continue;
			inside++;
			assert_int_equal(zone_facts(zone).isolated_pages,
					 inside);
		}
		inside = 0;
		quire_zone_check(zone);
		assert_int_equal(quire_zone_isolate(zone, start, 2 * MIB), 0);
		assert_int_equal(quire_zone_isolate(zone, start, 4 * MIB),
				 -EBUSY);
		assert_int_equal(quire_zone_unisolate(zone, start, 4 * MIB),
				 -EINVAL);
		assert_int_equal(quire_zone_unisolate(zone, start, 2 * MIB), 0);
		assert_int_equal(quire_zone_unisolate(zone, start, 2 * MIB),
				 -EINVAL);
		assert_true(quire_zone_drain(zone, -1) >= 0);
		assert_int_equal(zone_facts(zone).free_pages, 4096);
		zone_done(zone, 0);
	}
}

/* A block and a range that lie half in the part: each pageblock of them goes
 * where it belongs. */
static void freed_half_inside(void **state)
{
	void *block, *range, *rest;

	(void)state;
	open_with(numbers(32 * MIB));
	block = quire_block_alloc(zone, 12, 0);
	range = quire_range_alloc(zone, PAGES(8 * MIB), 4 * MIB, 0);
	rest = quire_range_alloc(zone, PAGES(8 * MIB), 0, QUIRE_ATOMIC);
	assert_true(block && range && rest);
	assert_int_equal(
		quire_zone_isolate(zone, (char *)block + 4 * MIB, 2 * MIB),
		512);
	assert_int_equal(
		quire_zone_isolate(zone, (char *)range + 2 * MIB, 2 * MIB),
		512);
	assert_int_equal(quire_block_free(zone, block), 0);
	assert_int_equal(zone_facts(zone).isolated_pages, 512);
	quire_zone_check(zone);
	assert_int_equal(quire_range_free(zone, range, PAGES(8 * MIB)), 0);
	assert_int_equal(zone_facts(zone).isolated_pages, 1024);
	quire_zone_check(zone);
	assert_int_equal(quire_range_free(zone, rest, PAGES(8 * MIB)), 0);
	assert_int_equal(
		quire_zone_unisolate(zone, (char *)block + 4 * MIB, 2 * MIB),
		0);
	assert_int_equal(
		quire_zone_unisolate(zone, (char *)range + 2 * MIB, 2 * MIB),
		0);
	zone_done(zone, 0);
}

static void parts_that_are_none(void **state)
{
	const struct quire_hole hole = { 3 * MIB, 2 * MIB };
	struct quire_zone_options options = numbers(16 * MIB);

	(void)state;
	options.holes = &hole;
	options.nr_holes = 1;
	open_with(options);
	assert_int_equal(quire_zone_isolate(zone, start + 4096, 2 * MIB),
			 -EINVAL);
	assert_int_equal(quire_zone_isolate(zone, start, MIB), -EINVAL);
	assert_int_equal(quire_zone_isolate(zone, start - 2 * MIB, 2 * MIB),
			 -EFAULT);
	assert_int_equal(quire_zone_isolate(zone, start + 14 * MIB, 4 * MIB),
			 -EFAULT);
	assert_int_equal(quire_zone_unisolate(zone, start, MIB), -EINVAL);
	assert_int_equal(quire_zone_unisolate(zone, start + 16 * MIB, 2 * MIB),
			 -EFAULT);
	/* a hole is not out */
	assert_int_equal(quire_zone_isolate(zone, start + 2 * MIB, 4 * MIB), 0);
	assert_int_equal(zone_facts(zone).isolated_pages, 512);
	assert_int_equal(quire_zone_unisolate(zone, start + 2 * MIB, 4 * MIB),
			 0);
	zone_done(zone, 0);
}

/* Handlers */

static volatile sig_atomic_t handler_error;

/* C.9-6: an event takes 64 and gives 64 back. */
static void receive(int signal)
{
	void *held[64];
	int saved = errno;

	(void)signal;
	for (int i = 0; i < 64; i++)
		if (!(held[i] = quire_page_alloc(zone, QUIRE_ATOMIC)))
			handler_error = 1;
	for (int i = 0; i < 64; i++)
		if (held[i] && quire_block_free_atomic(zone, held[i]))
			handler_error = 2;
	errno = saved;
}

static void handlers_are_served_by_lists(void **state)
{
	struct quire_zone_options options = numbers(64 * MIB);
	uint64_t slow;

	(void)state;
	if (CONFIG_UP)
		skip();
	signal(SIGUSR1, receive);
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_MASK;
	     options.pcp++) {
		open_with(options);
		handler_error = 0;
		for (int i = 0; i < 500; i++)
			raise(SIGUSR1);
		assert_int_equal(handler_error, 0);
		slow = ZONE_COUNTER(zone, zone_alloc_slow) +
		       ZONE_COUNTER(zone, zone_free_slow);
		assert_true(slow * 20 < 500 * 128); /* 95 % are not */
		zone_done(zone, 0);
	}
	signal(SIGUSR1, SIG_DFL);
}

/* P16: the lock of the free lists is ours, and the list has no room. */
static void a_handler_that_can_go_nowhere(void **state)
{
	struct quire_zone_options options = numbers(MIB);
	size_t nr;

	(void)state;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		options.high = 16;
		open_with(options);
		nr = take_all(QUIRE_ATOMIC);
		assert_int_equal(nr, 256);
		lock_take(&zone->buddies[0].lock);
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(quire_block_free_atomic(zone, page[i]),
					 0);
		assert_int_equal(quire_block_free_atomic(zone, page[9]),
				 -EALREADY);
		lock_release(&zone->buddies[0].lock);
		assert_true(zone_facts(zone).depot_pages >= 256 - 16);
		assert_int_equal(zone_facts(zone).used_pages, 0);
		assert_true(ZONE_COUNTER(zone, zone_deferred) >= 256 - 16);
		quire_zone_check(zone);
		/* the next slow path has them back */
		for (size_t i = 0; i < nr; i++)
			assert_non_null(
				page[i] = quire_page_alloc(
					zone, i & 1 ? 0 : QUIRE_ATOMIC));
		give_some(0, nr);
		zone_done(zone, 0);
	}
}

/* Content */

static bool is_all(const unsigned char *at, size_t bytes, unsigned char value)
{
	for (size_t i = 0; i < bytes; i++)
		if (at[i] != value)
			return false;
	return true;
}

static void zeros(void **state)
{
	struct quire_region *region = region_of(16 * MIB);
	struct quire_zone_options options = zone_plain();
	unsigned char *block;

	(void)state;
	options.region = region;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		open_with(options);
		for (int round = 0; round < 3; round++)
			for (unsigned int order = 0; order <= 10; order++) {
				size_t bytes = PAGE_SIZE << order;

				block = quire_block_alloc(zone, order,
							  QUIRE_ZERO);
				assert_non_null(block);
				assert_true(is_all(block, bytes, 0));
				memset(block, 0xee, bytes);
				assert_int_equal(quire_block_free(zone, block),
						 0);
				block = quire_range_alloc(zone, 7 + order, 0,
							  QUIRE_ZERO);
				assert_non_null(block);
				assert_true(is_all(block,
						   (7 + order) * PAGE_SIZE, 0));
				memset(block, 0xdd, (7 + order) * PAGE_SIZE);
				assert_int_equal(quire_range_free(zone, block,
								  7 + order),
						 0);
				quire_zone_check(zone);
			}
		assert_int_equal(
			quire_block_alloc_bulk(zone, 0, QUIRE_ZERO, 100, page),
			100);
		for (int i = 0; i < 100; i++)
			assert_true(is_all(page[i], PAGE_SIZE, 0));
		give_some(0, 100);
		zone_done(zone, 0);
	}
	assert_int_equal(quire_region_close(region), 0);
}

/* What is fresh is not touched for zeros. */
static void zeros_of_fresh_pages_cost_no_memory(void **state)
{
	struct quire_region *region = region_of(64 * MIB);
	unsigned char present[1];
	void *block;

	(void)state;
	zone = zone_over(region, 0);
	for (int i = 0; i < 300; i++) {
		page[i] = quire_page_alloc(zone, QUIRE_ZERO);
		assert_non_null(page[i]);
		assert_int_equal(mincore(page[i], PAGE_SIZE, present), 0);
		assert_int_equal(present[0] & 1, 0);
	}
	block = quire_block_alloc(zone, 9, QUIRE_ZERO);
	assert_int_equal(mincore(block, PAGE_SIZE, present), 0);
	assert_int_equal(present[0] & 1, 0);
	assert_int_equal(ZONE_COUNTER(zone, zone_cleared), 0);
	assert_int_equal(quire_block_free(zone, block), 0);
	give_some(0, 300);
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

static void written_to_after_free(void **state)
{
	static unsigned char memory[256 * 4096] __attribute__((aligned(4096)));
	struct quire_zone_options options = zone_plain();
	unsigned char *bad, *range;
	size_t nr;

	(void)state;
	options.memory = memory;
	options.bytes = sizeof(memory);
	options.flags = QUIRE_ZONE_POISON;
	for (options.pcp = QUIRE_PCP_RSEQ; options.pcp <= QUIRE_PCP_OFF;
	     options.pcp++) {
		open_with(options);
		bad = quire_page_alloc(zone, 0);
		assert_int_equal(quire_block_free(zone, bad), 0);
		assert_false(is_all(bad, PAGE_SIZE, 0));
		bad[100] ^= 1;
		nr = take_all(QUIRE_ATOMIC);
		assert_int_equal(nr, 255);
		assert_int_equal(ZONE_COUNTER(zone, zone_poison), 1);
		for (size_t i = 0; i < nr; i++) {
			assert_true(page[i] != bad);
			memset(page[i], 0x12, PAGE_SIZE);
		}
		give_some(0, nr);
		quire_zone_check(zone);
		/* a range that would hold a bad page is another range */
		range = quire_range_alloc(zone, 20, 0, 0);
		assert_non_null(range);
		assert_int_equal(quire_range_free(zone, range, 20), 0);
		range[3 * PAGE_SIZE] ^= 4;
		range = quire_range_alloc(zone, 100, 0, 0);
		assert_non_null(range);
		assert_true(ZONE_COUNTER(zone, zone_poison) <= 2);
		assert_int_equal(quire_range_free(zone, range, 100), 0);
		nr = 0;
		while ((bad = quire_block_alloc(zone, 4, 0)))
			page[nr++] = bad;
		assert_int_equal(ZONE_COUNTER(zone, zone_poison), 2);
		assert_true(nr >= 13);
		give_some(0, nr);
		quire_zone_check(zone);
		assert_true(quire_zone_close(zone) >= 2);
	}
}

static void cleared_at_free(void **state)
{
	struct quire_region *region = region_of(4 * MIB);
	struct quire_zone_options options = zone_plain();
	unsigned char *block;

	(void)state;
	options.region = region;
	options.flags = QUIRE_ZONE_INIT_FREE;
	open_with(options);
	for (unsigned int order = 0; order < 10; order++) {
		block = quire_block_alloc(zone, order, 0);
		memset(block, 0xab, PAGE_SIZE << order);
		assert_int_equal(quire_block_free(zone, block), 0);
		assert_true(is_all(block, PAGE_SIZE << order, 0));
		block = quire_range_alloc(zone, order + 1, 0, 0);
		memset(block, 0xab, PAGE_SIZE * (order + 1));
		assert_int_equal(quire_range_free(zone, block, order + 1), 0);
		assert_true(is_all(block, PAGE_SIZE * (order + 1), 0));
	}
	block = quire_page_alloc(zone, 0);
	memset(block, 0xab, PAGE_SIZE);
	page[0] = block;
	assert_int_equal(quire_block_free_bulk(zone, 1, page), 0);
	assert_true(is_all(block, PAGE_SIZE, 0));
	zone_done(zone, 0);
	assert_int_equal(quire_region_close(region), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remote_lists_are_drained_before_failure),
		cmocka_unit_test(below_the_watermark_only_atomic),
		cmocka_unit_test(a_thousandth_at_most_4_mib),
		cmocka_unit_test(reclaim_is_called_when_memory_is_low),
		cmocka_unit_test(reclaim_is_called_before_failure),
		cmocka_unit_test(disabled_lists_stay_empty),
		cmocka_unit_test(draining_one_cpu),
		cmocka_unit_test(isolated_parts_are_out_of_reach),
		cmocka_unit_test(freed_half_inside),
		cmocka_unit_test(parts_that_are_none),
		cmocka_unit_test(handlers_are_served_by_lists),
		cmocka_unit_test(a_handler_that_can_go_nowhere),
		cmocka_unit_test(zeros),
		cmocka_unit_test(zeros_of_fresh_pages_cost_no_memory),
		cmocka_unit_test(written_to_after_free),
		cmocka_unit_test(cleared_at_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
