/* SPDX-License-Identifier: MIT */
/*
 * Standard input, the same for each run.
 */
#ifndef QUIRE_CLI_SPOOL_H
#define QUIRE_CLI_SPOOL_H

#include <stdbool.h>
#include <sys/types.h>

struct spool {
	int fd; /* -1: runs inherit ours */
	off_t start;
};

/*
 * spool_open - look at our standard input
 * A terminal or another device is left as it is.  A file is rewound for each
 * run to where it stood.  Anything else, a pipe, is read to its end into an
 * unlinked file first.  Returns 0 or CLI_OWN after a message.
 */
int spool_open(struct spool *s, const char *dir);

/* spool_rewind - before each run */
void spool_rewind(const struct spool *s);

void spool_close(struct spool *s);

#endif /* QUIRE_CLI_SPOOL_H */
