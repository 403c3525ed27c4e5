/* SPDX-License-Identifier: MIT */
/*
 * The command that the user wants to run: its file and what kind it is.
 */
#ifndef QUIRE_CLI_COMMAND_H
#define QUIRE_CLI_COMMAND_H

#include "program.h"

struct command {
	char *path;  /* the file to execute; to be freed */
	char **argv; /* the user's words */
	struct program program;
};

/*
 * command_find - look for the command @argv[0] and at its file
 * Returns 0, or after a message the exit code: CLI_USAGE (no command),
 * CLI_NOT_FOUND, CLI_NOT_EXECUTABLE.
 */
int command_find(struct command *c, char **argv, const char *verb);
void command_free(struct command *c);

/* command_failed - say why it did not start; returns the exit code */
int command_failed(const struct command *c, int error);

/* command_text - its words in one line, cut if long; to be freed */
char *command_text(const struct command *c);

/* command_quoted - all of it, as a shell wants it; to be freed */
char *command_quoted(const struct command *c);

#endif /* QUIRE_CLI_COMMAND_H */
