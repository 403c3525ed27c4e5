/* SPDX-License-Identifier: MIT */
/*
 * The rows of `quire measure`: the program as it is, and everything that
 * could be done to it without changing it.
 */
#ifndef QUIRE_CLI_ROWS_H
#define QUIRE_CLI_ROWS_H

#include "machine.h"
#include "program.h"
#include "sample.h"
#include "statistics.h"
#include "tally.h"
#include "variables.h"

#include <stdbool.h>
#include <stddef.h>

enum row_id {
	ROW_AS_IS,
	ROW_THP,
	ROW_ENV,
	ROW_JEMALLOC,
	ROW_MIMALLOC,
	ROW_TCMALLOC,
	ROW_QUIRE,
	NR_ROWS
};

/* What it takes to use a row, cheapest first. */
enum row_price {
	PRICE_NOTHING,
	PRICE_SETTING, /* a variable of glibc */
	PRICE_LIBRARY, /* another malloc, preloaded */
	PRICE_QUIRE,
};

/* How one metric of a row compares with as-is. */
struct comparison {
	double median; /* NAN: not known */
	struct interval against;
	enum verdict verdict;
};

struct row {
	enum row_id id;
	const char *name;
	enum row_price price;
	const char *tunables;	 /* NULL: none */
	char *library;		 /* the malloc library; NULL: none */
	char *preload;		 /* all that it preloads */
	char *idle;		 /* why it is not run; NULL: it is */
	bool missing;		 /* … because it is not installed */
	bool ran;		 /* at least its warm-up */
	int exit_code;		 /* of its warm-up */
	unsigned int nr_strange; /* runs that ended otherwise than that */
	unsigned int nr_timed_out;
	size_t nr; /* samples */
	double *samples[NR_METRICS];
	struct comparison compared[NR_METRICS];
};

struct rows {
	struct row row[NR_ROWS];
	bool asked[NR_ROWS];
	char *stamp; /* library path */
};

/*
 * rows_ask - take the list of --rows ("env,quire"); as-is is always there
 * @list: NULL for all.  Returns 0 or CLI_USAGE after a message.
 */
int rows_ask(struct rows *rows, const char *list);

/* rows_find - the row of a name of @len bytes, NULL if none */
struct row *rows_find(struct rows *rows, const char *name, size_t len);

/*
 * rows_open - find the libraries
 * Returns 0, or CLI_OWN after a message if one of our own is missing.
 */
int rows_open(struct rows *rows, size_t nr_rounds);
void rows_close(struct rows *rows);

/* row_runs - is it asked for and of any effect? */
bool row_runs(const struct rows *rows, enum row_id id);

/*
 * row_variables - the environment of a run
 * @preload: may anything be preloaded?  False: see program_harmed
 */
void row_variables(const struct row *row, bool preload, const char *options,
		   struct variables *v);

/*
 * rows_forecast - mark the rows that cannot have an effect
 * @as_is: the records of the warm-up as it is
 */
void rows_forecast(struct rows *rows, const struct tally *as_is,
		   const struct program *program, const struct machine *m);

/* row_judge - mark it if its own warm-up shows that it had no effect */
void row_judge(struct row *row, const struct tally *warm_up);

void row_add(struct row *row, const struct sample *s);

/* rows_compare - fill in `compared` of all rows, when the runs are done */
void rows_compare(struct rows *rows);

/* row_failed - did it end otherwise than as-is? Its times mean nothing then. */
bool row_failed(const struct rows *rows, enum row_id id);

/* row_broke - does it end badly where as-is, which always ends alike, does not?
 */
bool row_broke(const struct rows *rows, enum row_id id);

#endif /* QUIRE_CLI_ROWS_H */
