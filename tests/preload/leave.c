/* SPDX-License-Identifier: MIT */
/* leave HOW: one way of ending a process, or of having children. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void *exit_here(void *arg)
{
	(void)arg;
	_exit(7);
}

static int from_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, exit_here, NULL))
		return 99;
	for (;;)
		pause();
}

static int with_all_closed(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	close(0);
	return 7;
}

static int after_chroot(void)
{
	if (geteuid())
		return 77;
	if (chroot("/proc/self/fdinfo") && chroot("/sys"))
		return 77;
	return 7;
}

/* The child of vfork must not end its parent's record. */
static int with_vfork(void)
{
	pid_t child = vfork();

	if (!child)
		_exit(3);
	if (wait_for(child) != 3)
		return 99;
	raise(SIGKILL);
	return 99;
}

/* A child made behind the C library's back. */
static int with_bare_fork(void)
{
	pid_t child = _Fork();

	if (!child)
		_exit(3);
	printf("%d\n", (int)child);
	return wait_for(child) == 3 ? 7 : 99;
}

static int with_fork(void)
{
	pid_t child = fork();

	if (!child)
		exit(3);
	printf("%d\n", (int)child);
	return wait_for(child) == 3 ? 7 : 99;
}

static void at_end(void)
{
	(void)!write(1, "handler\n", 8);
}

static int quickly(void)
{
	at_quick_exit(at_end);
	quick_exit(7);
}

static void on_signal(int sig)
{
	(void)sig;
	_exit(7);
}

static int from_handler(void)
{
	signal(SIGALRM, on_signal);
	raise(SIGALRM);
	return 99;
}

static int with_file_limit(void)
{
	struct rlimit none = { 0, 0 };
	pid_t child;

	setrlimit(RLIMIT_FSIZE, &none);
	child = fork();
	if (!child)
		exit(3);
	return wait_for(child) == 3 ? 7 : 99;
}

static int by_exit_c99(void)
{
	_Exit(7);
}

static int by_return(void)
{
	return 7;
}

static int by_kill(void)
{
	raise(SIGKILL);
	return 99;
}

static const struct {
	const char *name;
	int (*leave)(void);
} ways[] = {
	{ "return", by_return },      { "_Exit", by_exit_c99 },
	{ "thread", from_thread },    { "closed", with_all_closed },
	{ "chroot", after_chroot },   { "vfork", with_vfork },
	{ "_Fork", with_bare_fork },  { "fork", with_fork },
	{ "quick", quickly },	      { "handler", from_handler },
	{ "fsize", with_file_limit }, { "kill", by_kill },
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].leave();
	return 2;
}
