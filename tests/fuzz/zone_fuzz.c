/* SPDX-License-Identifier: MIT */
/*
 * The free lists of a zone, for libFuzzer (`make fuzz`): the first byte of an
 * input is the zone's shape, the rest a script of operations (buddy_model.h).
 * What is wrong panics, which the fuzzer sees.
 */
#include "buddy_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return -1; /* not worth keeping */
	model_run(&model_shapes[data[0] % model_nr_small_shapes], data + 1,
		  size - 1);
	return 0;
}
