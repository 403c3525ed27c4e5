/* SPDX-License-Identifier: MIT */
/*
 * Messages of the command: one line each, on stderr, `quire: ` in front.
 *
 * A line is put together first and written by one call, so that it does not
 * mix with the lines of a command that runs at the same time.
 */
#include "cli.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void say_va(const char *fmt, va_list ap)
{
	char line[1024];
	int n;

	n = vsnprintf(line, sizeof(line), fmt, ap);
	if (n >= (int)sizeof(line))
		memcpy(line + sizeof(line) - 4, "...", 4);
	fprintf(stderr, "quire: %s\n", line);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_va(fmt, ap);
	va_end(ap);
}

int usage_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say_va(fmt, ap);
	va_end(ap);
	return CLI_USAGE;
}

int usage_option(char **argv, int c)
{
	const char *word = optind > 0 ? argv[optind - 1] : "";

	if (c == ':' && strncmp(word, "--", 2) == 0)
		return usage_error("%s: option %s needs a value", argv[0],
				   word);
	if (c == ':')
		return usage_error("%s: option -%c needs a value", argv[0],
				   optopt);
	if (strncmp(word, "--", 2) == 0 && optopt)
		return usage_error("%s: option %s takes no value", argv[0],
				   word);
	if (optopt)
		return usage_error(
			"%s: unknown option -%c (see quire %s --help)", argv[0],
			optopt, argv[0]);
	return usage_error("%s: unknown option %s (see quire %s --help)",
			   argv[0], word, argv[0]);
}
