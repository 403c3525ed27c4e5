/* SPDX-License-Identifier: MIT */
/*
 * The line that time_bench prints for a loop.
 */
#include "bench_line.h"

#include <inttypes.h>
#include <stdio.h>

enum { THOUSAND = 1000, BILLION = 1000000000 };

int bench_line(const struct bench_line *l, char *buf, size_t len)
{
	uint64_t whole = l->ns / l->nr, rest = l->ns % l->nr;

	return snprintf(buf, len,
			"Type:%s Per elem: %" PRIu64 " cycles(tsc) %" PRIu64
			".%03" PRIu64 " ns (step:%" PRIu64
			") - (measurement period time:%" PRIu64 ".%09" PRIu64
			" sec time_interval:%" PRIu64
			") - (invoke count:%" PRIu64 " tsc_interval:%" PRIu64
			")",
			l->name, l->cycles / l->nr, whole,
			rest * THOUSAND / l->nr, l->step, l->ns / BILLION,
			l->ns % BILLION, l->ns, l->nr, l->cycles);
}
