/* SPDX-License-Identifier: MIT */
/*
 * The result of `quire bench` as JSON.  Needs jansson (result.h).
 */
#ifndef QUIRE_CLI_BENCH_RESULT_H
#define QUIRE_CLI_BENCH_RESULT_H

#include "bench.h"
#include "result.h"

/* bench_result - build it; free it with result_free() */
struct result *bench_result(const struct bench *b, char **words);

#endif /* QUIRE_CLI_BENCH_RESULT_H */
