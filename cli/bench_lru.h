/* SPDX-License-Identifier: MIT */
/*
 * `quire bench lru`: the cases that the bench and its child share.
 */
#ifndef QUIRE_CLI_BENCH_LRU_H
#define QUIRE_CLI_BENCH_LRU_H

#include "bench.h"

#include <stdbool.h>

#define LRU_SECONDS 0.2

/* lru_check - the list of --cases: 0 or CLI_USAGE after a message */
int lru_check(const struct bench_options *o);

/* lru_is_variant - is there such a case, and has it such a variant? */
bool lru_is_variant(const char *name, const char *variant);

#endif /* QUIRE_CLI_BENCH_LRU_H */
