/* SPDX-License-Identifier: MIT */
/*
 * quire measure: is it worth it for this program?
 *
 * Runs the command many times, in turn as it is and with each thing that
 * could be done to it without changing it, once more under a recorder, and
 * ends in a prescription, which may well be "nothing" or "not quire".
 */
#include "child.h"
#include "cli.h"
#include "command.h"
#include "failif.h"
#include "keys.h"
#include "measure_result.h"
#include "prescribe.h"
#include "recording.h"
#include "rounds.h"
#include "scratch.h"
#include "spool.h"
#include "table.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_ROUNDS = 1000,
	MAX_FAILIFS = 16,
	DEFAULT_ROUNDS = 7,
};

struct measure {
	struct keys keys;
	struct rows rows;
	struct rounds rounds;
	struct command command;
	struct machine machine;
	struct recording recording;
	struct fault_cost fault;
	FILE *out; /* of -o */
	const char *row_list;
	const char *failif_text[MAX_FAILIFS];
	struct failif failif[MAX_FAILIFS];
	unsigned int nr_failifs;
	bool json, quiet, verbose, no_record;
};

static void print_help(void)
{
	printf("usage: quire measure [options] -- COMMAND [argument...]\n\n"
	       "  -n N               rounds (7)\n"
	       "  --rows LIST        of thp,env,jemalloc,mimalloc,tcmalloc,quire; as-is always runs\n"
	       "  --warmup N         runs of each row before the rounds (1)\n"
	       "  --timeout S        end a run after S seconds\n"
	       "  --show             show the output of every run, not of the first only\n"
	       "  --no-record        leave out the run under the recorder\n"
	       "  --json             the result as JSON on stdout, no table\n"
	       "  -o FILE            the result as JSON to FILE\n"
	       "  --fail-if COND     exit 3 if COND holds beyond noise: [ROW.]METRIC>+N%% or <-N%%,\n"
	       "                     against as-is; ROW is quire if not given; METRIC is one of\n"
	       "                     wall user system faults peak_rss end_rss exit\n"
	       "  -q, --quiet        no progress, no remarks\n"
	       "  -v, --verbose      every metric with ratio and interval\n"
	       "for the row quire:\n%s",
	       keys_help);
}

static int take_number(const char *option, const char *arg, unsigned int low,
		       unsigned int high, unsigned int *out)
{
	uint64_t n;

	if (text_number(arg, &n) || n < low || n > high)
		return usage_error(
			"measure: %s '%s' is not a number from %u to %u",
			option, arg, low, high);
	*out = (unsigned int)n;
	return 0;
}

static int take_failif(struct measure *m, const char *text)
{
	if (m->nr_failifs == MAX_FAILIFS)
		return usage_error("measure: more than %d times --fail-if",
				   MAX_FAILIFS);
	m->failif_text[m->nr_failifs++] = text;
	return 0;
}

static int take_output(struct measure *m, const char *path)
{
	if (m->out)
		return usage_error("measure: -o is given twice");
	return result_target("measure", path, &m->out);
}

/* Options with a value.  Returns 0 or CLI_USAGE; 1: not one of them. */
static int take_value(struct measure *m, int c, const char *arg)
{
	switch (c) {
	case 'n':
		return take_number("-n", arg, 1, MAX_ROUNDS, &m->rounds.nr);
	case 'w':
		return take_number("--warmup", arg, 1, MAX_ROUNDS,
				   &m->rounds.warm_ups);
	case 't':
		return take_number("--timeout", arg, 1, 1000000,
				   &m->rounds.timeout_s);
	case 'r':
		m->row_list = arg;
		return 0;
	case 'f':
		return take_failif(m, arg);
	case 'o':
		return take_output(m, arg);
	default:
		return keys_take(&m->keys, c, arg, "measure");
	}
}

/* Options without one.  False: not one of them. */
static bool take_flag(struct measure *m, int c)
{
	switch (c) {
	case 's':
		m->rounds.show = true;
		return true;
	case 'R':
		m->no_record = true;
		return true;
	case 'j':
		m->json = true;
		return true;
	case 'q':
		m->quiet = true;
		return true;
	case 'v':
		m->verbose = true;
		return true;
	default:
		return false;
	}
}

