/* SPDX-License-Identifier: MIT */
/*
 * What the options of `quire bench page_fault1` may name.
 */
#ifndef QUIRE_CLI_BENCH_PAGE_FAULT1_H
#define QUIRE_CLI_BENCH_PAGE_FAULT1_H

#include "bench.h"

/* page_fault1_check - the list of --bodies: 0 or CLI_USAGE after a message */
int page_fault1_check(const struct bench_options *o);

#endif /* QUIRE_CLI_BENCH_PAGE_FAULT1_H */
