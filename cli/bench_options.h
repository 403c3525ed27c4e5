/* SPDX-License-Identifier: MIT */
/*
 * The options of `quire bench`.
 */
#ifndef QUIRE_CLI_BENCH_OPTIONS_H
#define QUIRE_CLI_BENCH_OPTIONS_H

#include "bench.h"

/* To whom an option belongs. */
enum {
	BENCH_BIGFREE = 1 << 0,
	BENCH_PAGE_FAULT1 = 1 << 1,
	BENCH_PAGE = 1 << 2,
	BENCH_TIME = 1 << 3,
	BENCH_READTWICE = 1 << 4,
	BENCH_LRU = 1 << 5,
	BENCH_ALL = (1 << 6) - 1,
};

/* An option that was given and that some benches do not have; NULL: none. */
struct bench_foreign {
	const char *option[6]; /* by bit of the bench */
};

/*
 * bench_options_read - from the words behind `bench`
 * @name: set to the word that is no option
 * @foreign: set to the first option that each bench does not have
 * Returns -1 to go on; else the exit code: CLI_OK after --help, CLI_USAGE.
 */
int bench_options_read(struct bench_options *o, int argc, char **argv,
		       const char **name, struct bench_foreign *foreign);

#endif /* QUIRE_CLI_BENCH_OPTIONS_H */
