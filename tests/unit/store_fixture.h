/* SPDX-License-Identifier: MIT */
/*
 * One store of one shard, and a clock that stands still unless a test says
 * otherwise, so that every number is exact.
 */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include "region.h"

#include "os/sim.h"

static struct store store;

static inline void open_with(struct store_options options)
{
	assert_int_equal(store_open(&store, &options), 0);
}

static inline int setup(void **state)
{
	(void)state;
	sim_start();
	open_with(quiet_options());
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	store_close(&store);
	sim_stop();
	return 0;
}

/* The same store, opened again with other options. */
static inline void reopen(struct store_options options)
{
	store_close(&store);
	open_with(options);
}

static inline char *alloc(size_t bytes)
{
	char *block = store_alloc(&store, bytes, PAGE_SIZE, false);

	assert_non_null(block);
	assert_true(store_usable(&store, block) >= bytes);
	return block;
}

static inline void give(void *block)
{
	assert_int_equal(store_free(&store, block), 0);
}

/* Blocks side by side: a fresh one is cut, so that it is sure what touches. */
static inline void in_a_row(char **at, const size_t *bytes, int nr)
{
	size_t sum = 0;
	char *whole;

	for (int i = 0; i < nr; i++)
		sum += bytes[i];
	store_trim(&store);
	whole = alloc(2 * sum);
	give(whole);
	for (int i = 0; i < nr; i++) {
		at[i] = alloc(bytes[i]);
		assert_ptr_equal(at[i], whole);
		whole += bytes[i];
	}
	store_trim(&store);
}

static inline void three_in_a_row(char *at[3], size_t bytes)
{
	size_t sizes[] = { bytes, bytes, bytes };

	in_a_row(at, sizes, 3);
}

/* Blocks at even places, and between them others, so that they do not touch. */
static inline void apart(char **at, size_t first, size_t step_down, int nr)
{
	size_t sizes[32] = { 0 };
	char *all[32];

	for (int i = 0; i < nr; i++) {
		sizes[2 * i] = first - (size_t)i * step_down;
		sizes[2 * i + 1] = 128 * KIB;
	}
	in_a_row(all, sizes, 2 * nr);
	for (int i = 0; i < nr; i++)
		at[i] = all[2 * i];
}

static inline void fill(char *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 512)
		block[i] = (char)(i >> 9);
}

static inline void expect_filled(const char *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 512)
		assert_int_equal(block[i], (char)(i >> 9));
}

#endif /* TESTS_UNIT_STORE_FIXTURE_H */
