/* SPDX-License-Identifier: MIT */
/*
 * The prescription of `quire measure`: the cheapest thing that gets the gain.
 */
#ifndef QUIRE_CLI_PRESCRIBE_H
#define QUIRE_CLI_PRESCRIBE_H

#include "command.h"
#include "machine.h"
#include "recording.h"
#include "rows.h"

#include <stdio.h>

struct prescription {
	enum row_id choice; /* ROW_AS_IS: leave it as it is */
	enum row_id best;   /* the fastest row that counts */
	double noise;	   /* widest half interval of wall time, of the ratio */
	double again;	   /* seconds that buying pages again takes; NAN */
	double refault;	   /* of system time, 0..1; NAN: not known */
	double not_memory; /* of all processor time, 0..1; NAN: not known */
};

/*
 * prescribe - choose
 */
void prescribe(const struct rows *rows, const struct recording *recording,
	       const struct fault_cost *fault, struct prescription *out);

/* What prescribe_print() tells besides the choice. */
struct prescribe_view {
	const struct rows *rows;
	const struct recording *recording;
	const struct command *command;
	struct fault_cost fault;
};

void prescribe_print(const struct prescription *p,
		     const struct prescribe_view *view, FILE *f);

/* prescribe_line - the line to paste, to be freed */
char *prescribe_line(const struct prescription *p,
		     const struct prescribe_view *view);

#endif /* QUIRE_CLI_PRESCRIBE_H */
