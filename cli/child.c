/* SPDX-License-Identifier: MIT */
/*
 * Start a command, wait for it, and tell what it took.
 *
 * vfork() rather than fork(): the start costs the same however large we are,
 * and posix_spawn() cannot give back a signal that our caller had ignored.
 * The child shares our memory until it executes, so between vfork() and
 * execve() it makes system calls only and touches nothing but `struct start`.
 *
 * Linux starts ru_maxrss of a child at what its parent had (the old address
 * space counts at execve); callers must not believe a value at or below our
 * own peak.
 *
 * Signals: all that we pass on are blocked from before the start until
 * child_pid is set, and again while the child is reaped, so the handler never
 * sends to a process id that is not ours any more.
 */
#include "child.h"
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals that we change, and what they were: restored in the child. */
static const int changed[] = { SIGTERM, SIGHUP,	 SIGUSR1, SIGUSR2, SIGINT,
			       SIGQUIT, SIGALRM, SIGPIPE, SIGCHLD };
enum { NR_CHANGED = sizeof(changed) / sizeof(*changed) };
static struct sigaction before[NR_CHANGED]; /* const after child_signals() */

static volatile sig_atomic_t child_pid; /* 0: none runs */
static volatile sig_atomic_t stopped_by;
static volatile sig_atomic_t alarms;

static void pass_on(int sig)
{
	if (sig == SIGTERM || sig == SIGHUP)
		stopped_by = sig;
	if (child_pid)
		kill((pid_t)child_pid, sig);
}

/* The terminal has sent it to the command too. */
static void note_stop(int sig)
{
	stopped_by = sig;
}

static void note_alarm(int sig)
{
	(void)sig;
	alarms++;
}

static void take(int sig, void (*handler)(int))
{
	struct sigaction old, sa = { .sa_handler = handler };

	sigemptyset(&sa.sa_mask);
	sigaction(sig, NULL, &old);
	/* What our caller ignores (nohup) stays ignored, CHLD and ALRM apart */
	if (old.sa_handler == SIG_IGN && sig != SIGCHLD && sig != SIGALRM)
		return;
	sigaction(sig, &sa, NULL);
}

void child_signals(enum child_terminal_signals mode)
{
	void (*terminal)(int) = mode == CHILD_STOP ? note_stop : SIG_IGN;
	int i;

	for (i = 0; i < NR_CHANGED; i++)
		sigaction(changed[i], NULL, &before[i]);
	take(SIGTERM, pass_on);
	take(SIGHUP, pass_on);
	take(SIGUSR1, pass_on);
	take(SIGUSR2, pass_on);
	take(SIGINT, terminal);
	take(SIGQUIT, terminal);
	take(SIGALRM, note_alarm);
	take(SIGPIPE, SIG_IGN);
	take(SIGCHLD, SIG_DFL);
}

int child_stopped(void)
{
	return stopped_by;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What parent and child share over vfork(). */
struct start {
	const struct child_spec *spec;
	char **shell_argv; /* "sh", path, arguments: for a file without #! */
	const sigset_t *mask;
	volatile int error;
};

static void __attribute__((noreturn)) in_child(struct start *start)
{
	const struct child_spec *spec = start->spec;
	int i;

	for (i = 0; i < NR_CHANGED; i++)
		sigaction(changed[i], &before[i], NULL);
	for (i = 0; i < 3; i++)
		if (spec->fd[i] >= 0 && dup2(spec->fd[i], i) < 0)
			goto failed;
	sigprocmask(SIG_SETMASK, start->mask, NULL);
	execve(spec->path, spec->argv, spec->envp);
	if (errno == ENOEXEC)
		execve("/bin/sh", start->shell_argv, spec->envp);
failed:
	start->error = errno;
	_exit(CLI_NOT_FOUND);
}

/* Apart from its caller, so that no variable of ours lives across vfork(). */
static pid_t __attribute__((noinline)) start_child(struct start *start)
{
	pid_t pid = vfork();

	if (pid == 0)
		in_child(start);
	return pid;
}

static char **shell_arguments(const struct child_spec *spec)
{
	static char sh[] = "sh";
	char **argv;
	size_t n, i;

	for (n = 0; spec->argv[n]; n++)
		;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[0] = sh;
	argv[1] = (char *)(uintptr_t)spec->path;
	for (i = 1; i < n; i++)
		argv[i + 1] = spec->argv[i];
	return argv;
}

static void set_alarm(unsigned int seconds)
{
	struct itimerval t = { .it_value.tv_sec = seconds };

	/* again each second: one that comes before waitid() is not lost */
	t.it_interval.tv_sec = seconds ? 1 : 0;
	setitimer(ITIMER_REAL, &t, NULL);
}

/*
 * End @pid and what it has started: a shell that is killed would leave its
 * command behind.
 */
static void kill_tree(pid_t pid, int sig, int depth)
{
	char path[64];
	FILE *f;
	int kid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = depth < 16 ? fopen(path, "re") : NULL;
	if (f) {
		while (fscanf(f, "%d", &kid) == 1)
			kill_tree(kid, sig, depth + 1);
		fclose(f);
	}
	kill(pid, sig);
}

/* Wait until @pid has ended, without reaping it. */
static void wait_end(pid_t pid, bool *timed_out)
{
	siginfo_t si;

	while (waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT) &&
	       errno == EINTR) {
		if (!alarms)
			continue;
		*timed_out = true;
		kill_tree(pid, alarms > 2 ? SIGKILL : SIGTERM, 0);
	}
}

static void reap(struct child_result *out, const struct child_spec *spec,
		 const sigset_t *passed)
{
	alarms = 0;
	out->timed_out = false;
	if (spec->timeout_s)
		set_alarm(spec->timeout_s);
	wait_end(out->pid, &out->timed_out);
	sigprocmask(SIG_BLOCK, passed, NULL);
	wait4(out->pid, &out->status, 0, &out->usage);
	out->end_ns = now_ns();
	child_pid = 0;
	if (spec->timeout_s)
		set_alarm(0);
}

int child_run(const struct child_spec *spec, struct child_result *out)
{
	struct start start = { .spec = spec };
	sigset_t passed, mask;

	start.shell_argv = shell_arguments(spec);
	if (!start.shell_argv)
		return -ENOMEM;
	sigemptyset(&passed);
	sigaddset(&passed, SIGTERM);
	sigaddset(&passed, SIGHUP);
	sigaddset(&passed, SIGUSR1);
	sigaddset(&passed, SIGUSR2);
	sigprocmask(SIG_BLOCK, &passed, &mask);
	start.mask = &mask;
	out->start_ns = now_ns();
	out->pid = start_child(&start);
	if (out->pid < 0)
		start.error = errno;
	else if (start.error)
		waitpid(out->pid, NULL, 0);
	if (!start.error) {
		child_pid = out->pid;
		sigprocmask(SIG_SETMASK, &mask, NULL);
		reap(out, spec, &passed);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	free(start.shell_argv);
	return -start.error;
}

int child_exit_code(int status)
{
	if (WIFSIGNALED(status))
		return CLI_SIGNAL + WTERMSIG(status);
	return WEXITSTATUS(status);
}
