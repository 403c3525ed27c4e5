/* SPDX-License-Identifier: MIT */
/*
 * Random scripts of operations on free lists, in zones of many shapes, against
 * a model of them (buddy_model.h).  A failure prints what to run again:
 *
 *	QUIRE_TEST_SEED=n     this seed only
 *	QUIRE_TEST_SEEDS=n    seeds 1 to n for each shape
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/assert.h"
#include "buddy_model.h"

#define SCRIPT_MAX   8192
#define SMALL_SCRIPT 8192
#define LARGE_SCRIPT 2048

static const struct shape *shape_now;
static unsigned long seed_now;

static void say_seed(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: %s\n%s: QUIRE_TEST_SEED=%lu\n", file, line,
		what, shape_now->name, seed_now);
	abort();
}

static unsigned long from_environment(const char *name, unsigned long usual)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : usual;
}

static void make_up(uint8_t *script, size_t len, unsigned long seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u | 1;

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		script[i] = (uint8_t)(x >> 32);
	}
}

static void run_seed(const struct shape *shape, unsigned long seed, size_t len)
{
	static uint8_t script[SCRIPT_MAX];

	seed_now = seed;
	make_up(script, len, seed);
	assert_true(model_run(shape, script, len) > 0);
}

static void run_shapes(size_t from, size_t to, unsigned long nr_seeds,
		       size_t len)
{
	unsigned long only = from_environment("QUIRE_TEST_SEED", 0);

	nr_seeds = from_environment("QUIRE_TEST_SEEDS", nr_seeds);
	panic_hook = say_seed;
	for (size_t i = from; i < to; i++) {
		shape_now = &model_shapes[i];
		if (only)
			run_seed(shape_now, only, len);
		for (unsigned long seed = 1; !only && seed <= nr_seeds; seed++)
			run_seed(shape_now, seed, len);
	}
}

static void test_small_zones(void **state)
{
	(void)state;
	run_shapes(0, model_nr_small_shapes, 40, SMALL_SCRIPT);
}

static void test_large_zones(void **state)
{
	(void)state;
	run_shapes(model_nr_small_shapes, model_nr_shapes, 6, LARGE_SCRIPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_zones),
		cmocka_unit_test(test_large_zones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
