/* SPDX-License-Identifier: MIT */
/*
 * One sample of a bench, from a process of its own.
 */
#ifndef QUIRE_CLI_BENCH_CHILD_H
#define QUIRE_CLI_BENCH_CHILD_H

#include "bench.h"

#include <stdbool.h>

/* What runs, and with what. */
struct bench_run {
	const char *const *words; /* behind its name; NULL-terminated */
	const char *program;	  /* NULL: `quire bench` itself */
	const char *library;	  /* that it preloads; NULL: none */
	const char *const
		*settings; /* NAME, value, NAME …, NULL; may be NULL */
	bool preload;	   /* with the preload library, which must serve it */
};

/*
 * bench_child_of - run it and add its answers
 * @key: bench, case and variant; NULL: a warm-up, its answers are dropped.
 * An answer may name a variant of its own: "VARIANT/METRIC value".
 * Returns 0 or the exit code, after a message.
 */
int bench_child_of(struct bench *b, const struct bench_run *run,
		   const struct series_key *key);

/* bench_child - the same with `quire bench WORDS` */
int bench_child(struct bench *b, const char *const *words,
		const struct series_key *key, bool preload);

#endif /* QUIRE_CLI_BENCH_CHILD_H */
