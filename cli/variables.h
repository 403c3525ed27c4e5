/* SPDX-License-Identifier: MIT */
/*
 * An environment that is put together for a command: a copy of ours with the
 * user's own values extended, never replaced.
 */
#ifndef QUIRE_CLI_VARIABLES_H
#define QUIRE_CLI_VARIABLES_H

#include <stddef.h>

struct variables {
	char **list; /* NULL-terminated, each "NAME=value", ours to free */
	size_t nr;
};

void variables_copy(struct variables *v, char *const *from);
void variables_free(struct variables *v);

/* variables_get - the value of @name, NULL if it is not set */
const char *variables_get(const struct variables *v, const char *name);

void variables_set(struct variables *v, const char *name, const char *value);

/*
 * Extend what the user has set:
 *   preload   "ours:theirs"   ours first, so that ours is what gets called
 *   tunables  "theirs:ours"   the C library lets the last one win
 *   options   "theirs,ours"   the same
 */
void variables_add_preload(struct variables *v, const char *libs);
void variables_add_tunables(struct variables *v, const char *tunables);
void variables_add_options(struct variables *v, const char *options);

#endif /* QUIRE_CLI_VARIABLES_H */
