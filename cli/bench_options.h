/* SPDX-License-Identifier: MIT */
/*
 * The options of `quire bench`.
 */
#ifndef QUIRE_CLI_BENCH_OPTIONS_H
#define QUIRE_CLI_BENCH_OPTIONS_H

#include "bench.h"

/* To whom an option belongs; no bit: to every bench, and to `all`. */
enum { BENCH_BIGFREE = 1, BENCH_PAGE_FAULT1 = 2 };

/*
 * bench_options_read - from the words behind `bench`
 * @name: set to the word that is no option
 * @used: set to the benches whose own options were given
 * Returns -1 to go on; else the exit code: CLI_OK after --help, CLI_USAGE.
 */
int bench_options_read(struct bench_options *o, int argc, char **argv,
		       const char **name, unsigned int *used);

#endif /* QUIRE_CLI_BENCH_OPTIONS_H */