static int take_options(struct measure *m, int argc, char **argv)
{
	static const struct option options[] = {
		KEYS_OPTIONS,
		{ "rounds", required_argument, NULL, 'n' },
		{ "rows", required_argument, NULL, 'r' },
		{ "warmup", required_argument, NULL, 'w' },
		{ "timeout", required_argument, NULL, 't' },
		{ "fail-if", required_argument, NULL, 'f' },
		{ "output", required_argument, NULL, 'o' },
		{ "show", no_argument, NULL, 's' },
		{ "no-record", no_argument, NULL, 'R' },
		{ "json", no_argument, NULL, 'j' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c, rc;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:n:o:qvh", options, NULL)) !=
	       -1) {
		if (c == 'h')
			return print_help(), CLI_OK;
		if (c == '?' || c == ':')
			return usage_option(argv, c);
		if (take_flag(m, c))
			continue;
		rc = take_value(m, c, optarg);
		if (rc)
			return rc;
	}
	return -1;
}

/* All that needs more than one option.  Returns 0 or CLI_USAGE. */
static int check_options(struct measure *m)
{
	const char *why;
	unsigned int i;
	int rc;

	if (m->json && !RESULT_AVAILABLE)
		return usage_error(
			"measure: JSON needs jansson, and this quire was built without it");
	rc = rows_ask(&m->rows, m->row_list);
	if (rc)
		return rc;
	for (i = 0; i < m->nr_failifs; i++) {
		if (failif_parse(&m->rows, m->failif_text[i], &m->failif[i],
				 &why))
			return usage_error("measure: --fail-if '%s': %s",
					   m->failif_text[i], why);
		if (!m->rows.asked[m->failif[i].row])
			return usage_error(
				"measure: --fail-if '%s': its row is not in --rows",
				m->failif_text[i]);
	}
	if (m->nr_failifs && m->rounds.nr < STATISTICS_LEAST)
		return usage_error(
			"measure: --fail-if needs -n %d or more to tell anything from noise",
			STATISTICS_LEAST);
	return 0;
}

/* Returns 0 or the exit code. */
static int prepare(struct measure *m)
{
	struct rounds *r = &m->rounds;
	int rc;

	r->scratch = scratch_open();
	if (!r->scratch)
		return CLI_OWN;
	rc = rows_open(&m->rows, r->nr);
	if (rc)
		return rc;
	child_signals(CHILD_STOP);
	machine_look(&m->machine);
	r->fd_null = open("/dev/null", O_RDWR | O_CLOEXEC);
	r->command = &m->command;
	r->machine = &m->machine;
	r->rows = &m->rows;
	r->keys = keys_text(&m->keys);
	r->stdout_taken = m->json;
	r->progress = !m->quiet && isatty(STDERR_FILENO);
	rc = spool_open(&r->spool, r->scratch);
	if (rc)
		return rc;
	if (!m->no_record)
		m->fault = machine_fault_cost();
	return child_stopped() ? CLI_SIGNAL + child_stopped() : 0;
}

static void announce(struct measure *m)
{
	unsigned int runs = rounds_planned(&m->rounds, !m->no_record);
	char *cmd = command_text(&m->command);

	if (!m->quiet)
		say("'%s' will run up to %u times: %u rounds of every row after %u warm-up%s each%s",
		    cmd, runs, m->rounds.nr, m->rounds.warm_ups,
		    m->rounds.warm_ups == 1 ? "" : "s",
		    m->no_record ? "" : ", and once under the recorder");
	if (!m->quiet && program_refused(&m->command.program))
		say("quire cannot serve it: %s",
		    program_reason(&m->command.program));
	free(cmd);
}

/* Returns 0 or the exit code. */
static int record(struct measure *m)
{
	const struct program *program = &m->command.program;
	char *dir = NULL;
	int rc;

	if (m->no_record || program_refused(program))
		return 0;
	rc = rounds_record(&m->rounds, &dir);
	if (!rc)
		recording_read(&m->recording, dir);
	free(dir);
	return rc;
}

/* Exit codes that are not what one expects. */
static void remark(const struct measure *m)
{
	const struct row *as_is = &m->rows.row[ROW_AS_IS];
	int i;

	if (as_is->exit_code)
		say("the command ends with %d as it is", as_is->exit_code);
	for (i = 0; i < NR_ROWS; i++) {
		const struct row *row = &m->rows.row[i];

		if (!row->ran)
			continue;
		if (row->exit_code != as_is->exit_code)
			say("%s: the command ends with %d, as-is with %d%s",
			    row->name, row->exit_code, as_is->exit_code,
			    row->idle ? "" : ": its times are not comparable");
		if (row->nr_strange)
			say("%s: %u of %zu runs ended otherwise than its first",
			    row->name, row->nr_strange, row->nr);
		if (row->nr_timed_out)
			say("%s: %u runs were ended after %u s", row->name,
			    row->nr_timed_out, m->rounds.timeout_s);
	}
}

static int write_results(struct measure *m, const struct prescription *p,
			 const struct prescribe_view *view)
{
	struct result *r = measure_result(&m->rounds, p, view);
	int rc = 0;

	errno = 0;
	if (m->json)
		rc = result_write(r, stdout);
	if (m->out && !rc)
		rc = result_write(r, m->out);
	if (m->out && fclose(m->out) && !rc)
		rc = -errno;
	m->out = NULL;
	result_free(r);
	if (rc)
		say("cannot write the result: %s", strerror(-rc));
	return rc ? CLI_OWN : 0;
}

/* Returns CLI_OK or CLI_FAIL_IF. */
static int judge(const struct measure *m)
{
	enum failif_answer answer;
	unsigned int i;
	int rc = CLI_OK;

	for (i = 0; i < m->nr_failifs; i++) {
		answer = failif_judge(&m->failif[i], &m->rows);
		if (answer == FAILIF_UNKNOWN)
			say("--fail-if '%s' cannot be judged: the value is not known",
			    m->failif[i].text);
		if (answer != FAILIF_YES && answer != FAILIF_BROKEN)
			continue;
		say("--fail-if '%s' holds%s", m->failif[i].text,
		    answer == FAILIF_YES
			    ? ""
			    : ": the command ends otherwise than as it is");
		rc = CLI_FAIL_IF;
	}
	return rc;
}

static int report(struct measure *m)
{
	struct prescribe_view view = { .rows = &m->rows,
				       .recording = &m->recording,
				       .command = &m->command,
				       .fault = m->fault };
	struct prescription p;
	int rc = 0;

	rows_compare(&m->rows);
	prescribe(&m->rows, &m->recording, &m->fault, &p);
	remark(m);
	if (!m->json) {
		table_print(&m->rows, stdout);
		if (m->verbose)
			table_print_details(&m->rows, stdout);
		prescribe_print(&p, &view, stdout);
		fflush(stdout);
	}
	if (RESULT_AVAILABLE && (m->json || m->out))
		rc = write_results(m, &p, &view);
	return rc ? rc : judge(m);
}

static void drop(struct measure *m)
{
	spool_close(&m->rounds.spool);
	rows_close(&m->rows);
	command_free(&m->command);
	keys_free(&m->keys);
	free(m->rounds.keys);
}

/* All that follows the options; returns the exit code. */
static int measure(struct measure *m, char **command)
{
	int rc = check_options(m);

	if (!rc)
		rc = command_find(&m->command, command, "measure");
	if (!rc)
		rc = prepare(m);
	if (!rc)
		announce(m);
	if (!rc)
		rc = rounds_run(&m->rounds, !m->no_record);
	if (!rc)
		rc = record(m);
	return rc ? rc : report(m);
}

int cmd_measure(int argc, char **argv)
{
	struct measure m = { .rounds = { .nr = DEFAULT_ROUNDS,
					 .warm_ups = 1,
					 .spool = { .fd = -1 } } };
	int rc;

	rc = take_options(&m, argc, argv);
	if (rc < 0)
		rc = measure(&m, argv + optind);
	drop(&m);
	return rc;
}
