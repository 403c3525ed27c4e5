/* SPDX-License-Identifier: MIT */
/*
 * `quire bench readtwice`: the sizes that the bench and its child share.
 */
#ifndef QUIRE_CLI_BENCH_READTWICE_H
#define QUIRE_CLI_BENCH_READTWICE_H

#include "bench.h"

enum {
	READTWICE_LOCKS = 2,
	READTWICE_GROUPS_MAX = 256,
	READTWICE_LIMIT = 1024,		      /* pages of a group */
	READTWICE_RING = 4 * READTWICE_LIMIT, /* pages that it reads */
};

#define READTWICE_SECONDS 1.0

/* "group", "node" */
extern const char *const readtwice_lock[READTWICE_LOCKS];

#endif /* QUIRE_CLI_BENCH_READTWICE_H */
