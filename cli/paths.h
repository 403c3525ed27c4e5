/* SPDX-License-Identifier: MIT */
/*
 * Where things are: our own libraries, the command to run, other malloc
 * libraries.
 */
#ifndef QUIRE_CLI_PATHS_H
#define QUIRE_CLI_PATHS_H

#include <stdbool.h>

/*
 * paths_own_library - absolute path of one of our libraries, or of a program
 * that the command starts; to be freed
 * Looked for in $QUIRE_LIBDIR, beside the running `quire` (the build tree:
 * ../preload, ../bench/peers and its own directory), and where it was
 * installed.
 * Returns NULL if it is nowhere.
 */
char *paths_own_library(const char *file);

/* paths_library - the first of the usual directories that has @file, or NULL */
char *paths_library(const char *file);

/*
 * paths_command - find @name as execvp() would
 * @out: its path, to be freed; set only on success
 * Returns 0, -ENOENT, or -EACCES (it is there and cannot be run).
 */
int paths_command(const char *name, char **out);

/* Can @path stand in LD_PRELOAD? A space or a colon would end it. */
bool paths_preloadable(const char *path);

#endif /* QUIRE_CLI_PATHS_H */
