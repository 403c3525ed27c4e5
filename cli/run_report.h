/* SPDX-License-Identifier: MIT */
/*
 * What `quire run` tells when the command has ended.
 */
#ifndef QUIRE_CLI_RUN_REPORT_H
#define QUIRE_CLI_RUN_REPORT_H

#include "child.h"
#include "command.h"
#include "tally.h"

#include <stdbool.h>

/*
 * run_report_reason - why quire did not serve the command, to be freed
 * NULL if it did.
 */
char *run_report_reason(const struct tally *t, const struct child_result *child,
			const struct program *program);

/*
 * run_report_text - at most eight lines on stderr
 * @served: false leaves out what only quire could have done
 */
void run_report_text(const struct tally *t, const struct child_result *child,
		     bool served);

/* run_report_counters - every counter that is not 0, on stderr */
void run_report_counters(const struct tally *t);

#endif /* QUIRE_CLI_RUN_REPORT_H */
