/* SPDX-License-Identifier: MIT */
/*
 * forks WAY COUNT THREADS: children made in all ways while threads allocate.
 * Each child reads a block of its parent, allocates and frees big blocks, and
 * must end by itself; a child that does not within the time limit is killed
 * and counted.  Exits with 1 if one hung or failed.
 *
 *	fork vfork spawn _Fork clone raw nested threads exec signals cancel exit
 *	handler (fork within a signal handler)
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define K ((size_t)1 << 10)
#define M ((size_t)1 << 20)

extern char **environ;
pid_t _Fork(void);

static int stop; /* atomic */
static char *shared;
static int wrong; /* atomic */

static void fail(const char *what)
{
	printf("wrong: %s\n", what);
	__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void use_block(size_t size, unsigned int seed)
{
	unsigned char c = (unsigned char)(seed | 1);
	unsigned char *p = malloc(size);

	if (!p) {
		fail("no memory");
		return;
	}
	memset(p, c, size);
	p = realloc(p, size + size / 3);
	for (size_t i = 0; i < size; i += 4096)
		if (p[i] != c) {
			fail("content of a block changed");
			break;
		}
	free(p);
}

static void use_some(unsigned int seed, int n)
{
	for (int i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		use_block(60 * K + (seed >> 8) % (1 * M), seed >> 24);
	}
	unsigned char *zero = calloc(1, 300 * K);

	for (size_t i = 0; zero && i < 300 * K; i += 512)
		if (zero[i])
			fail("calloc not zero");
	free(zero);
}

static void *load(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg * 7919;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		pthread_testcancel();
		use_some(seed++, 3);
	}
	return NULL;
}

static int child_work(int i)
{
	if (shared[1 * M] != 'p')
		return 9;
	use_some((unsigned int)i, 4);
	free(shared);
	return wrong;
}

static int clone_body(void *arg)
{
	_exit(child_work((int)(intptr_t)arg));
}

static void *child_thread(void *arg)
{
	use_some((unsigned int)(uintptr_t)arg, 20);
	return NULL;
}

static pid_t start_raw(int i)
{
	long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(child_work(i));
	return (pid_t)pid;
}

static pid_t start_clone(int i)
{
	static char stack[256 << 10] __attribute__((aligned(16)));

	return clone(clone_body, stack + sizeof(stack), SIGCHLD,
		     (void *)(intptr_t)i);
}

static pid_t start_plain(int i)
{
	pid_t pid = fork();

	if (pid == 0) {
		int result = child_work(i);

		if (i % 2)
			exit(result);
		_exit(result);
	}
	return pid;
}

static pid_t start__fork(int i)
{
	pid_t pid = _Fork();

	if (pid == 0)
		_exit(child_work(i));
	return pid;
}

static pid_t start_vfork(int i)
{
	static char *const args[] = { "true", NULL };
	pid_t pid = vfork();

	(void)i;
	if (pid == 0) {
		execvp("true", args);
		_exit(127);
	}
	return pid;
}

static pid_t start_spawn(int i)
{
	static char *const args[] = { "true", NULL };
	pid_t pid;

	(void)i;
	errno = posix_spawnp(&pid, "true", NULL, NULL, args, environ);
	return errno ? -1 : pid;
}

/* A child that forks and makes threads itself. */
static pid_t start_nested(int i)
{
	pthread_t thread[3];
	pid_t pid = fork(), inner;
	int status = 0;

	if (pid)
		return pid;
	use_some((unsigned int)i, 2);
	inner = fork();
	if (inner == 0)
		_exit(child_work(i));
	for (int k = 0; k < 3; k++)
		pthread_create(&thread[k], NULL, child_thread,
			       (void *)(intptr_t)(i + k));
	for (int k = 0; k < 3; k++)
		pthread_join(thread[k], NULL);
	waitpid(inner, &status, 0);
	_exit(status ? 8 : child_work(i));
}

static void *exec_body(void *arg)
{
	static char *const args[] = { "true", NULL };

	use_some(5, 2);
	execvp("true", args);
	return arg;
}

/* exec from a thread that is not the first, others allocating */
static pid_t start_exec(int i)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid)
		return pid;
	for (int k = 0; k < 3; k++)
		pthread_create(&thread, NULL, load, (void *)(intptr_t)(i + k));
	pthread_create(&thread, NULL, exec_body, NULL);
	pthread_join(thread, NULL);
	_exit(7);
}

/* exit while threads allocate */
static pid_t start_exit(int i)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid)
		return pid;
	for (int k = 0; k < 3; k++)
		pthread_create(&thread, NULL, load, (void *)(intptr_t)(i + k));
	use_some((unsigned int)i, 3);
	if (i % 3 == 0)
		quick_exit(0);
	if (i % 3 == 1)
		pthread_exit(
			(__atomic_store_n(&stop, 1, __ATOMIC_RELAXED), NULL));
	exit(0);
}

