/* SPDX-License-Identifier: MIT */
/*
 * The result of `quire run` as JSON.  Needs jansson (result.h).
 */
#ifndef QUIRE_CLI_RUN_RESULT_H
#define QUIRE_CLI_RUN_RESULT_H

#include "child.h"
#include "command.h"
#include "tally.h"

#include <stdio.h>

/* run_result - write and close @f; 0 or a negative errno */
int run_result(FILE *f, const struct command *command, const struct tally *t,
	       const struct child_result *child);

#endif /* QUIRE_CLI_RUN_RESULT_H */
