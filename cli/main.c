/* SPDX-License-Identifier: MIT */
/*
 * quire - the command: find the verb and hand over.
 */
#include "cli.h"

#include <quire/quire.h>

#include <stdio.h>
#include <string.h>

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "run", cmd_run, "run a program with quire, once" },
	{ "measure", cmd_measure,
	  "is it worth it? your program beside every alternative" },
	{ "env", cmd_env,
	  "the variables that run sets, for a container or unit file" },
	{ "doctor", cmd_doctor, "what works on this machine" },
	{ "bench", cmd_bench, "mechanisms side by side, on this machine" },
};
enum { NR_VERBS = sizeof(verbs) / sizeof(*verbs) };

static void print_help(FILE *out)
{
	int i;

	fputs("usage: quire VERB [options] [-- COMMAND...]\n\n", out);
	for (i = 0; i < NR_VERBS; i++)
		fprintf(out, "  %-9s%s\n", verbs[i].name, verbs[i].help);
	fputs("\n  quire VERB --help   its options\n"
	      "  quire --version     the version\n",
	      out);
}

static int run_verb(int argc, char **argv)
{
	int i;

	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return CLI_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("quire %s\n", quire_version());
		return CLI_OK;
	}
	for (i = 0; i < NR_VERBS; i++)
		if (!strcmp(argv[1], verbs[i].name))
			return verbs[i].run(argc - 1, argv + 1);
	return usage_error("unknown verb '%s' (see quire --help)", argv[1]);
}

/* What was printed must have arrived: a full disk is a failure, not a result.
 */
int main(int argc, char **argv)
{
	int status = run_verb(argc, argv);

	if ((fflush(stdout) || ferror(stdout)) && status == CLI_OK) {
		say("cannot write standard output");
		return CLI_OWN;
	}
	return status;
}
