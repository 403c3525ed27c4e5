/* SPDX-License-Identifier: MIT */
/*
 * The line that time_bench prints for a loop.
 */
#ifndef QUIRE_CLI_BENCH_LINE_H
#define QUIRE_CLI_BENCH_LINE_H

#include <stddef.h>
#include <stdint.h>

struct bench_line {
	const char *name;
	uint64_t step;	 /* a tag: an order, a number */
	uint64_t ns;	 /* that the loop took */
	uint64_t cycles; /* the same; 0: this machine does not say */
	uint64_t nr;	 /* elements; at least 1 */
};

/*
 * bench_line - "Type:NAME Per elem: C cycles(tsc) N.NNN ns (step:S) - (…)"
 * Cycles are a whole quotient, and nanoseconds are cut, not rounded: so are
 * those of time_bench.  Returns the length that it has, like snprintf.
 */
int bench_line(const struct bench_line *l, char *buf, size_t len);

#endif /* QUIRE_CLI_BENCH_LINE_H */
