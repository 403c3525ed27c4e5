/* SPDX-License-Identifier: MIT */
/*
 * quire run: a program with quire, once.
 *
 * Like env(1) and time(1) it must not be noticed: stdin and stdout are the
 * command's, its exit code is ours, and what we have to say comes on stderr
 * after it has ended.
 *
 * Whether quire served it is forecast from the file (program.c), so that
 * --strict can refuse before anything happens, and proved afterwards by the
 * records that the processes left: a forecast cannot see an environment that
 * a wrapper cleans.
 */
#include "child.h"
#include "cli.h"
#include "command.h"
#include "keys.h"
#include "paths.h"
#include "result.h"
#include "run_report.h"
#include "run_result.h"
#include "scratch.h"
#include "tally.h"
#include "text.h"
#include "variables.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
	struct keys keys;
	bool strict, quiet, verbose;
	FILE *out; /* of -o; NULL: none */
	struct command command;
	char *library;	     /* NULL: run it without */
	const char *records; /* directory */
};

static void print_help(void)
{
	printf("usage: quire run [options] -- COMMAND [argument...]\n\n%s"
	       "  --strict           fail (125) if quire cannot serve the command\n"
	       "  -o FILE            write the result to FILE as JSON\n"
	       "  -q, --quiet        say nothing but errors\n"
	       "  -v, --verbose      print every counter that is not 0\n"
	       "\nExit: that of COMMAND; 128+n for signal n; 125 own failure,\n"
	       "126 not executable, 127 not found, 2 bad input.\n",
	       keys_help);
}

/* Returns -1 to go on, else the exit code. */
static int parse(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {
		KEYS_OPTIONS,
		{ "strict", no_argument, NULL, 's' },
		{ "output", required_argument, NULL, 'o' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c, rc;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:o:qvh", options, NULL)) != -1) {
		rc = keys_take(&run->keys, c, optarg, "run");
		if (rc == 0)
			continue;
		if (rc == CLI_USAGE)
			return rc;
		if (c == 's')
			run->strict = true;
		else if (c == 'q')
			run->quiet = true;
		else if (c == 'v')
			run->verbose = true;
		else if (c == 'h')
			return print_help(), CLI_OK;
		else if (c != 'o')
			return usage_option(argv, c);
		else if (run->out)
			return usage_error("run: -o is given twice");
		else if ((rc = result_target("run", optarg, &run->out)))
			return rc;
	}
	return -1;
}

/* Returns 0 or the exit code. */
static int prepare(struct run *run)
{
	const struct program *program = &run->command.program;

	if (run->strict && program_refused(program)) {
		say("not run: %s: %s", program->path, program_reason(program));
		return CLI_OWN;
	}
	run->records = scratch_open();
	if (!run->records)
		return CLI_OWN;
	if (program_harmed(program))
		return 0;
	run->library = paths_own_library("libquire-preload.so");
	if (!run->library) {
		say("libquire-preload.so is not found; QUIRE_LIBDIR can name its directory");
		return CLI_OWN;
	}
	run->library = scratch_preloadable(run->library);
	return run->library ? 0 : CLI_OWN;
}

static void set_variables(const struct run *run, struct variables *v)
{
	char *keys = keys_text(&run->keys);
	char *options = xasprintf("%s%sstat_dir=%s", keys, *keys ? "," : "",
				  run->records);

	variables_copy(v, environ);
	if (run->library) {
		variables_add_preload(v, run->library);
		variables_add_options(v, options);
	}
	free(options);
	free(keys);
}

static int write_result(const struct run *run, const struct tally *t,
			const struct child_result *child)
{
	int rc = run_result(run->out, &run->command, t, child);

	if (rc)
		say("cannot write the result: %s", strerror(-rc));
	return rc;
}

/* What is left to do when the command has ended; returns the exit code. */
static int finish(const struct run *run, const struct child_result *child)
{
	struct tally t;
	char *reason;
	int code = child_exit_code(child->status);

	tally_read(&t, run->records, child->pid);
	reason = run_report_reason(&t, child, &run->command.program);
	if (reason && (run->strict || !run->quiet))
		say("%s", reason);
	if (reason && run->strict)
		code = CLI_OWN;
	if (!run->quiet)
		run_report_text(&t, child,
				!reason || t.counter[QUIRE_COUNTER_span_alloc]);
	free(reason);
	if (run->verbose && t.nr)
		run_report_counters(&t);
	if (RESULT_AVAILABLE && run->out && write_result(run, &t, child))
		code = CLI_OWN;
	return code;
}

/* From the start of the command to its end; returns the exit code. */
static int run_command(const struct run *run)
{
	struct child_spec spec = { .path = run->command.path,
				   .argv = run->command.argv,
				   .fd = { -1, -1, -1 } };
	struct child_result child;
	struct variables v;
	int rc;

	set_variables(run, &v);
	spec.envp = v.list;
	child_signals(CHILD_IGNORE);
	rc = child_run(&spec, &child);
	variables_free(&v);
	if (rc)
		return command_failed(&run->command, -rc);
	return finish(run, &child);
}

static void drop(struct run *run)
{
	keys_free(&run->keys);
	command_free(&run->command);
	free(run->library);
}

int cmd_run(int argc, char **argv)
{
	struct run run = { 0 };
	int rc;

	rc = parse(&run, argc, argv);
	if (rc >= 0)
		goto out;
	rc = command_find(&run.command, argv + optind, "run");
	if (!rc)
		rc = prepare(&run);
	if (!rc)
		rc = run_command(&run);
out:
	drop(&run);
	return rc;
}
