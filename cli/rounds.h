/* SPDX-License-Identifier: MIT */
/*
 * Running the command of `quire measure`: again and again, in every row.
 */
#ifndef QUIRE_CLI_ROUNDS_H
#define QUIRE_CLI_ROUNDS_H

#include "command.h"
#include "machine.h"
#include "rows.h"
#include "spool.h"

#include <stdbool.h>
#include <stdint.h>

/* What all runs of one measurement share. */
struct rounds {
	const struct command *command;
	const struct machine *machine;
	struct rows *rows;
	struct spool spool;
	const char *scratch;
	char *keys;	       /* options of the preload library, "" or "a=b" */
	unsigned int nr;       /* rounds */
	unsigned int warm_ups; /* runs of each row before them */
	unsigned int timeout_s;
	bool show;	   /* show the output of every run */
	bool stdout_taken; /* stdout is for JSON: show output on stderr */
	bool progress;	   /* stderr is a terminal and not quiet */
	int fd_null;
	unsigned int done, planned; /* runs */
	uint64_t started_ns;	    /* first run after the warm-up of as-is */
};

/* rounds_planned - how many runs there will be at most */
unsigned int rounds_planned(struct rounds *r, unsigned int nr_recorded);

/*
 * rounds_run - warm up, then all rounds
 * @nr_recorded: runs under the recorder that will follow, for the progress line
 * Returns 0, or an exit code after a message: the command could not be
 * started, or a signal ended us.
 */
int rounds_run(struct rounds *r, unsigned int nr_recorded);

/*
 * rounds_record - one run under the recorder
 * @dir: set to the directory of its records, to be freed; NULL on failure
 */
int rounds_record(struct rounds *r, char **dir);

#endif /* QUIRE_CLI_ROUNDS_H */
