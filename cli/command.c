/* SPDX-License-Identifier: MIT */
/*
 * The command that the user wants to run, and the exit codes of env(1) when
 * it cannot be.
 */
#include "command.h"
#include "cli.h"
#include "paths.h"
#include "text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_TEXT = 60 };

int command_find(struct command *c, char **argv, const char *verb)
{
	int rc;

	if (!argv[0])
		return usage_error(
			"%s: no command given (quire %s [options] -- COMMAND)",
			verb, verb);
	memset(c, 0, sizeof(*c));
	c->argv = argv;
	rc = paths_command(argv[0], &c->path);
	if (rc)
		return command_failed(c, -rc);
	program_look(c->path, argv, &c->program);
	return 0;
}

void command_free(struct command *c)
{
	free(c->path);
	program_free(&c->program);
}

int command_failed(const struct command *c, int error)
{
	if (error == ENOENT && !c->path && !strchr(c->argv[0], '/'))
		say("'%s': command not found", c->argv[0]);
	else if (error == ENOENT && c->path)
		say("'%s': its interpreter or loader is missing", c->argv[0]);
	else
		say("'%s': %s", c->argv[0], strerror(error));
	if (error == ENOMEM || error == EAGAIN)
		return CLI_OWN;
	return error == ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
}

char *command_text(const struct command *c)
{
	char *text = xstrdup(c->argv[0]), *longer;
	size_t i;

	for (i = 1; c->argv[i]; i++) {
		longer = xasprintf("%s %s", text, c->argv[i]);
		free(text);
		text = longer;
	}
	for (i = 0; text[i]; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	if (i > COMMAND_TEXT)
		strcpy(text + COMMAND_TEXT - 3, "...");
	return text;
}

/* A word that means itself to a shell. */
static bool is_plain(const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-./,:+@%";

	return *word && !word[strspn(word, plain)];
}

/* 'word', each quote in it as '\'' */
static char *quoted(const char *word)
{
	char *out, *o;

	if (is_plain(word))
		return xstrdup(word);
	out = o = xcalloc(strlen(word) * 4 + 3, 1);
	*o++ = '\'';
	for (; *word; word++) {
		if (*word == '\'')
			o = stpcpy(o, "'\\''");
		else
			*o++ = *word;
	}
	*o = '\'';
	return out;
}

char *command_quoted(const struct command *c)
{
	char *text = xstrdup(""), *longer, *word;
	size_t i;

	for (i = 0; c->argv[i]; i++) {
		word = quoted(c->argv[i]);
		longer = xasprintf("%s%s%s", text, i ? " " : "", word);
		free(word);
		free(text);
		text = longer;
	}
	return text;
}
