/* SPDX-License-Identifier: MIT */
/* What is free after the trace of trace_test.c; written by it. */
#ifndef TESTS_UNIT_TRACE_GOLDEN_H
#define TESTS_UNIT_TRACE_GOLDEN_H

/* clang-format off */
static const char golden[] =
	"Page block order: 9\n"
	"Pages per block:  512\n"
	"\n"
	"Free pages count per migrate type at order      0      1      2      3      4      5      6      7      8      9     10     11     12     13     14     15     16     17     18 \n"
	"Node    0, zone shard0  , type    Unmovable      2      1      1      6      2      6      5      8      8      2      0      0      0      0      0      0      0      0      0 \n"
	"Node    0, zone shard0  , type      Movable     12     13      5     11     11      7      4      0      0      5      0      0      0      0      0      0      0      0      0 \n"
	"Node    0, zone shard0  , type      Isolate      0      0      0      0      0      0      0      0      0      0      0      0      0      0      0      0      0      0      0 \n"
	"\n"
	"Number of blocks type    Unmovable      Movable      Isolate \n"
	"Node 0, zone shard0             56           72            0 \n";
/* clang-format on */

#endif /* TESTS_UNIT_TRACE_GOLDEN_H */
