/* SPDX-License-Identifier: MIT */
/*
 * The verbs of the command `quire`, its exit codes, and the one way it talks
 * to the user on stderr.
 *
 * Nothing below cli/ reaches into the library: only <quire/...> is included.
 */
#ifndef QUIRE_CLI_H
#define QUIRE_CLI_H

/*
 * What `quire` itself exits with.  `run` passes the code of the command on and
 * uses the three highest for its own failures, as env(1) does.
 */
enum cli_exit {
	CLI_OK = 0,
	CLI_USAGE = 2,	 /* bad input, for every verb */
	CLI_FAIL_IF = 3, /* measure: a --fail-if condition holds */
	CLI_OWN = 125,	 /* quire itself failed */
	CLI_NOT_EXECUTABLE = 126,
	CLI_NOT_FOUND = 127,
	CLI_SIGNAL = 128, /* + number of the signal */
};

/*
 * Each verb gets its own argument vector: argv[0] is the verb.  The return
 * value is the exit code.
 */
int cmd_run(int argc, char **argv);
int cmd_measure(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_bench(int argc, char **argv);

/* say - one line on stderr, with `quire: ` in front */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* usage_error - say it and return CLI_USAGE */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * usage_option - the message for what getopt_long() refused
 * @argv, @c: its vector and its answer, '?' or ':'; call it at once, it reads
 * optopt and optind.
 */
int usage_option(char **argv, int c);

#endif /* QUIRE_CLI_H */
