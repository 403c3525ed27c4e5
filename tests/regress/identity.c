/* SPDX-License-Identifier: MIT */
/*
 * identity REPEAT [WHAT]: calls that want a process of one thread, or that
 * reach all threads, with much memory kept (so that a helper thread may run).
 * Prints the result of the call, which must be the same with and without the
 * preload library, and then "after good" when blocks still come and go.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define M ((size_t)1 << 20)

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* 80 MiB alive at once, then free */
static void keep_much(void)
{
	char *block[20];

	for (int i = 0; i < 20; i++)
		memset(block[i] = malloc(4 * M), i, 4 * M);
	for (int i = 0; i < 20; i++)
		free(block[i]);
}

static void tell(const char *what, int result)
{
	printf("%s: %d %s\n", what, result, result ? strerror(errno) : "");
}

/*
 * In a child, because it cannot be undone.  AT_ONCE: before any memory is
 * kept; EARLY: at once afterwards; SETTLED: when a thread would have started.
 */
enum when {
	AT_ONCE,
	EARLY,
	SETTLED,
};

static void in_child(const char *what, int (*call)(void), enum when when)
{
	int settle = when == SETTLED;

	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		if (when != AT_ONCE)
			keep_much();
		if (settle)
			sleep_ms(50);
		tell(what, call());
		keep_much();
		sleep_ms(settle ? 150 : 0);
		keep_much();
		printf("after good\n");
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("%s: child %d\n", what, status);
}

static int do_unshare_user(void)
{
	return unshare(CLONE_NEWUSER);
}
static int do_unshare_user_call(void)
{
	return (int)syscall(SYS_unshare, CLONE_NEWUSER);
}
static int do_unshare_all(void)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID |
		       CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}
static int do_unshare_vm(void)
{
	return unshare(CLONE_VM | CLONE_SIGHAND | CLONE_THREAD);
}
static int do_unshare_bad(void)
{
	return unshare(0x1);
}
static int do_setns(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY);
	int result = setns(fd, CLONE_NEWNET);

	close(fd);
	return result;
}
static int do_setns_mnt(void)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY);
	int result = setns(fd, 0);

	close(fd);
	return result;
}
static int do_setns_call(void)
{
	int fd = open("/proc/self/ns/mnt", O_RDONLY);
	int result = (int)syscall(SYS_setns, fd, CLONE_NEWNS);

	close(fd);
	return result;
}
static int do_setns_user(void) /* EINVAL: one cannot re-enter it */
{
	int fd = open("/proc/self/ns/user", O_RDONLY);
	int result = setns(fd, CLONE_NEWUSER);

	close(fd);
	return result;
}
static int do_setuid(void)
{
	int result = setgroups(0, NULL) | setgid(65534) | setuid(65534);

	return result || getuid() != 65534 || geteuid() != 65534 ||
	       setuid(0) == 0;
}
static int do_seteuid(void)
{
	int result = 0;

	for (int i = 0; i < 200; i++)
		result |= seteuid(65534) | seteuid(0);
	return result;
}
static int do_chdir_etc(void)
{
	return unshare(CLONE_FS | CLONE_FILES | CLONE_SYSVSEM) || chdir("/");
}

/* The lowest number is the next, whatever helper threads may open. */
static int do_lowest_fd(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		int fd = open("/dev/null", O_RDONLY), again;

		close(fd);
		again = open("/dev/null", O_RDONLY);
		close(again);
		if (again != fd)
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - from.tv_sec < 1);
	return 0;
}

/*
 * A filter under which the program may do what malloc of the C library does,
 * and nothing else: opening files or making threads kills.
 */
static int filter(int by_number)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
#define DENY(name)                                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                 \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
		DENY(openat),
		DENY(clone),
#ifdef SYS_clone3
		DENY(clone3),
#endif
		DENY(socket),
		DENY(prctl),
		DENY(getdents64),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	if (by_number)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0,
				    &program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static int do_filter(void)
{
	return filter(0);
}
static int do_filter_call(void)
{
	return filter(1);
}

/* All signals reach the program's own threads only. */
static volatile sig_atomic_t wrong_thread, signals;
static pthread_t main_thread;

static void on_signal(int number)
{
	(void)number;
	signals++;
	if (!pthread_equal(pthread_self(), main_thread))
		wrong_thread = 1;
}

static int do_signals(void)
{
	main_thread = pthread_self();
	for (int number = 1; number <= SIGRTMAX; number++)
		if (number != SIGALRM && number != SIGCHLD)
			signal(number, on_signal);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (number != SIGKILL && number != SIGSTOP &&
		    (number < 32 || number >= SIGRTMIN) && number != SIGALRM &&
		    number != SIGCHLD)
			kill(getpid(), number);
	sleep_ms(30);
	return wrong_thread || signals < 50;
}

static int do_sigwait(void)
{
	struct timespec time = { 2, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGUSR1);
	return sigtimedwait(&set, NULL, &time) != SIGUSR1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*call)(void);
	} all[] = {
		{ "unshare user", do_unshare_user },
		{ "unshare user by number", do_unshare_user_call },
		{ "unshare everything", do_unshare_all },
		{ "unshare vm", do_unshare_vm },
		{ "unshare nonsense", do_unshare_bad },
		{ "unshare fs and files", do_chdir_etc },
		{ "setns net", do_setns },
		{ "setns mnt", do_setns_mnt },
		{ "setns mnt by number", do_setns_call },
		{ "setns user", do_setns_user },
		{ "setuid", do_setuid },
		{ "seteuid", do_seteuid },
		{ "lowest descriptor", do_lowest_fd },
		{ "seccomp", do_filter },
		{ "seccomp by number", do_filter_call },
		{ "signals", do_signals },
		{ "sigwait", do_sigwait },
	};
	int repeat = argc > 1 ? atoi(argv[1]) : 1;
	const char *only = argc > 2 ? argv[2] : NULL;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int k = 0; k < repeat; k++) {
			if (only && strcmp(only, all[i].name))
				continue;
			in_child(all[i].name, all[i].call, AT_ONCE);
			in_child(all[i].name, all[i].call, EARLY);
			in_child(all[i].name, all[i].call, SETTLED);
		}
	return 0;
}
