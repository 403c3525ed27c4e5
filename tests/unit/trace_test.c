/* SPDX-License-Identifier: MIT */
/*
 * One trace of operations, the same free lists in every build (spec A.9, O5):
 * with lists of CPUs and without, and in the build for one CPU, which has none.
 * What is left after the trace is compared with a text that is kept.
 *
 *	QUIRE_TRACE_PRINT=1 test-trace: write what trace_golden.h should say
 */
#include "pages.h"
#include "trace_golden.h"

#define NR_OPS	40000
#define NR_HELD 2000

static struct quire_zone *zone;
static void *held[NR_HELD];
static char text[1 << 14];

static unsigned int random_order(uint64_t *seed)
{
	static const unsigned char orders[] = { 0, 0, 0, 0, 0, 0, 1, 1,
						2, 3, 4, 5, 6, 7, 9, 10 };

	return orders[random_below(seed, sizeof(orders))];
}

static void one_op(uint64_t *seed)
{
	void **block = &held[random_below(seed, NR_HELD)];

	if (*block) {
		assert_int_equal(quire_block_free(zone, *block), 0);
		*block = NULL;
	} else { /* two statements: the order of arguments is the compiler's */
		unsigned int order = random_order(seed);
		unsigned int flags = random_below(seed, 2) ? QUIRE_MOVABLE : 0;

		*block = quire_block_alloc(zone, order, flags);
	}
}

static void free_all(void)
{
	for (size_t i = 0; i < NR_HELD; i++) {
		if (held[i])
			assert_int_equal(quire_block_free(zone, held[i]), 0);
		held[i] = NULL;
	}
}

static struct quire_zone *open_for_trace(enum quire_pcp pcp)
{
	struct quire_zone_options options = zone_plain();

	options.bytes = (size_t)256 << 20;
	options.pcp = pcp;
	return zone_with(options);
}

static void print(enum quire_zone_text what)
{
	int n;

	quire_zone_drain(zone, -1);
	quire_zone_check(zone);
	n = quire_zone_print(zone, what, text, sizeof(text));
	assert_true(n > 0 && (size_t)n < sizeof(text));
}

static void run(enum quire_pcp pcp)
{
	uint64_t seed = 20180302;

	zone = open_for_trace(pcp);
	for (int i = 0; i < NR_OPS; i++)
		one_op(&seed);
}

static void without_lists(void **state)
{
	(void)state;
	memset(held, 0, sizeof(held));
	run(QUIRE_PCP_OFF);
	print(QUIRE_ZONE_PAGETYPEINFO);
	if (getenv("QUIRE_TRACE_PRINT"))
		printf("%s", text);
	else
		assert_string_equal(text, golden);
	free_all();
	zone_done(zone, 0);
}

/* Lists change which page is handed out, but not what is free in the end. */
static void with_lists(void **state)
{
	static char before[sizeof(text)];

	(void)state;
	zone = open_for_trace(QUIRE_PCP_AUTO);
	print(QUIRE_ZONE_BUDDYINFO);
	memcpy(before, text, sizeof(text));
	zone_done(zone, 0);
	memset(held, 0, sizeof(held));
	run(QUIRE_PCP_AUTO);
	free_all();
	print(QUIRE_ZONE_BUDDYINFO);
	assert_string_equal(text, before);
	zone_done(zone, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_lists),
		cmocka_unit_test(with_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
