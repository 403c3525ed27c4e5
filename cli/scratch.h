/* SPDX-License-Identifier: MIT */
/*
 * The private directory of one `run` or `measure`: records of processes, and
 * links to libraries whose own path cannot stand in LD_PRELOAD.
 */
#ifndef QUIRE_CLI_SCRATCH_H
#define QUIRE_CLI_SCRATCH_H

/*
 * scratch_open - make the directory, below TMPDIR or /tmp
 * It is removed when the command exits.  Returns its path, or NULL after a
 * message.
 */
const char *scratch_open(void);

/* scratch_sub - make and name a directory below it; NULL after a message */
char *scratch_sub(const char *name);

/* scratch_remove - remove a directory and what is in it */
void scratch_remove(const char *dir);

/*
 * scratch_preloadable - a name for library @path that LD_PRELOAD can hold
 * Takes @path over; returns it or a link to it; NULL after a message.
 */
char *scratch_preloadable(char *path);

#endif /* QUIRE_CLI_SCRATCH_H */
