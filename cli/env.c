/* SPDX-License-Identifier: MIT */
/*
 * quire env: the variables that `quire run` sets, for a container, a unit
 * file or a shell.
 *
 * A shell and a Dockerfile extend what is there when the line is used; the
 * plain form extends what is there now; a unit file cannot extend anything,
 * and systemd starts services without an LD_PRELOAD.
 */
#include "cli.h"
#include "keys.h"
#include "paths.h"
#include "text.h"
#include "variables.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum env_form {
	FORM_PLAIN,
	FORM_SHELL,
	FORM_DOCKER,
	FORM_SYSTEMD,
};

static void print_help(void)
{
	printf("usage: quire env [--shell|--docker|--systemd] [options]\n\n"
	       "  --shell            export lines for a shell\n"
	       "  --docker           ENV lines for a Dockerfile\n"
	       "  --systemd          Environment= lines for a unit file\n"
	       "                     (none of them: NAME=VALUE, for env $(quire env) COMMAND)\n"
	       "%s",
	       keys_help);
}

/* 'text' for a shell. */
static void put_shell_quoted(const char *s)
{
	putchar('\'');
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*s);
	}
	putchar('\'');
}

static void put_shell(const char *library, const char *options)
{
	fputs("export LD_PRELOAD=", stdout);
	put_shell_quoted(library);
	puts("\"${LD_PRELOAD:+:$LD_PRELOAD}\"");
	if (!*options)
		return;
	fputs("export QUIRE_OPTIONS=\"${QUIRE_OPTIONS:+$QUIRE_OPTIONS,}\"",
	      stdout);
	put_shell_quoted(options);
	putchar('\n');
}

/* In double quotes, with @special behind a backslash and % doubled for units.
 */
static void put_quoted(const char *s, const char *special, bool percent)
{
	for (; *s; s++) {
		if (strchr(special, *s))
			putchar('\\');
		else if (percent && *s == '%')
			putchar('%');
		putchar(*s);
	}
}

static void put_docker(const char *library, const char *options)
{
	fputs("ENV LD_PRELOAD=\"", stdout);
	put_quoted(library, "\\\"$", false);
	puts("${LD_PRELOAD:+:$LD_PRELOAD}\"");
	if (!*options)
		return;
	fputs("ENV QUIRE_OPTIONS=\"${QUIRE_OPTIONS:+$QUIRE_OPTIONS,}", stdout);
	put_quoted(options, "\\\"$", false);
	puts("\"");
}

static void put_systemd(const char *library, const char *options)
{
	fputs("Environment=\"LD_PRELOAD=", stdout);
	put_quoted(library, "\\\"", true);
	puts("\"");
	if (!*options)
		return;
	fputs("Environment=\"QUIRE_OPTIONS=", stdout);
	put_quoted(options, "\\\"", true);
	puts("\"");
}

/*
 * For `env $(quire env)`: the shell splits at blanks and expands patterns, so
 * nothing of that kind may stand in a value.
 */
static int put_plain(const char *library, const char *options)
{
	static const char *const names[] = { "LD_PRELOAD", "QUIRE_OPTIONS" };
	struct variables v;
	const char *value;
	char *theirs;
	int i, rc = CLI_OK;

	variables_copy(&v, environ);
	value = variables_get(&v, "LD_PRELOAD");
	theirs = xstrdup(value ? value : "");
	/* LD_PRELOAD may be separated by blanks; colons mean the same */
	for (i = 0; theirs[i]; i++)
		if (theirs[i] == ' ')
			theirs[i] = ':';
	variables_set(&v, "LD_PRELOAD", theirs);
	free(theirs);
	variables_add_preload(&v, library);
	if (*options)
		variables_add_options(&v, options);
	for (i = 0; i < (*options ? 2 : 1) && !rc; i++)
		if (strpbrk(variables_get(&v, names[i]), " \t\n*?[\\"))
			rc = usage_error(
				"env: %s cannot be printed for $(...): "
				"'%s'; use --shell",
				names[i], variables_get(&v, names[i]));
	for (i = 0; i < (*options ? 2 : 1) && !rc; i++)
		printf("%s=%s\n", names[i], variables_get(&v, names[i]));
	variables_free(&v);
	return rc;
}

static int put(enum env_form form, const char *library, const char *options)
{
	switch (form) {
	case FORM_SHELL:
		put_shell(library, options);
		break;
	case FORM_DOCKER:
		put_docker(library, options);
		break;
	case FORM_SYSTEMD:
		put_systemd(library, options);
		break;
	case FORM_PLAIN:
		return put_plain(library, options);
	}
	return CLI_OK;
}

/* Returns -1 to go on, else the exit code. */
static int parse(int argc, char **argv, struct keys *keys, enum env_form *form)
{
	static const struct option options[] = {
		KEYS_OPTIONS,
		{ "shell", no_argument, NULL, FORM_SHELL },
		{ "docker", no_argument, NULL, FORM_DOCKER },
		{ "systemd", no_argument, NULL, FORM_SYSTEMD },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c, rc;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:h", options, NULL)) != -1) {
		rc = keys_take(keys, c, optarg, "env");
		if (rc == 0)
			continue;
		if (rc == CLI_USAGE)
			return rc;
		if (c == 'h')
			return print_help(), CLI_OK;
		if (c != FORM_SHELL && c != FORM_DOCKER && c != FORM_SYSTEMD)
			return usage_option(argv, c);
		else if (*form != FORM_PLAIN && *form != (enum env_form)c)
			return usage_error(
				"env: give one of --shell, --docker, --systemd");
		else
			*form = (enum env_form)c;
	}
	if (argv[optind])
		return usage_error(
			"env: '%s' is not expected; env takes options only",
			argv[optind]);
	return -1;
}

/* Returns the exit code. */
static int print_variables(enum env_form form, const struct keys *keys)
{
	char *library = paths_own_library("libquire-preload.so");
	char *options = keys_text(keys);
	int rc = CLI_OWN;

	if (!library)
		say("libquire-preload.so is not found; QUIRE_LIBDIR can name its directory");
	else if (!paths_preloadable(library))
		rc = usage_error(
			"env: '%s' has a blank or a colon, which LD_PRELOAD cannot hold",
			library);
	else
		rc = put(form, library, options);
	free(options);
	free(library);
	return rc;
}

int cmd_env(int argc, char **argv)
{
	enum env_form form = FORM_PLAIN;
	struct keys keys = { { NULL } };
	int rc;

	rc = parse(argc, argv, &keys, &form);
	if (rc < 0)
		rc = print_variables(form, &keys);
	keys_free(&keys);
	return rc;
}
