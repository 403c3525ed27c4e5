/* SPDX-License-Identifier: MIT */
/*
 * One sample of a bench, from a process of its own.
 */
#ifndef QUIRE_CLI_BENCH_CHILD_H
#define QUIRE_CLI_BENCH_CHILD_H

#include "bench.h"

#include <stdbool.h>

/*
 * bench_child - run `quire bench WORDS` and add its answers
 * @key: bench, case and variant; NULL: a warm-up, its answers are dropped
 * @preload: with the preload library, which must have served it
 * Returns 0 or the exit code, after a message.
 */
int bench_child(struct bench *b, const char *const *words,
		const struct series_key *key, bool preload);

#endif /* QUIRE_CLI_BENCH_CHILD_H */
