/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU lists, one thread: the same body in each mode, against a model.
 */
#include "region.h"

#include <sched.h>

#include "os/cpu.h"
#include "percpu/percpu.h"

#define ENTRIES 16u

static const enum percpu_mode modes[] = { PERCPU_RSEQ, PERCPU_LOCK,
					  PERCPU_MASK };
static const uint32_t entries[] = { 0, ENTRIES, 1, 1024 };
static struct percpu percpu;

/* False: this mode is not to be had here. */
static bool begin(enum percpu_mode mode)
{
	assert_int_equal(
		percpu_init(&percpu, ARRAY_SIZE(entries), entries, mode), 0);
	if (percpu.mode == mode)
		return true;
	percpu_destroy(&percpu);
	return false;
}

static void end(void)
{
	percpu_check(&percpu);
	percpu_destroy(&percpu);
}

static void for_each_mode(void (*body)(void))
{
	unsigned int ran = 0;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!begin(modes[i]))
			continue;
		body();
		end();
		ran++;
	}
	assert_true(ran || CONFIG_UP);
}

static int stay_here(void **state)
{
	cpu_set_t one;

	(void)state;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return sched_setaffinity(0, sizeof(one), &one);
}

/* A list as an array, newest last. */
static uint32_t model[ENTRIES];
static uint32_t nr_model, limit_model;

static void model_push(uint32_t offset, uint32_t nr, uint32_t *next)
{
	uint32_t in[2 * ENTRIES], room = 0, got;

	if (limit_model > nr_model)
		room = limit_model - nr_model;
	for (uint32_t i = 0; i < nr; i++)
		in[i] = *next + i;
	if (nr == 1)
		got = percpu_push(&percpu, offset, *in);
	else
		got = percpu_push_batch(&percpu, offset, in, nr);
	assert_int_equal(got, nr < room ? nr : room);
	memcpy(model + nr_model, in, got * sizeof(*in));
	nr_model += got;
	*next += got;
}

static void model_pop(uint32_t offset, uint32_t nr)
{
	uint32_t out[2 * ENTRIES], want = nr < nr_model ? nr : nr_model;

	assert_int_equal(percpu_pop_batch(&percpu, offset, out, nr), want);
	for (uint32_t i = 0; i < want; i++)
		assert_int_equal(out[i], model[--nr_model]);
}

static void model_pop_one(uint32_t offset)
{
	int64_t got = percpu_pop(&percpu, offset);

	assert_int_equal(got, nr_model ? (int64_t)model[--nr_model] : -1);
}

static void model_pop_oldest(uint32_t offset, uint32_t nr)
{
	uint32_t out[2 * ENTRIES], want = nr < nr_model ? nr : nr_model;

	assert_int_equal(percpu_pop_oldest(&percpu, offset, out, nr), want);
	for (uint32_t i = 0; i < want; i++)
		assert_int_equal(out[i], model[i]);
	nr_model -= want;
	memmove(model, model + want, nr_model * sizeof(*model));
}

static void one_random_step(uint32_t offset, uint64_t *random, uint32_t *next)
{
	uint32_t nr = (uint32_t)random_below(random, ENTRIES + 3);

	switch (random_below(random, 7)) {
	case 0:
	case 1:
		model_push(offset, 1, next);
		break;
	case 2:
		model_push(offset, nr, next);
		break;
	case 3:
	case 4:
		model_pop_one(offset);
		break;
	case 5:
		model_pop(offset, nr);
		break;
	default:
		model_pop_oldest(offset, nr);
	}
}

static void random_operations(void)
{
	uint32_t offset = percpu.offset[1], next = 0;
	struct slot *slot = percpu_here(&percpu, offset);
	uint64_t random = 42;

	nr_model = 0;
	limit_model = 1;
	for (int i = 0; i < 100000; i++) {
		if (random_below(&random, 50) == 0) {
			limit_model =
				1 + (uint32_t)random_below(&random, ENTRIES);
			percpu_set_limit(slot, limit_model);
		}
		one_random_step(offset, &random, &next);
		assert_int_equal(slot_count(slot), nr_model);
		percpu_check(&percpu);
	}
}

static void operations_match_a_model(void **state)
{
	(void)state;
	for_each_mode(random_operations);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_match_a_model),
	};

	return cmocka_run_group_tests(tests, stay_here, NULL);
}
