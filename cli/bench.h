/* SPDX-License-Identifier: MIT */
/*
 * `quire bench`: what the verb, its benches and their child processes share.
 *
 *	bench.c ──> bench_bigfree.c ──────┬──> bench_child.c ══ exec ══╗
 *	       ├──> bench_page_fault1.c ──┤                            ║
 *	       ├──> bench_page.c ─────────┤                            ║
 *	       ├──> bench_time.c ─────────┤                            ║
 *	       ├──> bench_readtwice.c ────┤                            ║
 *	       └──> bench_lru.c ──────────┘                            ║
 *	bench.c <═══ "quire bench .free …", ".touch …" … ══════════════╣
 *	       ├──> bench_free.c     one block is given back once      ║
 *	       ├──> bench_touch.c    one body runs for a while         ║
 *	       ├──> bench_twice.c    groups read for a while           ║
 *	       └──> bench_lru_ops.c  one operation, again and again    ║
 *	bench/peers <══ a program of its own for each that has pages ══╝
 *
 * Every sample comes from a process of its own, started in the same way for
 * all cases: no case inherits helper threads, kept memory or page tables of
 * the one before, and the only thing that a case under the preload library
 * has more is that library.
 */
#ifndef QUIRE_CLI_BENCH_H
#define QUIRE_CLI_BENCH_H

#include "bench_load.h"
#include "bench_series.h"
#include "machine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { BENCH_LIST = 16 };

struct bench_list {
	size_t nr;
	uint64_t v[BENCH_LIST];
};

enum bench_pages { BENCH_4K, BENCH_THP, BENCH_HUGETLB, BENCH_ANY };

/* "4k", "thp", "hugetlb"; "any": as the system gives them */
extern const char *const bench_pages_name[BENCH_ANY + 1];

struct bench_options {
	unsigned int rounds;
	bool json, quiet;
	FILE *out;	     /* of -o */
	unsigned int wait_s; /* for others to be done, for each run */
	/* bigfree */
	struct bench_list sizes;
	bool size_given, scale;
	struct bench_list workers;
	struct bench_list pages; /* enum bench_pages */
	unsigned int busy;
	/* bigfree, page_bench, lru */
	const char *cases; /* NULL: all */
	/* page_bench */
	const char *variants; /* NULL: all */
	unsigned int loops;
	/* page_fault1 */
	const char *bodies; /* NULL: all */
	struct bench_list threads, processes;
	double seconds; /* between two samples */
	unsigned int samples;
	/* readtwice */
	struct bench_list groups, locks; /* locks: into readtwice_lock[] */
	/* readtwice, lru */
	double duration; /* s, of a run; 0: as the bench has it */
};

/* One bench that runs, or all of them. */
struct bench {
	const struct bench_options *options;
	struct machine machine;
	struct series_set series;
	struct bench_load load;
	/* of the runs since bench_note_load() */
	double took_s, others_s, steal_s;
	unsigned int disturbed;	  /* runs that others disturbed, kept */
	struct bench_note *notes; /* what was not measured, and why */
	size_t nr_notes;
	unsigned int planned, done; /* child processes */
	uint64_t started_ns;
	bool progress;
};

struct bench_note {
	char *name;
	char *why;
};

void bench_note(struct bench *b, const char *name, char *why);

/* bench_note_load - a sample of what others used during the runs since then */
void bench_note_load(struct bench *b, const char *name);

/* bench_progress - say what runs now, on a terminal */
void bench_progress(struct bench *b, const char *what, const char *variant);
void bench_progress_clear(const struct bench *b);

/* Each: 0 or the exit code, after a message; then its table on stdout. */
int bench_bigfree(struct bench *b);
void bench_bigfree_print(const struct bench *b, FILE *f);
int bench_page_fault1(struct bench *b);
void bench_page_fault1_print(const struct bench *b, FILE *f);
int bench_page(struct bench *b);
void bench_page_print(const struct bench *b, FILE *f);
int bench_time(struct bench *b);
void bench_time_print(const struct bench *b, FILE *f);
int bench_readtwice(struct bench *b);
void bench_readtwice_print(const struct bench *b, FILE *f);
int bench_lru(struct bench *b);
void bench_lru_print(const struct bench *b, FILE *f);

/* In the child: answer with "name value" lines on stdout; an exit code. */
int bench_free(int argc, char **argv);
int bench_touch(int argc, char **argv);
int bench_twice(int argc, char **argv);
int bench_lru_ops(int argc, char **argv);

/* bench_answer - one such line */
void bench_answer(const char *name, double value);

uint64_t bench_now_ns(void);

#endif /* QUIRE_CLI_BENCH_H */
