/* SPDX-License-Identifier: MIT */
/*
 * What `quire bench page_bench` measures: its variants, in the order of its
 * tables.
 */
#ifndef QUIRE_CLI_BENCH_PAGE_H
#define QUIRE_CLI_BENCH_PAGE_H

#include "bench.h"

#include <stddef.h>

/* Variants in one group share a pool, and so a process. */
struct page_group {
	const char *variant[8]; /* NULL-terminated */
	bool aged;
	bool ours; /* for cases of ours only */
};

extern const struct page_group page_groups[];
extern const size_t page_nr_groups;

/* The six tests, as a variant that can be asked for. */
#define PAGE_TESTS "tests"

/* page_check - the lists of the options: 0 or CLI_USAGE after a message */
int page_check(const struct bench_options *o);

/* page_listed - is @word in the list of --cases or --variants?  NULL has all */
bool page_listed(const char *list, const char *word);

#endif /* QUIRE_CLI_BENCH_PAGE_H */
