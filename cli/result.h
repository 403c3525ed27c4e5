/* SPDX-License-Identifier: MIT */
/*
 * Results as JSON, in the one shape that docs/result-format.md describes.
 *
 * Needs jansson.  Without it RESULT_AVAILABLE is 0, the verbs refuse the
 * options that ask for JSON, and nothing else of this is called.
 */
#ifndef QUIRE_CLI_RESULT_H
#define QUIRE_CLI_RESULT_H

#include "machine.h"

#include <quire/stat.h>

#include <stddef.h>
#include <stdio.h>

enum { RESULT_AVAILABLE = HAVE_JANSSON };

struct result;

/* The constant names of one row of samples. */
struct result_key {
	const char *bench; /* the verb */
	const char *name;  /* "case" */
	const char *metric;
	const char *unit;
	const char *better; /* "lower" or "higher" */
};

struct result *result_new(const struct machine *machine);
void result_free(struct result *r);

/* Entries of "params". */
void result_text(struct result *r, const char *key, const char *value);
void result_number(struct result *r, const char *key, double value);
void result_words(struct result *r, const char *key, char *const *words);
/* params[key][name] = value */
void result_note(struct result *r, const char *key, const char *name,
		 const char *value);
/* params.processes gets one more: the counters of @p */
void result_process(struct result *r, const struct quire_process *p);

/* One entry of "rows"; a sample that is not known (NAN) becomes null. */
void result_row(struct result *r, const struct result_key *key,
		const double *samples, size_t n);

/* result_row_of - the same, with a variant of the case */
void result_row_of(struct result *r, const struct result_key *key,
		   const char *variant, const double *samples, size_t n);

/*
 * result_target - open the file of -o for writing, before anything runs
 * Returns 0 and sets @out; CLI_USAGE after a message, also without jansson.
 */
int result_target(const char *verb, const char *path, FILE **out);

/* result_write - write it to @f, end with a newline; 0 or a negative errno */
int result_write(const struct result *r, FILE *f);

#endif /* QUIRE_CLI_RESULT_H */
