/* SPDX-License-Identifier: MIT */
/*
 * Start a command, wait for it, and tell what it took.
 */
#ifndef QUIRE_CLI_CHILD_H
#define QUIRE_CLI_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child_spec {
	const char *path; /* the file to execute */
	char **argv;
	char **envp;
	int fd[3]; /* what becomes stdin, stdout, stderr; -1: as is */
	unsigned int timeout_s; /* 0: none */
};

struct child_result {
	pid_t pid;
	int status; /* as wait4() tells */
	bool timed_out;
	uint64_t start_ns;   /* CLOCK_MONOTONIC, before it was started */
	uint64_t end_ns;     /* after it was reaped */
	struct rusage usage; /* it and the children that it waited for */
};

/* What a signal from the terminal (INT, QUIT) does to us. */
enum child_terminal_signals {
	CHILD_IGNORE, /* as time(1): the command decides */
	CHILD_STOP,   /* end after this run: see child_stopped() */
};

/*
 * child_signals - set up signals, once, before the first child_run()
 * TERM, HUP, USR1 and USR2 are passed on to the command.  SIGPIPE is ignored
 * by us and restored for it, like all others.
 */
void child_signals(enum child_terminal_signals mode);

/*
 * child_run - run it to its end
 * Returns 0, or the negative errno of starting it: -ENOENT, -EACCES, ….
 */
int child_run(const struct child_spec *spec, struct child_result *out);

/* child_stopped - number of the signal that asked us to end, or 0 */
int child_stopped(void);

/* child_exit_code - the shell's spelling of a wait status: code or 128+signal
 */
int child_exit_code(int status);

#endif /* QUIRE_CLI_CHILD_H */