static int wait_for(pid_t pid)
{
	struct timespec step = { 0, 1000000 };
	int status;

	for (int i = 0; i < 8000; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return status;
		if (got < 0 && errno != EINTR)
			return -1;
		nanosleep(&step, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -2;
}

static int wait_fast(pid_t pid)
{
	int status;

	for (int i = 0; i < 300; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		sched_yield();
	}
	return wait_for(pid);
}

static void start_loads(pthread_t *thread, int nr)
{
	for (int i = 0; i < nr; i++)
		pthread_create(&thread[i], NULL, load, (void *)(intptr_t)i);
}

static int do_forks(pid_t (*start)(int), int count, int nr_threads)
{
	pthread_t thread[64];
	int hung = 0, failed = 0;

	start_loads(thread, nr_threads);
	for (int i = 0; i < count; i++) {
		pid_t pid = start(i);
		int status;

		if (pid < 0) {
			perror("start");
			return 1;
		}
		status = wait_fast(pid);
		hung += status == -2;
		failed += status != 0 && status != -2;
		if (hung > 2 || failed > 20)
			break;
		if (i % 4 == 0)
			use_some((unsigned int)i, 1);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	printf("%d children: %d hung, %d failed\n", count, hung, failed);
	return hung || failed || wrong;
}

/* Threads that end at once, after a few blocks. */
static int do_threads(int count, int nr)
{
	for (int i = 0; i < count; i++) {
		pthread_t thread[64];

		for (int k = 0; k < nr; k++)
			pthread_create(&thread[k], NULL, child_thread,
				       (void *)(intptr_t)(i * nr + k));
		for (int k = 0; k < nr; k++)
			pthread_join(thread[k], NULL);
	}
	printf("%d threads ended\n", count * nr);
	return wrong;
}

/* Threads that are cancelled wherever cancellation is let in. */
static int do_cancel(int count, int nr)
{
	int cancelled = 0;

	for (int i = 0; i < count; i++) {
		pthread_t thread[64];
		void *end;

		for (int k = 0; k < nr; k++)
			pthread_create(&thread[k], NULL, load,
				       (void *)(intptr_t)k);
		for (int k = 0; k < nr; k++)
			pthread_cancel(thread[k]);
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
		/* those that met no cancellation point end by themselves */
		__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		for (int k = 0; k < nr; k++) {
			pthread_join(thread[k], &end);
			cancelled += end == PTHREAD_CANCELED;
		}
		__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	}
	printf("%d of %d threads were cancelled\n", cancelled, count * nr);
	return wrong;
}

static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
	(void)signal;
	ticks++;
}

/* Signals without SA_RESTART all the time, also while threads sleep. */
static int do_signals(int count, int nr)
{
	struct sigaction action = { .sa_handler = on_tick };
	struct itimerval every = { { 0, 100 }, { 0, 100 } };
	pthread_t thread[64];

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	start_loads(thread, nr);
	for (int i = 0; i < count; i++)
		use_some((unsigned int)i, 3);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	every.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	printf("signals came: %d\n", ticks > 10);
	return wrong;
}

/* fork is async-signal-safe; the interrupted code goes on in the child too. */
static int forked; /* of the handler's own thread */
static bool child_goes_on;

static void on_tick_fork(int signal_nr)
{
	int saved = errno, status;
	pid_t child = fork();

	(void)signal_nr;
	forked++;
	if (!child) {
		struct itimerval never = { { 0, 0 }, { 0, 0 } };

		setitimer(ITIMER_REAL, &never, NULL);
		if (forked % 2)
			_exit(0);
		alarm(10); /* its default action: on_tick_fork is taken off */
		signal(SIGALRM, SIG_DFL);
		child_goes_on = true;
	} else if (child > 0) {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (status)
			__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
	}
	errno = saved;
}

static int do_handler(int count)
{
	struct sigaction action = { .sa_handler = on_tick_fork };
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (forked < count && !child_goes_on) {
		void *p = malloc(200 * K), *q = malloc(300 * K);

		free(p);
		free(q);
	}
	if (child_goes_on) {
		for (int i = 0; i < 5; i++)
			use_block(250 * K, (unsigned int)i);
		_exit(wrong);
	}
	every.it_value.tv_usec = every.it_interval.tv_usec = 0;
	setitimer(ITIMER_REAL, &every, NULL);
	return wrong;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		pid_t (*start)(int);
	} ways[] = {
		{ "fork", start_plain },    { "vfork", start_vfork },
		{ "spawn", start_spawn },   { "_Fork", start__fork },
		{ "clone", start_clone },   { "raw", start_raw },
		{ "nested", start_nested }, { "exec", start_exec },
		{ "exit", start_exit },
	};
	int count = argc > 2 ? atoi(argv[2]) : 100;
	int nr = argc > 3 ? atoi(argv[3]) : 0;

	if (argc < 2 || nr > 64)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	shared = malloc(3 * M);
	memset(shared, 'p', 3 * M);
	for (int i = 0; i < 40; i++) /* enough for a helper thread */
		use_block(4 * M, (unsigned int)i);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return do_forks(ways[i].start, count, nr);
	if (!strcmp(argv[1], "threads"))
		return do_threads(count, nr);
	if (!strcmp(argv[1], "cancel"))
		return do_cancel(count, nr);
	if (!strcmp(argv[1], "handler"))
		return do_handler(count);
	if (!strcmp(argv[1], "signals"))
		return do_signals(count, nr);
	return 2;
}
