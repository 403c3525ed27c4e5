/* SPDX-License-Identifier: MIT */
/*
 * What the options of `quire bench bigfree` may name.
 */
#ifndef QUIRE_CLI_BENCH_BIGFREE_H
#define QUIRE_CLI_BENCH_BIGFREE_H

#include "bench.h"

/* bigfree_check - the list of --cases: 0 or CLI_USAGE after a message */
int bigfree_check(const struct bench_options *o);

#endif /* QUIRE_CLI_BENCH_BIGFREE_H */
