/* SPDX-License-Identifier: MIT */
/*
 * A buddy allocator with a model of it at its side, driven by a script of
 * bytes: the model test makes up scripts, the fuzzer finds them.
 *
 * The model knows of each page whether it is free, out, or no page at all, and
 * whether it is fresh.  After each operation the walker of the buddy runs, its
 * free blocks are compared with the model's free pages, and its counts with the
 * model's.  What an operation returns must be possible; when it returns
 * nothing, the model is searched for a place where it would have fitted.
 *
 * Anything wrong panics.
 */
#ifndef TESTS_FUZZ_BUDDY_MODEL_H
#define TESTS_FUZZ_BUDDY_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct shape {
	const char *name;
	uint32_t start, end;
	struct {
		uint32_t page, nr;
	} holes[4];
};

extern const struct shape model_shapes[];
extern const size_t model_nr_shapes;
/* Those below this are small: fast enough for a fuzzer. */
extern const size_t model_nr_small_shapes;

/* Returns how many operations the script was. */
size_t model_run(const struct shape *shape, const uint8_t *script, size_t len);

#endif /* TESTS_FUZZ_BUDDY_MODEL_H */
